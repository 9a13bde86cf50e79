//! Explanations of the gate's decisions.

use axum::extract::State;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{Label, PlaybookId, RunId, SkillId, StepId, ToolId};
use charter_engine::{CallExplanation, CallOrigin, EngineError, HypotheticalCall, RunExplanation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::ApiError;
use crate::extract::{Authenticated, JsonBody};
use crate::json::Json;
use crate::state::AppState;

/// A hypothetical call, or a run.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplainBody {
    tool: Option<ToolId>,
    #[serde(default)]
    parameters: Map<String, Value>,
    skill: Option<SkillId>,
    playbook: Option<PlaybookId>,
    #[serde(default)]
    dry_run: bool,
    persona: Option<Label>,
    run: Option<RunId>,
    step: Option<StepId>,
}

/// The subject of a request.
enum Subject {
    Call(Box<HypotheticalCall>),
    Run(RunId, Option<StepId>),
}

/// The gate's decision on a hypothetical call, or its decisions in a run.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "GateExplanation")]
#[serde(untagged)]
pub(crate) enum GateExplanation {
    /// The verdict on a call and every rule that was considered.
    Call(Box<CallExplanation>),
    /// A run's steps with the decisions on each.
    Run(Box<RunExplanation>),
}

/// Explain the gate. `{"tool": "…", "parameters": {…}, "playbook": "…", "step": "…", "dry_run": true, "persona": "…"}`
/// shows its decision on a call of the caller, with `skill` in place of `playbook`, or neither for a plan of one step.
/// `{"run": "run-…", "step": "…"}` shows its decisions in a run. Nothing is called, written or counted.
#[utoipa::path(post, path = "/v1/gate/explain", tag = "gate", operation_id = "explain_gate", request_body = ref("#/components/schemas/gate_explain_request"),
    responses((status = 200, description = "The verdict and every rule considered, or a run's decisions", body = ref("#/components/schemas/gate_explanation")), (status = 404, description = "The caller sees no such tool, skill, playbook, run or step", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn explain(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    JsonBody(wanted): JsonBody<ExplainBody>,
) -> Result<Json<GateExplanation>, ApiError> {
    let explained = match wanted.subject()? {
        Subject::Call(thought) => {
            let call = state.engine.gate().explain(&caller, &thought).await?;
            GateExplanation::Call(Box::new(call))
        }
        Subject::Run(run, step) => {
            let run = state
                .engine
                .run_views()
                .explain(&caller, &run, step.as_ref())
                .await?;
            GateExplanation::Run(Box::new(run))
        }
    };
    Ok(Json(explained))
}

impl ExplainBody {
    fn subject(self) -> Result<Subject, EngineError> {
        let refused = |message| Err(EngineError::new(ErrorCode::InvalidRequest, message));
        let of_call = !self.parameters.is_empty()
            || self.skill.is_some()
            || self.playbook.is_some()
            || self.persona.is_some()
            || self.dry_run;
        let tool = match (self.tool, self.run) {
            (Some(tool), None) => tool,
            (None, Some(_)) if of_call => {
                return refused("a run has its own parameters: with `run` only `step` is allowed");
            }
            (None, Some(run)) => return Ok(Subject::Run(run, self.step)),
            (None, None) | (Some(_), Some(_)) => {
                return refused("send exactly one of `tool` and `run`");
            }
        };
        let within = match (self.skill, self.playbook) {
            (None, None) if self.step.is_some() => {
                return refused("`step` is a step of a `skill`, a `playbook` or a `run`");
            }
            (None, None) => CallOrigin::Plan,
            (Some(skill), None) => CallOrigin::Skill(skill),
            (None, Some(playbook)) => CallOrigin::Playbook(playbook),
            (Some(_), Some(_)) => return refused("send one of `skill` and `playbook`, not both"),
        };
        Ok(Subject::Call(Box::new(HypotheticalCall {
            tool,
            parameters: self.parameters,
            within,
            step: self.step,
            dry_run: self.dry_run,
            persona: self.persona,
        })))
    }
}
