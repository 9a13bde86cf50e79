//! Runs of playbooks.

use axum::extract::State;
use axum::http::StatusCode;
use charter_contract::ids::{PlaybookId, RequestId};
use charter_engine::RunView;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::runs::started;
use crate::error::ApiError;
use crate::extract::{Authenticated, IdempotencyHeader, JsonBody, Path, parsed};
use crate::json::Json;
use crate::state::AppState;

/// The inputs of a playbook's run.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StartPlaybookBody {
    #[serde(default)]
    parameters: Map<String, Value>,
    #[serde(default)]
    dry_run: bool,
    /// The request whose answer offered the playbook. If its sentence asks for this change, the sentence is suggested as
    /// an example of the playbook.
    #[serde(default)]
    request_id: Option<RequestId>,
}

/// Start a run of a playbook: `{"parameters": {…}, "dry_run": true}`. It waits for missing input.
///
/// The same command with the same `Idempotency-Key` returns the run that it started; another command is a conflict.
#[utoipa::path(post, path = "/v1/playbooks/{id}/runs", tag = "runs", operation_id = "start_playbook_run",
    params(("id" = String, Path, description = "The playbook"), IdempotencyHeader), request_body = ref("#/components/schemas/playbook_run_request"),
    responses((status = 201, description = "The run", body = ref("#/components/schemas/run")), (status = 200, description = "The run, which an equal request started before", body = ref("#/components/schemas/run")), (status = 409, description = "The `Idempotency-Key` was used before with other content", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn start(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    IdempotencyHeader { key }: IdempotencyHeader,
    JsonBody(wanted): JsonBody<StartPlaybookBody>,
) -> Result<(StatusCode, Json<RunView>), ApiError> {
    let id: PlaybookId = parsed(&id)?;
    let run = state
        .engine
        .run_starts()
        .start_playbook(
            &caller,
            &id,
            &wanted.parameters,
            wanted.dry_run.into(),
            key.as_ref(),
        )
        .await?;
    if let (Some(request), false) = (&wanted.request_id, wanted.dry_run) {
        state
            .engine
            .route_confirmations()
            .confirm_offer(&caller, request, &id)
            .await;
    }
    Ok(started(run))
}
