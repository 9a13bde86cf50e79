//! Lenses: listings, searches, and reindexing.

use axum::extract::State;
use axum::http::StatusCode;
use charter_contract::ids::{DomainId, Label, LensId};
use charter_engine::{LensFilter, LensSearchResult, LensView, MAX_PASSAGES};
use schemars::JsonSchema;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{Authenticated, JsonBody, Path, QueryParams, parsed};
use crate::json::Json;
use crate::state::AppState;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Only lenses of this domain.
    domain: Option<String>,
}

/// List lenses, with the state of their sources.
#[utoipa::path(get, path = "/v1/lenses", tag = "lenses", operation_id = "list_lenses", params(ListQuery),
    responses((status = 200, description = "By id", body = ref("#/components/schemas/lens_list")), (status = 403, description = "The caller is on the basic tier", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn list(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<ListQuery>,
) -> Result<Json<Vec<LensView>>, ApiError> {
    let domain: Option<DomainId> = asked.domain.as_deref().map(parsed).transpose()?;
    Ok(Json(state.engine.lenses().list(&caller, domain.as_ref())?))
}

/// Show a lens: its index, the indexing progress, and the outcome of the last indexing.
#[utoipa::path(get, path = "/v1/lenses/{id}", tag = "lenses", operation_id = "get_lens",
    params(("id" = String, Path, description = "The lens")),
    responses((status = 200, description = "The lens", body = ref("#/components/schemas/lens"))))]
pub(crate) async fn show(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<LensView>, ApiError> {
    let id: LensId = parsed(&id)?;
    Ok(Json(state.engine.lenses().get(&caller, &id)?))
}

/// A search of several lenses.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    #[schemars(length(min = 1))]
    query: String,
    #[serde(default)]
    lens_ids: Vec<LensId>,
    #[serde(default)]
    domain: Option<DomainId>,
    #[serde(default)]
    tags: Vec<Label>,
    #[serde(default)]
    #[schemars(range(min = 1, max = MAX_PASSAGES))]
    top_k: Option<usize>,
}

/// A search of one lens.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuestionToOne {
    #[schemars(length(min = 1))]
    query: String,
    #[serde(default)]
    #[schemars(range(min = 1, max = MAX_PASSAGES))]
    top_k: Option<usize>,
}

/// Find the closest passages in every lens that is visible to the caller: `{"query": "…", "domain": "security",
/// "lens_ids": […], "tags": […], "top_k": 5}`.
#[utoipa::path(post, path = "/v1/lenses/search", tag = "lenses", operation_id = "search_lenses", request_body = ref("#/components/schemas/lens_search"),
    responses((status = 200, description = "Passages with their places and sources, best first", body = ref("#/components/schemas/lens_search_result")), (status = 403, description = "The caller is on the basic tier", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn search(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    JsonBody(asked): JsonBody<Question>,
) -> Result<Json<LensSearchResult>, ApiError> {
    let filter = LensFilter {
        lens_ids: asked.lens_ids,
        domain: asked.domain,
        tags: asked.tags,
        top_k: asked.top_k,
    };
    let found = state
        .engine
        .lenses()
        .ask_lenses(&caller, &asked.query, &filter)
        .await?;
    Ok(Json(found))
}

/// Find the closest passages of one lens: `{"query": "…", "top_k": 5}`.
#[utoipa::path(post, path = "/v1/lenses/{id}/search", tag = "lenses", operation_id = "search_lens", request_body = ref("#/components/schemas/single_lens_search"),
    params(("id" = String, Path, description = "The lens")),
    responses((status = 200, description = "Passages with their places and sources, best first", body = ref("#/components/schemas/lens_search_result"))))]
pub(crate) async fn search_one(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    JsonBody(asked): JsonBody<QuestionToOne>,
) -> Result<Json<LensSearchResult>, ApiError> {
    let filter = LensFilter {
        lens_ids: vec![parsed(&id)?],
        top_k: asked.top_k,
        ..LensFilter::default()
    };
    let found = state
        .engine
        .lenses()
        .ask_lenses(&caller, &asked.query, &filter)
        .await?;
    Ok(Json(found))
}

/// Check a lens's source again, and index it if it changed. Returns at once; the lens shows the progress.
#[utoipa::path(post, path = "/v1/lenses/{id}/reindex", tag = "lenses", operation_id = "reindex_lens",
    params(("id" = String, Path, description = "The lens")),
    responses((status = 202, description = "It has started", body = ref("#/components/schemas/lens")), (status = 503, description = "It is already being indexed", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn reindex(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<LensView>), ApiError> {
    let id: LensId = parsed(&id)?;
    let lens = state.engine.lenses().reindex_lens(&caller, &id)?;
    Ok((StatusCode::ACCEPTED, Json(lens)))
}
