//! Schedules and triggers, their occurrences and reports, and the webhooks that start triggers.

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use charter_contract::bounds::WEBHOOK_EVENT_BYTES;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::ScheduleId;
use charter_contract::page::PageRequest;
use charter_engine::{
    EngineError, NewSchedule, OccurrencePage, OccurrenceView, ScheduleOrder, SchedulePage,
    ScheduleView, WebhookEvent, WebhookReceipt,
};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{Authenticated, JsonBody, Path, QueryParams, parsed};
use crate::json::Json;
use crate::state::AppState;

/// The default page size.
const PAGE: usize = 50;

/// The media type of a report.
const MARKDOWN: &str = "text/markdown; charset=utf-8";

/// The answer to an enabled schedule, which may have a secret.
type EnabledResponse = (
    StatusCode,
    [(HeaderName, &'static str); 1],
    Json<NewSchedule>,
);

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// The cursor: `next` of the previous page.
    after: Option<String>,
    /// Page size, 1 to 1000; 50 when absent.
    limit: Option<usize>,
}

impl ListQuery {
    fn page(self) -> PageRequest {
        PageRequest::new(self.after, self.limit.unwrap_or(PAGE))
    }
}

/// Enable a schedule with the caller's access: `{"schedule_id": "security.nightly"}` for a registered one, or
/// `{"schedule": {…}}`. A schedule of the same id is replaced. The response of a webhook trigger contains its `secret`,
/// which is not shown again.
#[utoipa::path(post, path = "/v1/schedules", tag = "schedules", operation_id = "enable_schedule", request_body = ref("#/components/schemas/schedule_request"),
    responses((status = 201, description = "The schedule", body = ref("#/components/schemas/new_schedule"))))]
pub(crate) async fn enable(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    JsonBody(order): JsonBody<ScheduleOrder>,
) -> Result<EnabledResponse, ApiError> {
    let made = state.engine.schedules().enable(&caller, &order).await?;
    Ok((
        StatusCode::CREATED,
        [(CACHE_CONTROL, "no-store")],
        Json(made),
    ))
}

/// List the enabled schedules, latest first: the caller's own, and all of the tenant for operators.
#[utoipa::path(get, path = "/v1/schedules", tag = "schedules", operation_id = "list_schedules", params(ListQuery),
    responses((status = 200, description = "A page", body = ref("#/components/schemas/schedule_page"))))]
pub(crate) async fn list(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<ListQuery>,
) -> Result<Json<SchedulePage>, ApiError> {
    let found = state
        .engine
        .schedules()
        .list(&caller, &asked.page())
        .await?;
    Ok(Json(found))
}

/// Show an enabled schedule.
#[utoipa::path(get, path = "/v1/schedules/{id}", tag = "schedules", operation_id = "get_schedule",
    params(("id" = String, Path, description = "The schedule")),
    responses((status = 200, description = "The schedule", body = ref("#/components/schemas/enabled_schedule"))))]
pub(crate) async fn show(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<ScheduleView>, ApiError> {
    let id: ScheduleId = parsed(&id)?;
    Ok(Json(state.engine.schedules().show(&caller, &id).await?))
}

/// Delete an enabled schedule with its occurrences. Work that has started continues.
#[utoipa::path(delete, path = "/v1/schedules/{id}", tag = "schedules", operation_id = "delete_schedule",
    params(("id" = String, Path, description = "The schedule")),
    responses((status = 200, description = "The deleted schedule", body = ref("#/components/schemas/enabled_schedule"))))]
pub(crate) async fn remove(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<ScheduleView>, ApiError> {
    let id: ScheduleId = parsed(&id)?;
    Ok(Json(state.engine.schedules().delete(&caller, &id).await?))
}

/// Pause a schedule. Occurrences while it is paused are not recorded.
#[utoipa::path(post, path = "/v1/schedules/{id}/pause", tag = "schedules", operation_id = "pause_schedule",
    params(("id" = String, Path, description = "The schedule")),
    responses((status = 200, description = "The schedule", body = ref("#/components/schemas/enabled_schedule"))))]
pub(crate) async fn pause(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<ScheduleView>, ApiError> {
    let id: ScheduleId = parsed(&id)?;
    Ok(Json(state.engine.schedules().pause(&caller, &id).await?))
}

/// Resume a paused schedule. Its next occurrence is the next one from now on.
#[utoipa::path(post, path = "/v1/schedules/{id}/resume", tag = "schedules", operation_id = "resume_schedule",
    params(("id" = String, Path, description = "The schedule")),
    responses((status = 200, description = "The schedule", body = ref("#/components/schemas/enabled_schedule"))))]
pub(crate) async fn resume(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<ScheduleView>, ApiError> {
    let id: ScheduleId = parsed(&id)?;
    Ok(Json(state.engine.schedules().resume(&caller, &id).await?))
}

/// Start an occurrence of a schedule now, beside those by its time.
#[utoipa::path(post, path = "/v1/schedules/{id}/start", tag = "schedules", operation_id = "start_schedule",
    params(("id" = String, Path, description = "The schedule")),
    responses((status = 202, description = "The occurrence, which starts within seconds", body = ref("#/components/schemas/schedule_occurrence"))))]
pub(crate) async fn start(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<OccurrenceView>), ApiError> {
    let id: ScheduleId = parsed(&id)?;
    let started = state.engine.schedules().start_now(&caller, &id).await?;
    Ok((StatusCode::ACCEPTED, Json(started)))
}

/// List the occurrences of a schedule, latest first. Their reports have no items here.
#[utoipa::path(get, path = "/v1/schedules/{id}/occurrences", tag = "schedules", operation_id = "list_schedule_occurrences",
    params(("id" = String, Path, description = "The schedule"), ListQuery),
    responses((status = 200, description = "A page", body = ref("#/components/schemas/schedule_occurrence_page"))))]
pub(crate) async fn occurrences(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    QueryParams(asked): QueryParams<ListQuery>,
) -> Result<Json<OccurrencePage>, ApiError> {
    let id: ScheduleId = parsed(&id)?;
    let service = state.engine.schedules();
    Ok(Json(
        service.occurrences(&caller, &id, &asked.page()).await?,
    ))
}

/// Show an occurrence with its report, compared with the previous occurrence. `latest` is the latest one with a report.
#[utoipa::path(get, path = "/v1/schedules/{id}/occurrences/{occurrence}", tag = "schedules", operation_id = "get_schedule_occurrence",
    params(("id" = String, Path, description = "The schedule"), ("occurrence" = String, Path, description = "Its key, or `latest`")),
    responses((status = 200, description = "The occurrence", body = ref("#/components/schemas/schedule_occurrence"))))]
pub(crate) async fn occurrence(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path((id, key)): Path<(String, String)>,
) -> Result<Json<OccurrenceView>, ApiError> {
    let id: ScheduleId = parsed(&id)?;
    let service = state.engine.schedules();
    Ok(Json(service.occurrence(&caller, &id, &key).await?))
}

/// Show the report of an occurrence as Markdown. `latest` is the latest one with a report.
#[utoipa::path(get, path = "/v1/schedules/{id}/occurrences/{occurrence}/report", tag = "schedules", operation_id = "get_schedule_report",
    params(("id" = String, Path, description = "The schedule"), ("occurrence" = String, Path, description = "Its key, or `latest`")),
    responses((status = 200, description = "The report", body = String, content_type = "text/markdown")))]
pub(crate) async fn report(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path((id, key)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let id: ScheduleId = parsed(&id)?;
    let service = state.engine.schedules();
    let report = service.report(&caller, &id, &key).await?;
    Ok(([(CONTENT_TYPE, MARKDOWN)], report).into_response())
}

/// Receive a webhook that starts a trigger. It is signed as Standard Webhooks describe, with the headers `webhook-id`,
/// `webhook-timestamp` and `webhook-signature`; it needs no other credential. A repeat of its id starts nothing.
#[utoipa::path(post, path = "/v1/hooks/{hook}", tag = "schedules", operation_id = "receive_webhook",
    params(("hook" = String, Path, description = "`hook-…`, from the answer to the enabled trigger")),
    request_body = ref("#/components/schemas/json_object"),
    responses((status = 202, description = "Accepted, repeated or ignored", body = ref("#/components/schemas/webhook_receipt")), (status = 401, description = "The address is unknown, or the signature or the time is wrong", body = ref("#/components/schemas/agent_error")), (status = 429, description = "The trigger has too many unfinished occurrences", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn receive(
    State(state): State<AppState>,
    Path(hook): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Result<(StatusCode, Json<WebhookReceipt>), ApiError> {
    let text = |name: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default()
    };
    let body = to_bytes(request.into_body(), WEBHOOK_EVENT_BYTES).await;
    let body = body.map_err(|_| {
        let message = format!("the body of a webhook has at most {WEBHOOK_EVENT_BYTES} bytes");
        EngineError::new(ErrorCode::TooLarge, message)
    })?;
    let event = WebhookEvent {
        id: text("webhook-id"),
        timestamp: text("webhook-timestamp"),
        signature: text("webhook-signature"),
        body: &body,
    };
    let receipt = state.engine.schedules().receive(&hook, &event).await?;
    Ok((StatusCode::ACCEPTED, Json(receipt)))
}
