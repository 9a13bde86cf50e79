//! Missions as a client sees them: where one stands, in its task and in `status`, and what it produced, as
//! resources.

use charter_contract::ids::{MissionId, RunId};
use charter_contract::mission::{ArtifactKind, MissionState};
use charter_engine::{
    ArtifactFilter, EngineError, MissionTaskView, MissionView, ProposalView, apart,
};
use rmcp::model::ResourceTemplate;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::call::Call;
use super::question;
use super::work::{WorkReport, WorkSubject};

/// What the addresses of missions begin with.
pub(super) const MISSION: &str = "mission://";

/// The form of missions and artifacts.
const JSON: &str = "application/json";

/// Artifacts that a page names.
const PAGE: usize = 100;

/// Where a mission stands, and what it came to.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(super) struct MissionWork {
    /// `created`, `planned`, `prompted`, `running`, `aggregating`, `reviewing`, `awaiting_approval`,
    /// `completed`, `rejected`, `failed`, `cancelled` or `budget_exceeded`.
    state: String,
    /// Its kind.
    mission_type: String,
    /// The reviewed output, once there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Map<String, Value>>,
    /// Its tasks.
    tasks: Vec<MissionTask>,
    /// What it proposes to change.
    proposals: Vec<MissionProposal>,
    /// What it produced, as resources: the mission, and its artifacts by page.
    resources: Vec<String>,
}

/// A task of a mission.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct MissionTask {
    task_id: String,
    /// Who does it.
    role_type: String,
    /// `pending`, `running`, `succeeded`, `failed`, `blocked` or `cancelled`.
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A proposal of a mission.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct MissionProposal {
    proposal_id: String,
    action_type: String,
    /// What it changes: the type and the id of an entity.
    target: String,
    /// `proposed`, `approved`, `executed`, `execution_failed`, `rejected`, `expired` or `conflict`.
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl WorkReport {
    /// A mission, as somebody sees it who looks after it.
    pub(super) fn of_mission(subject: &WorkSubject, mission: &MissionView) -> Self {
        let summary = mission.output.as_ref();
        let summary = summary.and_then(|output| output.get("summary")?.as_str());
        let state = mission.state.as_str().replace('_', " ");
        let content = match summary {
            Some(summary) => summary.to_owned(),
            None => format!("{}: {state}.", mission.goal),
        };
        let failure = match mission.state {
            MissionState::Rejected => Some("its review rejected what it came to".to_owned()),
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
            status: mission.status.to_string(),
            id: subject.id().to_owned(),
            run_ids: vec![mission.run_id.to_string()],
            content: Some(content),
            mission: Some(MissionWork::from_mission(mission)),
            failure,
            ..Self::default()
        }
    }
}

impl MissionWork {
    fn from_mission(mission: &MissionView) -> Self {
        let id = &mission.mission_id;
        Self {
            state: mission.state.as_str().to_owned(),
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
            state: task.state.to_owned(),
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

/// What of missions may be read.
pub(super) fn templates() -> [ResourceTemplate; 3] {
    let template = |rest: &str, name: &str, title: &str, what: &str| {
        ResourceTemplate::new(format!("{MISSION}{{mission_id}}{rest}"), name)
            .with_title(title)
            .with_description(what)
            .with_mime_type(JSON)
    };
    [
        template(
            "",
            "mission",
            "Mission",
            "A mission: where it stands, its tasks, its reviewed output, its proposals.",
        ),
        template(
            "/artifacts{?after}",
            "mission artifacts",
            "Artifacts of a mission",
            "The addresses of what a mission produced, in the order of writing, 100 to a page.",
        ),
        template(
            "/artifacts/{kind}/{artifact_id}",
            "mission artifact",
            "Artifact of a mission",
            "One typed artifact in full: a worker_result, a review_packet, …",
        ),
    ]
}

/// A mission, a page of its artifacts, or one of them.
pub(super) async fn read(call: &Call, uri: &str, place: &str) -> Result<String, EngineError> {
    let (engine, caller) = (call.engine(), &call.caller);
    let absent = || EngineError::not_found("resource", uri);
    let (place, query) = match place.split_once('?') {
        Some((place, query)) => (place, Some(query)),
        None => (place, None),
    };
    let mut parts = place.split('/');
    let id = parts.next().and_then(|id| MissionId::parse(id).ok());
    let id = id.ok_or_else(absent)?;
    let rest: Vec<&str> = parts.collect();
    let read = match (rest.as_slice(), query) {
        ([], None) => json!(engine.show_mission(caller, &id).await?),
        (["artifacts"], query) => {
            let after = query.map(|query| query.strip_prefix("after=")?.parse().ok());
            let after = after.map_or(Some(0), |after| after).ok_or_else(absent)?;
            artifacts(call, &id, after).await?
        }
        (["artifacts", kind, artifact], None) => {
            let kind: ArtifactKind = kind.parse().map_err(|_| absent())?;
            json!(engine.mission_artifact(caller, &id, kind, artifact).await?)
        }
        _ => return Err(absent()),
    };
    apart(|| serde_json::to_string_pretty(&read))
        .map_err(|error| EngineError::internal("writing a mission", error))
}

async fn artifacts(call: &Call, id: &MissionId, after: u64) -> Result<Value, EngineError> {
    let filter = ArtifactFilter::default();
    let page = call
        .engine()
        .mission_artifacts(&call.caller, id, filter, after, PAGE);
    let page = page.await?;
    let entries = page.entries.iter().map(|shown| {
        let (kind, artifact) = (shown.kind, &shown.artifact_id);
        json!({
            "kind": kind, "artifact_id": artifact, "task_id": shown.task_id,
            "uri": format!("{MISSION}{id}/artifacts/{kind}/{artifact}"),
        })
    });
    let next = page
        .next
        .map(|after| format!("{MISSION}{id}/artifacts?after={after}"));
    Ok(json!({"entries": entries.collect::<Vec<_>>(), "next": next}))
}

/// The mission that a run carries out.
pub(super) async fn of_run(call: &Call, run: &RunId) -> Result<WorkSubject, EngineError> {
    let shown = call.engine().show_run(&call.caller, run).await?;
    let envelope = shown.state.parameters.get("envelope");
    let id = envelope.and_then(|envelope| envelope.get("mission_id")?.as_str());
    let id = id.and_then(|id| MissionId::parse(id).ok());
    id.map(WorkSubject::Mission).ok_or_else(question::foreign)
}
