//! The stages of a mission (seed 002), as tools: every action is a tool call, so that the gate, policies, rate limits
//! and the journal treat a model call like any other effect.

use super::vocabulary::ToolClass;
use crate::ids::ToolId;

string_enum! {
    /// Stage of a mission, executed by one of its steps (this project).
    pub enum Stage {
        /// The planner makes the task graph, and policy decides on the tools that it requests.
        Plan = "plan",
        /// The prompt master makes the prompt package of one task.
        Prompt = "prompt",
        /// The librarian makes the pass of one task.
        Pass = "pass",
        /// The researcher of one task searches external sources.
        Research = "research",
        /// The worker of one task takes one turn.
        Work = "work",
        /// The aggregator combines results.
        Aggregate = "aggregate",
        /// The reviewer reviews once and proposes write-backs.
        Review = "review",
        /// A playbook executes a proposal.
        Playbook = "playbook",
        /// A request to the system of record executes a proposal.
        Webhook = "webhook",
    }
}

/// Prefix of the ids of the stage tools.
const PREFIX: &str = "charter.mission.";

impl Stage {
    /// Returns the id of the stage's tool: `charter.mission.plan`.
    #[must_use]
    pub fn tool_id(self) -> ToolId {
        ToolId::from_checked(format!("{PREFIX}{self}"))
    }

    /// Returns the stage whose tool has this id.
    #[must_use]
    pub fn from_tool_id(tool: &ToolId) -> Option<Self> {
        tool.as_str().strip_prefix(PREFIX)?.parse().ok()
    }

    /// Returns the class of the stage's tool. Stages that change nothing outside are internal to the mission.
    #[must_use]
    pub const fn tool_class(self) -> ToolClass {
        match self {
            Self::Playbook | Self::Webhook => ToolClass::Write,
            Self::Plan
            | Self::Prompt
            | Self::Pass
            | Self::Research
            | Self::Work
            | Self::Aggregate
            | Self::Review => ToolClass::Internal,
        }
    }

    /// Whether the stage may call a model.
    #[must_use]
    pub const fn asks_models(self) -> bool {
        match self {
            Self::Plan | Self::Work | Self::Aggregate | Self::Review => true,
            Self::Prompt | Self::Pass | Self::Research | Self::Playbook | Self::Webhook => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_maps_to_its_tool_and_back() {
        for stage in Stage::ALL {
            assert_eq!(Stage::from_tool_id(&stage.tool_id()), Some(*stage));
        }
        let other = ToolId::parse("charter.fs.read").unwrap();
        assert_eq!(Stage::from_tool_id(&other), None);
    }
}
