//! Queries of the expert graph.

use axum::extract::State;
use charter_engine::{GraphAnswer, GraphQuery};

use crate::error::ApiError;
use crate::extract::{Authenticated, JsonBody};
use crate::json::Json;
use crate::state::AppState;

/// Query the expert graph, on the advanced tier: `{"query": "neighbours", "node": "…", "direction": "out", "edges":
/// ["requires"], "depth": 1}`, `{"query": "paths", "from": "…", "to": {"type": "ResourceType"}, "depth": 10, "limit":
/// 100}`, `{"query": "unremediated", "domain": "…"}` or `{"query": "coverage", "framework": "…"}`.
#[utoipa::path(post, path = "/v1/graph/query", tag = "graph", operation_id = "query_graph", request_body = ref("#/components/schemas/graph_query"),
    responses((status = 200, description = "The answer of the graph", body = ref("#/components/schemas/graph_answer")), (status = 403, description = "The caller is not on the advanced tier", body = ref("#/components/schemas/agent_error")), (status = 404, description = "The caller sees no such node or framework", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn query(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    JsonBody(query): JsonBody<GraphQuery>,
) -> Result<Json<GraphAnswer>, ApiError> {
    Ok(Json(state.engine.expert_graph().query(&caller, query)?))
}
