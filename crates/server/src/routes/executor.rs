//! Calls of client tools for executors: leases, renewals, outcomes.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use charter_contract::executor::ExecutorOutcome;
use charter_contract::ids::LeaseId;
use charter_contract::package::PackageBundle;
use charter_engine::{LeaseRenewal, LeaseRequest};

use crate::error::ApiError;
use crate::extract::{Authenticated, JsonBody, Path, Valid, parsed};
use crate::json::Json;
use crate::limits::RequestSlot;
use crate::state::AppState;

/// Lease the next call of a client tool of the tenant: `{"executor": "NAME", "wait_ms": 20000}`.
#[utoipa::path(post, path = "/v1/executor/leases", tag = "executor", operation_id = "lease_executor_call", request_body = ref("#/components/schemas/lease_request"),
    responses((status = 200, description = "A call, leased for `lease_ms`; it starts with the first renewal", body = ref("#/components/schemas/executor_call")), (status = 204, description = "No call within the wait time")))]
pub(crate) async fn lease(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Extension(request): Extension<RequestSlot>,
    JsonBody(asked): JsonBody<LeaseRequest>,
) -> Result<Response, ApiError> {
    // An executor that waits for a call occupies no request slot.
    let _waiting = state.stream_place(&caller)?;
    request.release();
    // The answer must be sent before the request's timeout.
    let longest = state.limits.timeout / 2;
    match state
        .engine
        .executors()
        .lease(&caller, asked, longest)
        .await?
    {
        Some(call) => Ok(Json(call).into_response()),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

/// Renew the lease of a call. After a refusal, end the call: its result is no longer needed.
#[utoipa::path(post, path = "/v1/executor/leases/{id}/renew", tag = "executor", operation_id = "renew_executor_lease",
    params(("id" = String, Path, description = "`lease-…`")),
    responses((status = 200, description = "`lease_ms` from now on", body = ref("#/components/schemas/lease_renewal")), (status = 409, description = "The lease is not held", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn renew(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<LeaseRenewal>, ApiError> {
    let id: LeaseId = parsed(&id)?;
    Ok(Json(state.engine.executors().renew(&caller, &id)?))
}

/// Show the files that a leased script may open or import.
#[utoipa::path(get, path = "/v1/executor/leases/{id}/files", tag = "executor", operation_id = "list_executor_call_files",
    params(("id" = String, Path, description = "`lease-…`")),
    responses((status = 200, description = "Path to content", body = ref("#/components/schemas/package_bundle")), (status = 409, description = "The lease is not held", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn files(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<PackageBundle>, ApiError> {
    let id: LeaseId = parsed(&id)?;
    Ok(Json(state.engine.executors().files(&caller, &id)?))
}

/// Report the outcome of a leased call; its run continues, and the lease ends.
#[utoipa::path(post, path = "/v1/executor/leases/{id}/outcome", tag = "executor", operation_id = "report_executor_outcome",
    params(("id" = String, Path, description = "`lease-…`")), request_body = ref("#/components/schemas/executor_outcome"),
    responses((status = 204, description = "Taken"), (status = 409, description = "The lease is not held; nothing was recorded", body = ref("#/components/schemas/agent_error")), (status = 413, description = "The output is too large; the lease is still held", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn report(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    Valid(outcome): Valid<ExecutorOutcome>,
) -> Result<StatusCode, ApiError> {
    let id: LeaseId = parsed(&id)?;
    state
        .engine
        .executors()
        .report(&caller, &id, outcome)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
