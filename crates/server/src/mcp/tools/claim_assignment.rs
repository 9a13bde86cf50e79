//! `claim_assignment`: claims the task of a mission that an outside agent carries out, as
//! `POST /v1/mission-assignments/{id}/claim` does.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{AssignmentId, IdError, MissionId};
use charter_contract::mission::AssignmentState;
use charter_contract::page::PageRequest;
use charter_engine::{AssignmentView, EngineError};
use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::mcp::call::Call;
use crate::mcp::tool::{McpTool, ToolReply};

/// Open assignments that are looked at.
const PAGE: usize = 50;

pub(in crate::mcp) struct ClaimAssignment;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Input {
    /// The assignment, `asg-…`; the oldest open one if absent.
    assignment_id: Option<String>,
    /// Only an assignment of this mission.
    mission_id: Option<String>,
}

/// An assignment.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Output {
    /// The assignment with `lease_id`, `expires_at` and `brief`: the prompts, the pass, the data, and the kinds of
    /// artifacts to submit. Absent if none is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    assignment: Option<Map<String, Value>>,
}

impl Output {
    /// Wraps an assignment.
    pub(super) fn of(assignment: Option<AssignmentView>) -> Self {
        let written = assignment.map(|assignment| json!(assignment));
        Self {
            assignment: written.and_then(|written| written.as_object().cloned()),
        }
    }
}

impl McpTool for ClaimAssignment {
    const NAME: &'static str = "claim_assignment";
    const TITLE: &'static str = "Claim a task of a mission";
    const DESCRIPTION: &'static str = "Claims a task of a mission that is left to outside agents, under a lease that \
        ends with its pass. Carry it out by the prompts and the data of `brief`, and submit the artifacts with \
        `submit_assignment`. Not for starting missions: use `start_mission`.";
    type Input = Input;
    type Output = Output;

    fn annotations() -> ToolAnnotations {
        let hints = ToolAnnotations::new().read_only(false).destructive(false);
        hints.idempotent(false).open_world(false)
    }

    async fn call(call: &Call, input: Input) -> Result<ToolReply<Output>, EngineError> {
        let assignments = call.engine().assignments();
        if let Some(id) = &input.assignment_id {
            let claimed = assignments.claim(&call.caller, &assignment(id)?).await?;
            return Ok(ToolReply::Done(Output::of(Some(claimed))));
        }
        let mission = input.mission_id.as_deref().map(MissionId::parse);
        let mission = mission.transpose().map_err(|error| malformed(&error))?;
        let page = PageRequest::new(None, PAGE);
        let found = assignments
            .list(&call.caller, mission.as_ref(), &page)
            .await?;
        let open = found.entries.into_iter().rev();
        for open in open.filter(|found| found.state == AssignmentState::Offered) {
            match assignments.claim(&call.caller, &open.assignment_id).await {
                Ok(claimed) => return Ok(ToolReply::Done(Output::of(Some(claimed)))),
                // Another agent was quicker, or this one may only look at it.
                Err(error) if is_not_claimable(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(ToolReply::Done(Output::of(None)))
    }
}

fn is_not_claimable(error: &EngineError) -> bool {
    matches!(
        error.code,
        ErrorCode::IllegalTransition | ErrorCode::PermissionDenied | ErrorCode::NotFound
    )
}

/// Reads the id of an assignment.
pub(super) fn assignment(id: &str) -> Result<AssignmentId, EngineError> {
    AssignmentId::parse(id).map_err(|error| malformed(&error))
}

fn malformed(error: &IdError) -> EngineError {
    EngineError::new(ErrorCode::InvalidRequest, error.to_string())
}
