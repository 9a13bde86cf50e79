//! Assignments: tasks of missions that outside agents carry out.

use axum::extract::State;
use axum::http::StatusCode;
use charter_contract::ids::{AssignmentId, LeaseId, MissionId};
use charter_contract::mission::AssignmentState;
use charter_contract::page::PageRequest;
use charter_engine::{AssignmentPage, AssignmentSubmission, AssignmentView};
use schemars::JsonSchema;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{Authenticated, JsonBody, Path, QueryParams, parsed};
use crate::json::Json;
use crate::state::AppState;

/// The default and the largest page size. Entries are large.
const PAGE: usize = 50;
const MAX_PAGE: usize = 100;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// All assignments of this mission, also claimed ones; the open ones of all missions when absent.
    mission: Option<String>,
    /// The cursor: `next` of the previous page.
    after: Option<String>,
    /// Page size, up to 100; 50 when absent.
    limit: Option<usize>,
}

/// List the tasks of missions that this credential's agent may claim, newest first.
///
/// A page may have fewer entries than its size and a cursor to the next page.
#[utoipa::path(get, path = "/v1/mission-assignments", tag = "missions", operation_id = "list_mission_assignments", params(ListQuery),
    responses((status = 200, description = "A page", body = ref("#/components/schemas/mission_assignment_page"))))]
pub(crate) async fn list(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<ListQuery>,
) -> Result<Json<AssignmentPage>, ApiError> {
    let mission: Option<MissionId> = asked.mission.as_deref().map(parsed).transpose()?;
    let limit = asked.limit.unwrap_or(PAGE).clamp(1, MAX_PAGE);
    let page = PageRequest::new(asked.after, limit);
    let found = state
        .engine
        .assignments()
        .list(&caller, mission.as_ref(), &page)
        .await?;
    Ok(Json(found))
}

/// Show an assignment. Its holder also gets the lease and the input of the present turn.
#[utoipa::path(get, path = "/v1/mission-assignments/{id}", tag = "missions", operation_id = "get_mission_assignment",
    params(("id" = String, Path, description = "`asg-…`")),
    responses((status = 200, description = "The assignment", body = ref("#/components/schemas/mission_assignment"))))]
pub(crate) async fn show(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<AssignmentView>, ApiError> {
    let id: AssignmentId = parsed(&id)?;
    Ok(Json(state.engine.assignments().get(&caller, &id).await?))
}

/// Claim an assignment. The answer has the lease, which ends with the pass, and the input: the prompt package, the pass
/// and the data.
#[utoipa::path(post, path = "/v1/mission-assignments/{id}/claim", tag = "missions", operation_id = "claim_mission_assignment",
    params(("id" = String, Path, description = "`asg-…`")),
    responses((status = 200, description = "The assignment, with `lease_id` and `brief`", body = ref("#/components/schemas/mission_assignment")), (status = 409, description = "It is claimed, ended or expired", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn claim(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<AssignmentView>, ApiError> {
    let id: AssignmentId = parsed(&id)?;
    Ok(Json(state.engine.assignments().claim(&caller, &id).await?))
}

/// Submit the result of a turn: `{"lease_id": "…", "artifacts": […]}`, or `{"lease_id": "…", "calls": […]}`.
///
/// The mission checks the result as that of a model. A refused result lists the reasons, and can be corrected under the
/// same lease. Charter makes requested calls under the pass, and then offers the next turn with their outcomes.
#[utoipa::path(post, path = "/v1/mission-assignments/{id}/submissions", tag = "missions", operation_id = "submit_mission_assignment",
    params(("id" = String, Path, description = "`asg-…`")), request_body = ref("#/components/schemas/assignment_submission"),
    responses((status = 200, description = "The mission accepted the result", body = ref("#/components/schemas/mission_assignment")), (status = 202, description = "The result is still being checked", body = ref("#/components/schemas/mission_assignment")), (status = 400, description = "The result breaks a contract, or the mission refuses it; the lease is still held", body = ref("#/components/schemas/agent_error")), (status = 409, description = "The lease is not held, or ended; nothing was recorded", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn submit(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    JsonBody(submission): JsonBody<AssignmentSubmission>,
) -> Result<(StatusCode, Json<AssignmentView>), ApiError> {
    let id: AssignmentId = parsed(&id)?;
    // The answer must be sent before the request's timeout.
    let longest = state.limits.timeout / 2;
    let shown = state
        .engine
        .assignments()
        .submit(&caller, &id, &submission, longest)
        .await?;
    let status = match shown.state {
        AssignmentState::Submitted => StatusCode::ACCEPTED,
        AssignmentState::Offered
        | AssignmentState::Claimed
        | AssignmentState::Accepted
        | AssignmentState::Closed => StatusCode::OK,
    };
    Ok((status, Json(shown)))
}

/// The lease that is given up.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReleaseBody {
    /// The lease.
    lease_id: LeaseId,
}

/// Release a claimed assignment, so that another agent can claim it: `{"lease_id": "…"}`.
#[utoipa::path(post, path = "/v1/mission-assignments/{id}/release", tag = "missions", operation_id = "release_mission_assignment",
    params(("id" = String, Path, description = "`asg-…`")), request_body = ref("#/components/schemas/assignment_release"),
    responses((status = 200, description = "The assignment", body = ref("#/components/schemas/mission_assignment")), (status = 409, description = "The lease is not held", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn release(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    JsonBody(held): JsonBody<ReleaseBody>,
) -> Result<Json<AssignmentView>, ApiError> {
    let id: AssignmentId = parsed(&id)?;
    let released = state
        .engine
        .assignments()
        .release(&caller, &id, &held.lease_id)
        .await?;
    Ok(Json(released))
}
