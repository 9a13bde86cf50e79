//! Promotion of candidates.

use axum::extract::State;
use charter_contract::ids::{DocumentId, RunId};
use charter_engine::RegistrationReport;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::ApiError;
use crate::extract::{Authenticated, JsonBody, Path, parsed};
use crate::json::Json;
use crate::state::AppState;

/// The run on which a candidate is accepted.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PromotionBody {
    run_id: RunId,
}

/// Accept a candidate on a successful run of exactly this version: `{"run_id": "run-…"}`. From then on it is routed to.
#[utoipa::path(post, path = "/v1/candidates/{id}/promote", tag = "candidates", operation_id = "promote_candidate",
    params(("id" = String, Path, description = "The candidate skill or playbook")), request_body = ref("#/components/schemas/candidate_promotion"),
    responses((status = 200, description = "The registration", body = ref("#/components/schemas/registration_report")), (status = 409, description = "It is not a candidate, or the run is not a successful run of this version", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn promote(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    JsonBody(proven): JsonBody<PromotionBody>,
) -> Result<Json<RegistrationReport>, ApiError> {
    let id: DocumentId = parsed(&id)?;
    let promoted = state
        .engine
        .candidates()
        .promote_candidate(&caller, &id, &proven.run_id)
        .await?;
    Ok(Json(promoted))
}
