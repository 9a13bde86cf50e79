//! Runs: their journals, and commands to them.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use charter_contract::ids::RunId;
use charter_contract::page::PageRequest;
use charter_contract::run_status::RunOrigin;
use charter_engine::{Confirmation, Replayed, RunAt, RunPage, RunQuery, RunStarted, RunView};
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::IntoParams;

use super::events::{JOURNAL, STATUS, last_event, wants_stream};
use super::missions::{JournalQuery, bounded};
use crate::error::ApiError;
use crate::extract::{Authenticated, JsonBody, Path, QueryParams, parsed};
use crate::json::Json;
use crate::state::AppState;
use crate::streams;

/// The default page size.
const PAGE: usize = 50;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Only runs with this status, e.g. `awaiting_approval`; `open` for unfinished runs, `ended` for the others.
    status: Option<String>,
    /// Only runs of this origin.
    #[param(value_type = Option<String>)]
    origin: Option<RunOrigin>,
    /// Only runs whose titles contain this text, regardless of case.
    title: Option<String>,
    /// Only runs created at this time or later.
    created_from: Option<String>,
    /// Only runs created before this time.
    created_until: Option<String>,
    /// The cursor: `next` of the previous page.
    after: Option<String>,
    /// Page size, up to 1000; 50 when absent.
    limit: Option<usize>,
}

/// List runs, newest first, optionally by status, origin, text in the title, and time.
///
/// With `origin` or `title`, each page examines a limited number of runs: it may have fewer entries than its size, and
/// the next page starts at `next`.
#[utoipa::path(get, path = "/v1/runs", tag = "runs", operation_id = "list_runs", params(ListQuery),
    responses((status = 200, description = "A page", body = ref("#/components/schemas/run_page"))))]
pub(crate) async fn list(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<ListQuery>,
) -> Result<Json<RunPage>, ApiError> {
    let time = |text: Option<String>| text.map(|text| parsed(&text)).transpose();
    let query = RunQuery {
        status: asked.status,
        origin: asked.origin,
        title: asked.title,
        from: time(asked.created_from)?,
        until: time(asked.created_until)?,
    };
    let page = PageRequest::new(asked.after, asked.limit.unwrap_or(PAGE));
    Ok(Json(
        state.engine.run_views().list(&caller, query, &page).await?,
    ))
}

/// Show a run with its journal.
#[utoipa::path(get, path = "/v1/runs/{id}", tag = "runs", operation_id = "get_run",
    params(("id" = String, Path, description = "`run-…`")),
    responses((status = 200, description = "The run", body = ref("#/components/schemas/run"))))]
pub(crate) async fn show(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let id: RunId = parsed(&id)?;
    let (shown, _memory) = state
        .engine
        .run_views()
        .show_with_memory(&caller, &id)
        .await?;
    Ok(Json(shown).into_response())
}

/// Show a run's state after an event of its journal.
#[utoipa::path(get, path = "/v1/runs/{id}/at/{sequence}", tag = "runs", operation_id = "get_run_at",
    params(("id" = String, Path, description = "`run-…`"), ("sequence" = u64, Path, description = "The event's position, from 1")),
    responses((status = 200, description = "The run at that time", body = ref("#/components/schemas/run_at"))))]
pub(crate) async fn show_at(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path((id, sequence)): Path<(String, String)>,
) -> Result<Json<RunAt>, ApiError> {
    let id: RunId = parsed(&id)?;
    // A position that is not a number matches no event: first the run is looked up, so that a missing run is reported.
    let sequence = sequence.parse().unwrap_or_default();
    let shown = state
        .engine
        .run_views()
        .show_at(&caller, &id, sequence)
        .await?;
    Ok(Json(shown))
}

/// Show a run's journal: a page, or with `Accept: text/event-stream` a stream until the run has ended.
///
/// Each event carries `status`, the run's status after it. In a stream, an event that changes the status is named
/// `status`, any other `journal`; its id is its number. To resume a stream, send `Last-Event-ID` or `after`.
#[utoipa::path(get, path = "/v1/runs/{id}/events", tag = "runs", operation_id = "list_run_events",
    params(("id" = String, Path, description = "`run-…`"), JournalQuery),
    responses((status = 200, description = "A page, or the stream", body = ref("#/components/schemas/run_event_page"))))]
pub(crate) async fn events(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    headers: HeaderMap,
    QueryParams(asked): QueryParams<JournalQuery>,
) -> Result<Response, ApiError> {
    let id: RunId = parsed(&id)?;
    let after = asked.after.unwrap_or_default();
    if !wants_stream(&headers) {
        let limit = bounded(asked.limit);
        let page = state
            .engine
            .run_views()
            .events(&caller, &id, after, limit)
            .await?;
        return Ok(Json(page).into_response());
    }
    let after = last_event(&headers).unwrap_or(after);
    let followed = state.engine.run_views().follow(&caller, &id, after).await?;
    let events = followed.map(|event| {
        let name = if event.moved { STATUS } else { JOURNAL };
        let sent = Event::default().id(event.entry.sequence.to_string());
        (sent.event(name), streams::data(&event))
    });
    let place = state.stream_place(&caller)?;
    Ok(streams::sent(&state, &headers, place, events))
}

/// Replay a run's journal without any effect, and show any divergence.
#[utoipa::path(get, path = "/v1/runs/{id}/replay", tag = "runs", operation_id = "replay_run",
    params(("id" = String, Path, description = "`run-…`")),
    responses((status = 200, description = "The result of the replay", body = ref("#/components/schemas/run_replay"))))]
pub(crate) async fn replay(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<Replayed>, ApiError> {
    let id: RunId = parsed(&id)?;
    Ok(Json(state.engine.run_views().replay(&caller, &id).await?))
}

/// Values for a run's parameters.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ParametersBody {
    parameters: Map<String, Value>,
}

/// Set parameters of a run that has not started: `{"parameters": {…}}`.
#[utoipa::path(post, path = "/v1/runs/{id}/parameters", tag = "runs", operation_id = "set_run_parameters",
    params(("id" = String, Path, description = "`run-…`")), request_body = ref("#/components/schemas/run_parameters"),
    responses((status = 200, description = "The run", body = ref("#/components/schemas/run"))))]
pub(crate) async fn give(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    JsonBody(given): JsonBody<ParametersBody>,
) -> Result<Json<RunView>, ApiError> {
    let id: RunId = parsed(&id)?;
    let run = state
        .engine
        .run_management()
        .give_parameters(&caller, &id, &given.parameters)
        .await?;
    Ok(Json(run))
}

/// A person's confirmation of a plan.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfirmationBody {
    digest: String,
    #[serde(default)]
    typed: Option<String>,
}

/// Confirm the plan of a run: `{"digest": "sha256:…", "typed": "…"}`.
#[utoipa::path(post, path = "/v1/runs/{id}/confirm", tag = "runs", operation_id = "confirm_run",
    params(("id" = String, Path, description = "`run-…`")), request_body = ref("#/components/schemas/run_confirmation"),
    responses((status = 200, description = "The run, which starts", body = ref("#/components/schemas/run")), (status = 409, description = "The plan has changed, or the run has started", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn confirm(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    JsonBody(agreed): JsonBody<ConfirmationBody>,
) -> Result<Json<RunView>, ApiError> {
    let id: RunId = parsed(&id)?;
    let confirmation = Confirmation {
        digest: agreed.digest,
        typed: agreed.typed,
    };
    let run = state
        .engine
        .run_management()
        .confirm(&caller, &id, confirmation)
        .await?;
    Ok(Json(run))
}

/// Pause a run: no new step starts.
#[utoipa::path(post, path = "/v1/runs/{id}/pause", tag = "runs", operation_id = "pause_run",
    params(("id" = String, Path, description = "`run-…`")),
    responses((status = 200, description = "The run", body = ref("#/components/schemas/run"))))]
pub(crate) async fn pause(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<RunView>, ApiError> {
    let id: RunId = parsed(&id)?;
    Ok(Json(
        state.engine.run_management().pause(&caller, &id).await?,
    ))
}

/// Resume a paused run.
#[utoipa::path(post, path = "/v1/runs/{id}/resume", tag = "runs", operation_id = "resume_run",
    params(("id" = String, Path, description = "`run-…`")),
    responses((status = 200, description = "The run", body = ref("#/components/schemas/run"))))]
pub(crate) async fn resume(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<RunView>, ApiError> {
    let id: RunId = parsed(&id)?;
    Ok(Json(
        state.engine.run_management().resume(&caller, &id).await?,
    ))
}

/// The reason for an abort, and whether to roll back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AbortBody {
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    roll_back: bool,
}

/// Abort a run: `{"reason": "…", "roll_back": true}`.
#[utoipa::path(post, path = "/v1/runs/{id}/abort", tag = "runs", operation_id = "abort_run",
    params(("id" = String, Path, description = "`run-…`")), request_body = ref("#/components/schemas/run_abort"),
    responses((status = 200, description = "The run", body = ref("#/components/schemas/run"))))]
pub(crate) async fn abort(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    JsonBody(ending): JsonBody<AbortBody>,
) -> Result<Json<RunView>, ApiError> {
    let id: RunId = parsed(&id)?;
    let reason = ending
        .reason
        .unwrap_or_else(|| "no reason was given".to_owned());
    let run = state
        .engine
        .run_management()
        .abort(&caller, &id, reason, ending.roll_back.into())
        .await?;
    Ok(Json(run))
}

/// Roll back the writes of a run that has ended, in a new run.
#[utoipa::path(post, path = "/v1/runs/{id}/rollback", tag = "runs", operation_id = "rollback_run",
    params(("id" = String, Path, description = "`run-…`")),
    responses((status = 201, description = "The run that reverses", body = ref("#/components/schemas/run")), (status = 409, description = "It has not ended, or has nothing to reverse", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn roll_back(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<RunView>), ApiError> {
    let id: RunId = parsed(&id)?;
    let run = state
        .engine
        .run_management()
        .roll_back(&caller, &id)
        .await?;
    Ok((StatusCode::CREATED, Json(run)))
}

/// The response with a run that the command started now, or earlier.
pub(super) fn started(run: RunStarted) -> (StatusCode, Json<RunView>) {
    match run {
        RunStarted::New(run) => (StatusCode::CREATED, Json(*run)),
        RunStarted::Repeat(run) => (StatusCode::OK, Json(*run)),
    }
}
