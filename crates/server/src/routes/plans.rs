//! Runs of plans that callers send.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use charter_contract::error_code::ErrorCode;
use charter_contract::validate::{Contract, read_value};
use charter_engine::{EngineError, RunShown, SentPlan};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::runs::started;
use crate::error::ApiError;
use crate::extract::{By, Once, Sent};
use crate::state::AppState;

/// A plan and what it is run with.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = one_kind)]
pub(crate) struct Wanted {
    #[schemars(schema_with = "execution_plan")]
    execution_plan: Option<Value>,
    #[schemars(schema_with = "pipeline")]
    pipeline: Option<Value>,
    #[schemars(schema_with = "decision_tree")]
    decision_tree: Option<Value>,
    #[serde(default)]
    fallbacks: Vec<Value>,
    #[serde(default)]
    parameters: Map<String, Value>,
    #[serde(default)]
    dry_run: bool,
}

/// Fields with a schema of their own count as required, which of these exactly one is.
fn one_kind(schema: &mut Schema) {
    let kinds = schema.remove("required").unwrap_or_default();
    let kinds = kinds.as_array().map(Vec::as_slice).unwrap_or_default();
    let one = kinds.iter().map(|kind| json!({"required": [kind]}));
    schema.insert("oneOf".to_owned(), one.collect());
}

fn execution_plan(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"$ref": "#/components/schemas/execution_plan"})
}

fn pipeline(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"$ref": "#/components/schemas/pipeline_definition"})
}

fn decision_tree(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"$ref": "#/components/schemas/decision_tree"})
}

/// Run a plan: exactly one of `execution_plan`, `pipeline` and `decision_tree`, with `fallbacks` of the
/// same kind, `parameters` and `dry_run`.
///
/// An execution plan sent again under the same `id` and `request_id` finds its run; so does any other plan with
/// the same `Idempotency-Key`. Other content is a conflict. A dry run of an execution plan is a run beside its run.
#[utoipa::path(post, path = "/v1/runs", tag = "runs", operation_id = "start_run", params(Once), request_body = ref("#/components/schemas/plan_order"),
    responses((status = 201, description = "The run", body = ref("#/components/schemas/run")), (status = 200, description = "The run, which an equal order started before", body = ref("#/components/schemas/run")), (status = 400, description = "The plan cannot be run; every violation is listed", body = ref("#/components/schemas/agent_error")), (status = 409, description = "The same ids, or the same `Idempotency-Key`, came with other content before", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn start(
    State(state): State<AppState>,
    By(caller): By,
    Once { key }: Once,
    Sent(wanted): Sent<Wanted>,
) -> Result<(StatusCode, Json<RunShown>), ApiError> {
    let sent = wanted
        .plan()
        .map_err(|error| ApiError::new(&state, error))?;
    let run = state
        .engine
        .start_plan(
            &caller,
            &sent,
            wanted.parameters,
            wanted.dry_run,
            key.as_ref(),
        )
        .await;
    started(&state, run)
}

impl Wanted {
    /// The plan that the body carries.
    fn plan(&self) -> Result<SentPlan, EngineError> {
        match (&self.execution_plan, &self.pipeline, &self.decision_tree) {
            (Some(plan), None, None) => Ok(SentPlan::ExecutionPlan {
                plan: Box::new(contract(plan, "/execution_plan")?),
                fallbacks: self.fallbacks()?,
            }),
            (None, Some(pipeline), None) => Ok(SentPlan::Pipeline {
                pipeline: Box::new(contract(pipeline, "/pipeline")?),
                fallbacks: self.fallbacks()?,
            }),
            (None, None, Some(tree)) if self.fallbacks.is_empty() => {
                let tree = contract(tree, "/decision_tree")?;
                Ok(SentPlan::DecisionTree(Box::new(tree)))
            }
            (None, None, Some(_)) => Err(refused("a decision tree has no `fallbacks`")),
            _ => Err(refused(
                "send exactly one of `execution_plan`, `pipeline` and `decision_tree`",
            )),
        }
    }

    fn fallbacks<T: Contract>(&self) -> Result<Vec<T>, EngineError> {
        let sent = self.fallbacks.iter().enumerate();
        sent.map(|(at, fallback)| contract(fallback, &format!("/fallbacks/{at}")))
            .collect()
    }
}

fn refused(message: &str) -> EngineError {
    EngineError::new(ErrorCode::InvalidRequest, message)
}

/// A part of the body that keeps its contract; the pointers of violations lead into the body.
fn contract<T: Contract>(part: &Value, pointer: &str) -> Result<T, EngineError> {
    let read = read_value::<T>(part);
    let (document, _warnings) = read.map_err(|mut violations| {
        for violation in &mut violations {
            violation.pointer.insert_str(0, pointer);
        }
        EngineError::violations(T::NAME.as_str(), &violations)
    })?;
    Ok(document)
}
