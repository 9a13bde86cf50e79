//! The stages of a mission (seed 002), as tools: everything that acts is a call of a tool, so that the
//! gate, policies, rate limits and the journal treat a model call like any other effect.

use super::vocabulary::ToolClass;
use crate::ids::ToolId;

string_enum! {
    /// What a mission's step does itself (this project).
    pub enum Stage {
        /// The planner makes the task graph, and policy decides on the tools that it asks for.
        Plan = "plan",
        /// The prompt master makes the prompt package of one task.
        Prompt = "prompt",
        /// The librarian makes the pass of one task.
        Pass = "pass",
        /// The researcher of one task searches outside.
        Research = "research",
        /// The worker of one task takes one turn.
        Work = "work",
        /// The aggregator brings results together.
        Aggregate = "aggregate",
        /// The reviewer reviews, once, and proposes what is to be written back.
        Review = "review",
        /// A proposal is carried out by a playbook.
        Playbook = "playbook",
        /// A proposal is sent to the system of record.
        Webhook = "webhook",
    }
}

/// What the ids of their tools begin with.
const PREFIX: &str = "charter.mission.";

impl Stage {
    /// The id of its tool: `charter.mission.plan`.
    #[must_use]
    pub fn tool_id(self) -> ToolId {
        ToolId::from_checked(format!("{PREFIX}{self}"))
    }

    /// The one whose tool has this id.
    #[must_use]
    pub fn from_tool_id(tool: &ToolId) -> Option<Self> {
        tool.as_str().strip_prefix(PREFIX)?.parse().ok()
    }

    /// What its tool may do. Those that change nothing outside are for the mission's own use.
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

    /// Whether a model may be asked in it.
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
    fn every_stage_is_found_again_by_its_tool() {
        for stage in Stage::ALL {
            assert_eq!(Stage::from_tool_id(&stage.tool_id()), Some(*stage));
        }
        let other = ToolId::parse("charter.fs.read").unwrap();
        assert_eq!(Stage::from_tool_id(&other), None);
    }
}
