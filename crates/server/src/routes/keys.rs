//! API keys of the caller's tenant. The text of a key appears only in the response that created it, which must not be
//! cached.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, HeaderName};
use charter_contract::ids::KeyId;
use charter_contract::page::PageRequest;
use charter_engine::{KeyOrder, KeyPage, KeyRotation, KeyView, NewKey};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{Authenticated, JsonBody, QueryParams, parsed};
use crate::json::Json;
use crate::state::AppState;

/// The default page size.
const PAGE: usize = 50;

/// The response to the creation of a key.
type CreatedKeyResponse = (StatusCode, [(HeaderName, &'static str); 1], Json<NewKey>);

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// The cursor: `next` of the previous page.
    after: Option<String>,
    /// Page size, up to 1000; 50 when absent.
    limit: Option<usize>,
}

/// Create a key: `{"name": "ci", "role": "operator", "scopes": ["catalogue:write"], "expires_in_s": 86400}`. The
/// response contains its `secret`, which is not shown again.
#[utoipa::path(post, path = "/v1/keys", tag = "keys", operation_id = "create_key", request_body = ref("#/components/schemas/key_request"),
    responses((status = 201, description = "The key with its secret", body = ref("#/components/schemas/new_key"))))]
pub(crate) async fn create(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    JsonBody(order): JsonBody<KeyOrder>,
) -> Result<CreatedKeyResponse, ApiError> {
    let made = state.engine.keys().create(&caller, order).await?;
    Ok(shown_once(made))
}

/// List the tenant's keys, newest first, including expired and revoked ones; never with secrets.
#[utoipa::path(get, path = "/v1/keys", tag = "keys", operation_id = "list_keys", params(ListQuery),
    responses((status = 200, description = "A page", body = ref("#/components/schemas/key_page"))))]
pub(crate) async fn list(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<ListQuery>,
) -> Result<Json<KeyPage>, ApiError> {
    let page = PageRequest::new(asked.after, asked.limit.unwrap_or(PAGE));
    Ok(Json(state.engine.keys().list(&caller, &page).await?))
}

/// Show a key without its secret.
#[utoipa::path(get, path = "/v1/keys/{id}", tag = "keys", operation_id = "get_key",
    params(("id" = String, Path, description = "`key-…`")),
    responses((status = 200, description = "The key", body = ref("#/components/schemas/key"))))]
pub(crate) async fn show(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<KeyView>, ApiError> {
    let id: KeyId = parsed(&id)?;
    Ok(Json(state.engine.keys().get(&caller, &id).await?))
}

/// Replace a key by a new one with the same rights; the old one ends after the overlap: `{"overlap_s": 3600}`. The
/// response contains the new `secret`.
#[utoipa::path(post, path = "/v1/keys/{id}/rotate", tag = "keys", operation_id = "rotate_key",
    params(("id" = String, Path, description = "`key-…`")), request_body = ref("#/components/schemas/key_rotation"),
    responses((status = 201, description = "The new key with its secret", body = ref("#/components/schemas/new_key")), (status = 409, description = "The key has ended, or was rotated before", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn rotate(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    JsonBody(rotation): JsonBody<KeyRotation>,
) -> Result<CreatedKeyResponse, ApiError> {
    let id: KeyId = parsed(&id)?;
    let made = state.engine.keys().rotate(&caller, &id, rotation).await?;
    Ok(shown_once(made))
}

/// Revoke a key at once.
#[utoipa::path(post, path = "/v1/keys/{id}/revoke", tag = "keys", operation_id = "revoke_key",
    params(("id" = String, Path, description = "`key-…`")),
    responses((status = 200, description = "The revoked key", body = ref("#/components/schemas/key")), (status = 409, description = "It is the last key of an admin of the tenant", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn revoke(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<KeyView>, ApiError> {
    let id: KeyId = parsed(&id)?;
    Ok(Json(state.engine.keys().revoke(&caller, &id).await?))
}

fn shown_once(made: NewKey) -> CreatedKeyResponse {
    (
        StatusCode::CREATED,
        [(CACHE_CONTROL, "no-store")],
        Json(made),
    )
}
