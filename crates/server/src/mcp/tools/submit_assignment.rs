//! `submit_assignment`: submits the result of a claimed task, as `POST /v1/mission-assignments/{id}/submissions` does.

use std::time::Duration;

use charter_contract::registry::read_typed;
use charter_engine::{AssignmentSubmission, EngineError};
use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::claim_assignment::{Output, assignment};
use crate::mcp::call::Call;
use crate::mcp::tool::{McpTool, ToolReply, arguments_of};

/// Longest wait for the mission's decision.
const LONGEST: Duration = Duration::from_secs(20);

pub(in crate::mcp) struct SubmitAssignment;

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Input {
    /// The assignment, `asg-…`.
    #[serde(skip_serializing)]
    assignment_id: String,
    /// The lease that `claim_assignment` returned.
    lease_id: String,
    /// The artifacts, of the kinds in `accepts` of the brief.
    #[serde(default)]
    artifacts: Vec<Map<String, Value>>,
    /// Calls that are needed first: `{"tool": "…", "parameters": {…}}`. Charter makes them under the pass. Without
    /// calls and artifacts, the assignment is shown with its present turn.
    #[serde(default)]
    calls: Vec<Map<String, Value>>,
}

impl McpTool for SubmitAssignment {
    const NAME: &'static str = "submit_assignment";
    const TITLE: &'static str = "Submit a task of a mission";
    const DESCRIPTION: &'static str = "Submits the artifacts of a task that `claim_assignment` returned, or requests \
        the calls of tools that it needs first, if its brief has `may_call`. After calls, send it again without \
        `artifacts` and `calls` until `turn` has grown: the outcomes are in `brief.context`. A refused result lists \
        the reasons and can be corrected.";
    type Input = Input;
    type Output = Output;

    fn annotations() -> ToolAnnotations {
        let hints = ToolAnnotations::new().read_only(false).destructive(false);
        hints.idempotent(false).open_world(false)
    }

    async fn call(call: &Call, input: Input) -> Result<ToolReply<Output>, EngineError> {
        let (assignments, id) = (
            call.engine().assignments(),
            assignment(&input.assignment_id)?,
        );
        let shown = if input.artifacts.is_empty() && input.calls.is_empty() {
            assignments.get(&call.caller, &id).await?
        } else {
            let submission: AssignmentSubmission = read_typed(&json!(input)).map_err(|found| {
                EngineError::unfit(&arguments_of(SubmitAssignment::NAME), &found)
            })?;
            assignments
                .submit(&call.caller, &id, &submission, LONGEST)
                .await?
        };
        Ok(ToolReply::Done(Output::of(Some(shown))))
    }
}
