//! The tag store: internal, for operators (B000-15).

use axum::extract::State;
use axum::http::StatusCode;
use charter_contract::catalogue::tags::TagRecord;

use crate::error::ApiError;
use crate::extract::{Authenticated, Path, Valid, parsed};
use crate::json::Json;
use crate::state::AppState;

/// Write the tags of a request, once.
#[utoipa::path(post, path = "/v1/tags", tag = "tags", operation_id = "put_tags",
    request_body = ref("#/components/schemas/tag_record"),
    responses((status = 201, description = "Written"), (status = 409, description = "Tags already exist", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn put_tags(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Valid(tags): Valid<TagRecord>,
) -> Result<StatusCode, ApiError> {
    state.engine.tags().put(&caller, tags).await?;
    Ok(StatusCode::CREATED)
}

/// Read the tags of a request.
#[utoipa::path(get, path = "/v1/tags/{request_id}", tag = "tags", operation_id = "get_tags",
    params(("request_id" = String, Path, description = "`req_…`")),
    responses((status = 200, description = "The tags", body = ref("#/components/schemas/tag_record"))))]
pub(crate) async fn get(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(request_id): Path<String>,
) -> Result<Json<TagRecord>, ApiError> {
    let request = parsed(&request_id)?;
    Ok(Json(state.engine.tags().get(&caller, &request).await?))
}
