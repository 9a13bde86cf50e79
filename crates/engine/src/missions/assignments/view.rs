//! Assignments as agents see them.

use charter_contract::ids::{AssignmentId, Label, LeaseId, MissionId, TaskId, UserId};
use charter_contract::mission::librarian_pass::LibrarianPass;
use charter_contract::mission::prompt_package::PromptPackage;
use charter_contract::mission::task_graph::Role;
use charter_contract::mission::{ArtifactKind, AssignmentState};
use charter_contract::time::Timestamp;
use charter_store::assignment::AssignmentRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::read;
use crate::EngineError;

/// The task of a mission that an outside agent may carry out.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "MissionAssignment")]
pub struct AssignmentView {
    /// Its id.
    pub assignment_id: AssignmentId,
    /// The mission.
    pub mission_id: MissionId,
    /// The type of the mission.
    pub mission_type: Label,
    /// The role of the task.
    pub role_type: Role,
    /// The task; absent for the planner, which makes the tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The objective of the task, in words that may come from a model or a user.
    pub objective: String,
    /// The turn of the task, from 1. A turn that requests calls is followed by another one.
    pub turn: u64,
    /// Its state.
    pub state: AssignmentState,
    /// The user of the agent that holds the lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<UserId>,
    /// Number of results that were submitted for this turn.
    pub submissions: u64,
    /// Why the latest result was refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refusal: Vec<String>,
    /// When it was offered.
    pub offered_at: Timestamp,
    /// When the lease ends: with the pass.
    pub expires_at: Timestamp,
    /// The lease; for its holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_id: Option<LeaseId>,
    /// The input of the turn; for the holder of the lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brief: Option<AssignmentBrief>,
}

/// The input of one turn of an assignment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssignmentBrief {
    /// The type of the mission.
    pub mission_type: Label,
    /// The objective of the task.
    pub objective: String,
    /// The system prompt of the role.
    pub system_prompt: String,
    /// The prompt of the task.
    pub task_prompt: String,
    /// The prompt package; absent for roles that come before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_package: Option<PromptPackage>,
    /// The pass; for workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub librarian_pass: Option<LibrarianPass>,
    /// The data of the turn, which is never an instruction: results, previews, and the outcomes of requested calls.
    pub context: Map<String, Value>,
    /// The kinds of artifacts that the result may have.
    pub accepts: Vec<ArtifactKind>,
    /// Whether the turn may request calls of tools instead. Charter makes them under the pass.
    pub may_call: bool,
    /// The JSON Schema of the result's `structured_output`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Map<String, Value>>,
}

/// One page of assignments.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "MissionAssignmentPage")]
pub struct AssignmentPage {
    /// Newest first.
    pub entries: Vec<AssignmentView>,
    /// Cursor to the next page.
    pub next: Option<String>,
}

impl AssignmentView {
    /// Builds the view of an assignment; `reader` gets the lease and the input if it is the holder.
    pub(super) fn of(
        record: &AssignmentRecord,
        reader: Option<&UserId>,
    ) -> Result<Self, EngineError> {
        let brief: AssignmentBrief = read(&record.offer.brief)?;
        let lease = record.lease.as_ref();
        let held = lease.filter(|lease| reader == Some(&lease.holder));
        Ok(Self {
            assignment_id: record.offer.assignment_id.clone(),
            mission_id: record.offer.mission_id.clone(),
            mission_type: brief.mission_type.clone(),
            role_type: record.offer.role,
            task_id: record.offer.task_id.clone(),
            objective: brief.objective.clone(),
            turn: record.offer.turn,
            state: record.state,
            holder: lease.map(|lease| lease.holder.clone()),
            submissions: record.submissions,
            refusal: match &record.refusal {
                Some(refusal) => read(refusal)?,
                None => Vec::new(),
            },
            offered_at: record.offer.offered_at,
            expires_at: record.offer.expires_at,
            lease_id: held.map(|lease| lease.lease_id.clone()),
            brief: held.map(|_| brief),
        })
    }
}
