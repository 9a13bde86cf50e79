//! The authenticated caller.

use axum::extract::State;
use charter_engine::CallerView;

use crate::error::ApiError;
use crate::extract::Authenticated;
use crate::json::Json;
use crate::state::AppState;

/// Show the caller's identity and rights, and the quotas of its tenant.
#[utoipa::path(get, path = "/v1/caller", tag = "caller", operation_id = "get_caller",
    responses((status = 200, description = "The caller", body = ref("#/components/schemas/caller"))))]
pub(crate) async fn show(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
) -> Result<Json<CallerView>, ApiError> {
    let view = CallerView::load(&caller, state.engine.quotas()).await?;
    Ok(Json(view))
}
