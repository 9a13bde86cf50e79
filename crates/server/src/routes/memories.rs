//! Memories.

use axum::extract::State;
use axum::http::StatusCode;
use charter_contract::ids::MemoryId;
use charter_contract::page::PageRequest;
use charter_engine::{
    MemoryHit, MemoryPage, MemoryQuery, MemoryView, ProposalAnswer, RelatedMemory, Remember,
    Supersede,
};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{Authenticated, JsonBody, Path, QueryParams, parsed};
use crate::json::Json;
use crate::state::AppState;

/// Memories on a page that names no number.
const PAGE: usize = 50;

/// Remember something: `{"memory": {"title": "…", "content": "…", "tags": ["…"], "metadata": {"source":
/// "user_statement", "importance": 7}, "related_memories": []}, "visibility": "private", "agent_id": "…"}`.
/// What an agent writes, and what a user shares, is a proposal.
#[utoipa::path(post, path = "/v1/memories", tag = "memories", operation_id = "create_memory", request_body = ref("#/components/schemas/new_memory"),
    responses((status = 201, description = "The memory", body = ref("#/components/schemas/memory")), (status = 400, description = "It breaks its contract", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn add(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    JsonBody(new): JsonBody<Remember>,
) -> Result<(StatusCode, Json<MemoryView>), ApiError> {
    let shown = state.engine.memories().remember(&caller, new).await?;
    Ok((StatusCode::CREATED, Json(shown)))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Whether to list memories that have a proposal which waits for a decision.
    #[serde(default)]
    proposed: bool,
    /// Where the page starts: `next` of the page before.
    after: Option<String>,
    /// How many.
    limit: Option<usize>,
}

/// List memories, newest first: those in force, or those with a proposal.
#[utoipa::path(get, path = "/v1/memories", tag = "memories", operation_id = "list_memories",
    params(ListQuery), responses((status = 200, description = "A page", body = ref("#/components/schemas/memory_page"))))]
pub(crate) async fn list(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<ListQuery>,
) -> Result<Json<MemoryPage>, ApiError> {
    let page = PageRequest::new(asked.after, asked.limit.unwrap_or(PAGE));
    let listed = state
        .engine
        .memories()
        .list(&caller, asked.proposed, &page)
        .await?;
    Ok(Json(listed))
}

/// Search memories: `{"text": "…", "tags_all": [], "tags_any": [], "from": "…", "until": "…",
/// "min_importance": 5, "proposed": false, "limit": 10}`; every field may be left out.
#[utoipa::path(post, path = "/v1/memories/search", tag = "memories", operation_id = "search_memories", request_body = ref("#/components/schemas/memory_search"),
    responses((status = 200, description = "What was found, best first", body = ref("#/components/schemas/memory_hits"))))]
pub(crate) async fn find(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    JsonBody(query): JsonBody<MemoryQuery>,
) -> Result<Json<Vec<MemoryHit>>, ApiError> {
    Ok(Json(state.engine.memories().find(&caller, &query).await?))
}

/// Show a memory: its version in force, or the newest that the caller may see; of a removed one, that
/// it existed.
#[utoipa::path(get, path = "/v1/memories/{id}", tag = "memories", operation_id = "get_memory",
    params(("id" = String, Path, description = "`mem-…`")),
    responses((status = 200, description = "The memory", body = ref("#/components/schemas/memory")), (status = 404, description = "The caller sees no such memory", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn show(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<MemoryView>, ApiError> {
    let id: MemoryId = parsed(&id)?;
    Ok(Json(state.engine.memories().show(&caller, &id).await?))
}

/// Show the versions of a memory, newest first.
#[utoipa::path(get, path = "/v1/memories/{id}/history", tag = "memories", operation_id = "list_memory_versions",
    params(("id" = String, Path, description = "`mem-…`")),
    responses((status = 200, description = "The versions", body = ref("#/components/schemas/memory_versions"))))]
pub(crate) async fn history(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<Vec<MemoryView>>, ApiError> {
    let id: MemoryId = parsed(&id)?;
    Ok(Json(state.engine.memories().history(&caller, &id).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RelatedQuery {
    /// How many memories one after another, 1 to 5.
    depth: Option<u8>,
}

/// Follow what a memory names as related.
#[utoipa::path(get, path = "/v1/memories/{id}/related", tag = "memories", operation_id = "list_related_memories",
    params(("id" = String, Path, description = "`mem-…`"), RelatedQuery),
    responses((status = 200, description = "The memories, nearest first", body = ref("#/components/schemas/related_memories"))))]
pub(crate) async fn related(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    QueryParams(asked): QueryParams<RelatedQuery>,
) -> Result<Json<Vec<RelatedMemory>>, ApiError> {
    let id: MemoryId = parsed(&id)?;
    let depth = asked.depth.unwrap_or(1);
    let found = state.engine.memories().related(&caller, &id, depth).await?;
    Ok(Json(found))
}

/// Write the next version of a memory: `{"memory": {…}, "expected_version": 1, "agent_id": "…"}`. The
/// version before it stays readable.
#[utoipa::path(post, path = "/v1/memories/{id}/versions", tag = "memories", operation_id = "supersede_memory", request_body = ref("#/components/schemas/memory_version"),
    params(("id" = String, Path, description = "`mem-…`")),
    responses((status = 201, description = "The memory", body = ref("#/components/schemas/memory")), (status = 409, description = "Another version is in force than was expected, or a proposal waits", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn supersede(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    JsonBody(new): JsonBody<Supersede>,
) -> Result<(StatusCode, Json<MemoryView>), ApiError> {
    let id: MemoryId = parsed(&id)?;
    let shown = state.engine.memories().supersede(&caller, &id, new).await?;
    Ok((StatusCode::CREATED, Json(shown)))
}

/// Accept a proposed version: it comes into force.
#[utoipa::path(post, path = "/v1/memories/{id}/versions/{version}/accept", tag = "memories", operation_id = "accept_memory",
    params(("id" = String, Path, description = "`mem-…`"), ("version" = u64, Path, description = "Its number")),
    responses((status = 200, description = "The memory", body = ref("#/components/schemas/memory")), (status = 409, description = "It is not proposed", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn accept(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(of): Path<(String, String)>,
) -> Result<Json<MemoryView>, ApiError> {
    decide(&state, &caller, &of, ProposalAnswer::Accept).await
}

/// Reject a proposed version.
#[utoipa::path(post, path = "/v1/memories/{id}/versions/{version}/reject", tag = "memories", operation_id = "reject_memory",
    params(("id" = String, Path, description = "`mem-…`"), ("version" = u64, Path, description = "Its number")),
    responses((status = 200, description = "The memory", body = ref("#/components/schemas/memory")), (status = 409, description = "It is not proposed", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn reject(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(of): Path<(String, String)>,
) -> Result<Json<MemoryView>, ApiError> {
    decide(&state, &caller, &of, ProposalAnswer::Reject).await
}

async fn decide(
    state: &AppState,
    caller: &charter_engine::Caller,
    (id, version): &(String, String),
    word: ProposalAnswer,
) -> Result<Json<MemoryView>, ApiError> {
    let id: MemoryId = parsed(id)?;
    let version: u64 = parsed(version)?;
    let decided = state
        .engine
        .memories()
        .decide(caller, &id, version, word)
        .await?;
    Ok(Json(decided))
}

/// Remove the content of a memory and of all its versions. That it existed stays.
#[utoipa::path(delete, path = "/v1/memories/{id}", tag = "memories", operation_id = "delete_memory",
    params(("id" = String, Path, description = "`mem-…`")),
    responses((status = 200, description = "What is left", body = ref("#/components/schemas/memory"))))]
pub(crate) async fn remove(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<MemoryView>, ApiError> {
    let id: MemoryId = parsed(&id)?;
    Ok(Json(state.engine.memories().remove(&caller, &id).await?))
}
