//! The status of a mission, as a part of the answers of tools.

use charter_contract::mission::{MissionState, MissionTaskState};
use charter_engine::{MissionTaskView, MissionView, ProposalView};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{MISSION, WorkReport, WorkSubject};

/// The status and the results of a mission.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(in crate::mcp) struct MissionWork {
    /// The state of the mission.
    state: MissionState,
    /// Its kind.
    mission_type: String,
    /// The reviewed output, once there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Map<String, Value>>,
    /// Its tasks.
    tasks: Vec<MissionTask>,
    /// Its proposed changes.
    proposals: Vec<MissionProposal>,
    /// Its results, as resources: the mission, and its artifacts by page.
    resources: Vec<String>,
}

/// A task of a mission.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct MissionTask {
    task_id: String,
    /// The mission role that executes it.
    role_type: String,
    /// The state of the task.
    state: MissionTaskState,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A proposal of a mission.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct MissionProposal {
    proposal_id: String,
    action_type: String,
    /// The changed entity: the type and the id of an entity.
    target: String,
    /// `proposed`, `approved`, `executed`, `execution_failed`, `rejected`, `expired` or `conflict`.
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl WorkReport {
    /// A mission, as its operator sees it.
    pub(in crate::mcp) fn of_mission(subject: &WorkSubject, mission: &MissionView) -> Self {
        let summary = mission.output.as_ref();
        let summary = summary.and_then(|output| output.get("summary")?.as_str());
        let state = mission.state.as_str().replace('_', " ");
        let content = match summary {
            Some(summary) => summary.to_owned(),
            None => format!("{}: {state}.", mission.goal),
        };
        let failure = match mission.state {
            MissionState::Rejected => Some("its review rejected its output".to_owned()),
            MissionState::Failed | MissionState::Cancelled | MissionState::BudgetExceeded => {
                Some(mission.reason.clone().unwrap_or(state))
            }
            MissionState::Created
            | MissionState::Planned
            | MissionState::Prompted
            | MissionState::Running
            | MissionState::Aggregating
            | MissionState::Reviewing
            | MissionState::AwaitingApproval
            | MissionState::Completed => None,
        };
        Self {
            run_ids: vec![mission.run_id.to_string()],
            content: Some(content),
            mission: Some(MissionWork::from_mission(mission)),
            failure,
            ..Self::new(mission.status, subject.id())
        }
    }
}

impl MissionWork {
    fn from_mission(mission: &MissionView) -> Self {
        let id = &mission.mission_id;
        Self {
            state: mission.state,
            mission_type: mission.mission_type.to_string(),
            output: mission.output.clone(),
            tasks: mission.tasks.iter().map(MissionTask::from_task).collect(),
            proposals: mission
                .proposals
                .iter()
                .map(MissionProposal::from_proposal)
                .collect(),
            resources: vec![format!("{MISSION}{id}"), format!("{MISSION}{id}/artifacts")],
        }
    }
}

impl MissionTask {
    fn from_task(task: &MissionTaskView) -> Self {
        Self {
            task_id: task.task_id.to_string(),
            role_type: task.role_type.as_str().to_owned(),
            state: task.state,
            reason: task.reason.clone(),
        }
    }
}

impl MissionProposal {
    fn from_proposal(shown: &ProposalView) -> Self {
        let proposal = &shown.proposal;
        let target = (&proposal.target_entity_type, &proposal.target_entity_id);
        Self {
            proposal_id: proposal.proposal_id.to_string(),
            action_type: proposal.action_type.to_string(),
            target: format!("{} {}", target.0, target.1),
            state: json!(shown.state).as_str().unwrap_or_default().to_owned(),
            reason: shown.reason.clone(),
        }
    }
}
