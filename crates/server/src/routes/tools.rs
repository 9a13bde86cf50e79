//! Tools in the form of the agent contracts (seed 003): registered, shown, deleted and called.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use charter_contract::agentic::tool_definition::ToolDefinition;
use charter_contract::agentic::tool_invocation::ToolInvocation;
use charter_contract::ids::ToolDefinitionId;
use charter_engine::{InvocationOutcome, ToolRegistered};

use crate::error::ApiError;
use crate::extract::{Authenticated, IdempotencyHeader, Path, Valid, parsed};
use crate::json::Json;
use crate::state::AppState;

/// How long a call waits for its end; at most half of the request's timeout.
const CALL_TIMEOUT: Duration = Duration::from_secs(45);

/// Register a tool by its definition.
///
/// The tool becomes a document of the tenant's package `tools`, in a new version that can be rolled back. It writes
/// unless it has `tool_class: readonly`, and a handler of an executor carries out its calls.
#[utoipa::path(post, path = "/v1/tools", tag = "tools", operation_id = "register_tool",
    request_body = ref("#/components/schemas/tool_definition"),
    responses((status = 201, description = "In force", body = ref("#/components/schemas/tool_registration")), (status = 400, description = "All violations", body = ref("#/components/schemas/agent_error")), (status = 409, description = "Another tool has this id", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn register(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Valid(definition): Valid<ToolDefinition>,
) -> Result<(StatusCode, Json<ToolRegistered>), ApiError> {
    let registering = state
        .engine
        .tool_registrations()
        .register(&caller, definition);
    Ok((StatusCode::CREATED, Json(registering.await?)))
}

/// Show the definition of a tool that the caller may call.
#[utoipa::path(get, path = "/v1/tools/{id}", tag = "tools", operation_id = "get_tool",
    params(("id" = String, Path, description = "`tool-…`, or the id in the catalogue")),
    responses((status = 200, description = "The definition", body = ref("#/components/schemas/tool_definition"))))]
pub(crate) async fn show(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<ToolDefinition>, ApiError> {
    let found = state.engine.tool_search().resolve_callable(&caller, &id)?;
    Ok(Json(ToolDefinition::from_tool(found.document())))
}

/// Delete a tool that was registered by its definition. Earlier versions of the package keep it.
#[utoipa::path(delete, path = "/v1/tools/{id}", tag = "tools", operation_id = "delete_tool",
    params(("id" = String, Path, description = "`tool-…`")),
    responses((status = 204, description = "Deleted"), (status = 400, description = "Other documents need it", body = ref("#/components/schemas/agent_error")), (status = 409, description = "The package `tools` was registered as a whole", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn delete(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    let id: ToolDefinitionId = parsed(&id)?;
    state
        .engine
        .tool_registrations()
        .remove(&caller, &id)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Call a tool once, as a plan of one step.
///
/// A call that has ended answers with its result, also if it failed or was denied. One that waits for a person, or
/// still works, answers 202 with its run. The same invocation sent again returns the state of that call; it is
/// recognized by its key, or without a key by its id.
#[utoipa::path(post, path = "/v1/tools/{id}/invoke", tag = "tools", operation_id = "invoke_tool",
    params(("id" = String, Path, description = "`tool-…`, or the id in the catalogue"), IdempotencyHeader), request_body = ref("#/components/schemas/tool_invocation"),
    responses((status = 200, description = "The result", body = ref("#/components/schemas/tool_result")), (status = 202, description = "The run, which waits for a person or still works", body = ref("#/components/schemas/run")), (status = 400, description = "The arguments are invalid; every violation is listed", body = ref("#/components/schemas/agent_error")), (status = 409, description = "The key or the id was used for another call", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn invoke(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    IdempotencyHeader { key }: IdempotencyHeader,
    Valid(invocation): Valid<ToolInvocation>,
) -> Result<Response, ApiError> {
    let patience = CALL_TIMEOUT.min(state.limits.timeout / 2);
    let outcome = state
        .engine
        .tool_invocations()
        .invoke(&caller, &id, &invocation, key.as_ref(), patience)
        .await?;
    Ok(match outcome {
        InvocationOutcome::Ended(result) => Json(*result).into_response(),
        InvocationOutcome::Unfinished(run) => (StatusCode::ACCEPTED, Json(*run)).into_response(),
    })
}
