//! Runs of plans that callers submit.

use axum::extract::State;
use axum::http::StatusCode;
use charter_contract::error_code::ErrorCode;
use charter_contract::registry::reference;
use charter_contract::schema::SchemaName;
use charter_contract::validate::{Contract, read_value};
use charter_contract::violation::Report;
use charter_engine::{EngineError, RunView, SubmittedPlan};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::runs::started;
use crate::error::ApiError;
use crate::extract::{Authenticated, IdempotencyHeader, JsonBody};
use crate::json::Json;
use crate::state::AppState;

/// A plan and the inputs of its run.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = one_kind)]
pub(crate) struct StartPlanBody {
    #[schemars(schema_with = "execution_plan")]
    execution_plan: Option<Value>,
    #[schemars(schema_with = "pipeline")]
    pipeline: Option<Value>,
    #[schemars(schema_with = "decision_tree")]
    decision_tree: Option<Value>,
    #[serde(default)]
    #[schemars(schema_with = "fallbacks")]
    fallbacks: Vec<Value>,
    #[serde(default)]
    parameters: Map<String, Value>,
    #[serde(default)]
    dry_run: bool,
}

/// Removes the required fields that have their own schema: exactly one of them is required.
fn one_kind(schema: &mut Schema) {
    let kinds = schema.remove("required").unwrap_or_default();
    let kinds = kinds.as_array().map(Vec::as_slice).unwrap_or_default();
    let one = kinds.iter().map(|kind| json!({"required": [kind]}));
    schema.insert("oneOf".to_owned(), one.collect());
}

fn execution_plan(_: &mut SchemaGenerator) -> Schema {
    reference(SchemaName::ExecutionPlan)
}

fn pipeline(_: &mut SchemaGenerator) -> Schema {
    reference(SchemaName::PipelineDefinition)
}

fn decision_tree(_: &mut SchemaGenerator) -> Schema {
    reference(SchemaName::DecisionTree)
}

fn fallbacks(generator: &mut SchemaGenerator) -> Schema {
    let kinds = [execution_plan(generator), pipeline(generator)];
    json_schema!({"type": "array", "items": {"anyOf": kinds}})
}

/// Run a plan: exactly one of `execution_plan`, `pipeline` and `decision_tree`, with `fallbacks` of the same kind,
/// `parameters` and `dry_run`.
///
/// An execution plan sent again with the same `id` and `request_id` returns its existing run; so does any other plan
/// with the same `Idempotency-Key`. Different content is a conflict. A dry run of an execution plan is a separate run.
#[utoipa::path(post, path = "/v1/runs", tag = "runs", operation_id = "start_run", params(IdempotencyHeader), request_body = ref("#/components/schemas/plan_run_request"),
    responses((status = 201, description = "The run", body = ref("#/components/schemas/run")), (status = 200, description = "The run, which an equal request started before", body = ref("#/components/schemas/run")), (status = 400, description = "The plan cannot be run; every violation is listed", body = ref("#/components/schemas/agent_error")), (status = 409, description = "The ids or the `Idempotency-Key` were used before with other content", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn start(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    IdempotencyHeader { key }: IdempotencyHeader,
    JsonBody(wanted): JsonBody<StartPlanBody>,
) -> Result<(StatusCode, Json<RunView>), ApiError> {
    let sent = wanted.plan()?;
    let run = state
        .engine
        .run_starts()
        .start_plan(
            &caller,
            &sent,
            wanted.parameters,
            wanted.dry_run.into(),
            key.as_ref(),
        )
        .await?;
    Ok(started(run))
}

impl StartPlanBody {
    /// The plan in the body.
    fn plan(&self) -> Result<SubmittedPlan, EngineError> {
        match (&self.execution_plan, &self.pipeline, &self.decision_tree) {
            (Some(plan), None, None) => {
                let (plan, fallbacks) = self.with_fallbacks(plan, "/execution_plan")?;
                let plan = Box::new(plan);
                Ok(SubmittedPlan::ExecutionPlan { plan, fallbacks })
            }
            (None, Some(pipeline), None) => {
                let (pipeline, fallbacks) = self.with_fallbacks(pipeline, "/pipeline")?;
                let pipeline = Box::new(pipeline);
                Ok(SubmittedPlan::Pipeline {
                    pipeline,
                    fallbacks,
                })
            }
            (None, None, Some(_)) if !self.fallbacks.is_empty() => {
                Err(invalid_plan("a decision tree has no `fallbacks`"))
            }
            (None, None, Some(tree)) => {
                let (tree, _) = self.with_fallbacks(tree, "/decision_tree")?;
                Ok(SubmittedPlan::DecisionTree(Box::new(tree)))
            }
            _ => Err(invalid_plan(
                "send exactly one of `execution_plan`, `pipeline` and `decision_tree`",
            )),
        }
    }

    /// Reads a plan and its fallbacks, which are of the same kind; an error lists all their violations.
    fn with_fallbacks<T: Contract>(
        &self,
        plan: &Value,
        pointer: &str,
    ) -> Result<(T, Vec<T>), EngineError> {
        let mut report = Report::new();
        let plan = contract(plan, pointer, &mut report);
        let sent = self.fallbacks.iter().enumerate();
        let fallbacks = sent.filter_map(|(at, fallback)| {
            contract(fallback, &format!("/fallbacks/{at}"), &mut report)
        });
        let fallbacks: Vec<T> = fallbacks.collect();
        match plan {
            Some(plan) if report.violations.is_empty() => Ok((plan, fallbacks)),
            Some(_) | None => Err(EngineError::violations(
                T::NAME.as_str(),
                &report.violations,
            )),
        }
    }
}

fn invalid_plan(message: &str) -> EngineError {
    EngineError::new(ErrorCode::InvalidRequest, message)
}

/// Reads a part of the body by its contract; pointers of violations refer to the body.
fn contract<T: Contract>(part: &Value, pointer: &str, report: &mut Report) -> Option<T> {
    match read_value(part) {
        Ok((document, _warnings)) => Some(document),
        Err(violations) => {
            for violation in violations {
                report.push(violation.below(pointer));
            }
            None
        }
    }
}
