//! Sessions.

use axum::extract::State;
use axum::http::StatusCode;
use charter_contract::ids::SessionId;
use charter_engine::SessionView;

use crate::error::ApiError;
use crate::extract::{Authenticated, Path, parsed};
use crate::json::Json;
use crate::state::AppState;

/// Open a session.
#[utoipa::path(post, path = "/v1/sessions", tag = "sessions", operation_id = "create_session",
    responses((status = 201, description = "The session", body = ref("#/components/schemas/session_view"))))]
pub(crate) async fn open(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
) -> Result<(StatusCode, Json<SessionView>), ApiError> {
    let session = state.engine.sessions().open_session(&caller).await?;
    Ok((StatusCode::CREATED, Json(session)))
}

/// Show a session with its newest turns.
#[utoipa::path(get, path = "/v1/sessions/{id}", tag = "sessions", operation_id = "get_session",
    params(("id" = String, Path, description = "`sess-…`")),
    responses((status = 200, description = "The session", body = ref("#/components/schemas/session_view"))))]
pub(crate) async fn show(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<SessionView>, ApiError> {
    let id: SessionId = parsed(&id)?;
    let session = state.engine.sessions().show_session(&caller, &id).await?;
    Ok(Json(session))
}
