//! Runs of playbooks.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use charter_contract::ids::PlaybookId;
use charter_engine::RunShown;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::runs::shown;
use crate::error::ApiError;
use crate::extract::{By, Path, Sent, parsed};
use crate::state::AppState;

/// What a playbook is run with.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    #[serde(default)]
    parameters: Map<String, Value>,
    #[serde(default)]
    dry_run: bool,
}

/// Start a run of a playbook: `{"parameters": {…}, "dry_run": true}`. It waits for what it needs.
#[utoipa::path(post, path = "/v1/playbooks/{id}/runs", tag = "runs", operation_id = "start_playbook",
    params(("id" = String, Path, description = "The playbook")), request_body = ref("#/components/schemas/playbook_order"),
    responses((status = 201, description = "The run", body = ref("#/components/schemas/run"))))]
pub(crate) async fn start(
    State(state): State<AppState>,
    By(caller): By,
    Path(id): Path<String>,
    Sent(wanted): Sent<Wanted>,
) -> Result<(StatusCode, Json<RunShown>), ApiError> {
    let id: PlaybookId = parsed(&state, &id)?;
    let run = state
        .engine
        .start_playbook(&caller, &id, &wanted.parameters, wanted.dry_run)
        .await;
    shown(&state, run).map(|run| (StatusCode::CREATED, run))
}
