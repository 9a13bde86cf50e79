//! Memories.

use axum::extract::State;
use axum::http::StatusCode;
use charter_contract::ids::MemoryId;
use charter_contract::page::PageRequest;
use charter_engine::{
    ListedMemories, MemoryHit, MemoryPage, MemoryQuery, MemoryView, ProposalAnswer, RelatedMemory,
    Remember, Supersede,
};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{Authenticated, JsonBody, Path, QueryParams, parsed};
use crate::json::Json;
use crate::state::AppState;

/// The default page size.
const PAGE: usize = 50;

/// Add a memory: `{"memory": {"title": "…", "content": "…", "tags": ["…"], "metadata": {"source": "user_statement",
/// "importance": 7}, "related_memories": []}, "visibility": "private", "agent_id": "…"}`. A memory that an agent
/// writes, or that a user shares, is a proposal.
#[utoipa::path(post, path = "/v1/memories", tag = "memories", operation_id = "create_memory", request_body = ref("#/components/schemas/new_memory"),
    responses((status = 201, description = "The memory", body = ref("#/components/schemas/memory")), (status = 400, description = "It violates its contract", body = ref("#/components/schemas/agent_error"))))]
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
    /// Whether to list only memories with a proposal that waits for a decision.
    #[serde(default)]
    proposed: bool,
    /// The cursor: `next` of the previous page.
    after: Option<String>,
    /// Page size.
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
    let listed = match asked.proposed {
        true => ListedMemories::Proposed,
        false => ListedMemories::InForce,
    };
    let page = state.engine.memories().list(&caller, listed, &page).await?;
    Ok(Json(page))
}

/// Search memories: `{"text": "…", "tags_all": [], "tags_any": [], "from": "…", "until": "…", "min_importance": 5,
/// "proposed": false, "limit": 10}`; every field is optional.
#[utoipa::path(post, path = "/v1/memories/search", tag = "memories", operation_id = "search_memories", request_body = ref("#/components/schemas/memory_search"),
    responses((status = 200, description = "The matching memories, best first", body = ref("#/components/schemas/memory_hits"))))]
pub(crate) async fn find(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    JsonBody(query): JsonBody<MemoryQuery>,
) -> Result<Json<Vec<MemoryHit>>, ApiError> {
    Ok(Json(state.engine.memories().find(&caller, &query).await?))
}

/// Show a memory: its version in force, or the newest that is visible to the caller; for a deleted one, only that it
/// existed.
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
    /// The largest number of links to follow, 1 to 5.
    depth: Option<u8>,
}

/// Show the memories that a memory names as related.
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

/// Write the next version of a memory: `{"memory": {…}, "expected_version": 1, "agent_id": "…"}`. The previous version
/// stays readable.
#[utoipa::path(post, path = "/v1/memories/{id}/versions", tag = "memories", operation_id = "supersede_memory", request_body = ref("#/components/schemas/memory_version"),
    params(("id" = String, Path, description = "`mem-…`")),
    responses((status = 201, description = "The memory", body = ref("#/components/schemas/memory")), (status = 409, description = "The version in force is not the expected one, or a proposal is pending", body = ref("#/components/schemas/agent_error"))))]
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

/// Delete the content of a memory and of all its versions. A record that it existed remains.
#[utoipa::path(delete, path = "/v1/memories/{id}", tag = "memories", operation_id = "delete_memory",
    params(("id" = String, Path, description = "`mem-…`")),
    responses((status = 200, description = "The memory without its content", body = ref("#/components/schemas/memory"))))]
pub(crate) async fn remove(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<MemoryView>, ApiError> {
    let id: MemoryId = parsed(&id)?;
    Ok(Json(state.engine.memories().remove(&caller, &id).await?))
}
