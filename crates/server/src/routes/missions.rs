//! Missions: starting, cancelling, artifacts, journals, and bundles.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use charter_contract::ids::{MissionId, TaskId};
use charter_contract::mission::{ArtifactKind, MissionState};
use charter_contract::page::PageRequest;
use charter_engine::{
    Answerer, ArtifactFilter, ArtifactView, MissionArtifactPage, MissionDiff, MissionImported,
    MissionPage, MissionReplay, MissionStarted, MissionView,
};
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::events::{JOURNAL, STATE, last_event, wants_stream};
use super::evidence_log::JSON_LINES;
use crate::error::ApiError;
use crate::extract::{
    Authenticated, Bytes, IdempotencyHeader, JsonBody, MissionBody, Path, QueryParams, parsed,
};
use crate::json::Json;
use crate::state::AppState;
use crate::streams;

/// The default page size.
const PAGE: usize = 50;
/// The largest page.
const MAX_PAGE: usize = 1_000;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct StartQuery {
    /// The answerer for a `mission_envelope`, which has no field for it: `offline` or `routes`. A request has `model`.
    #[param(value_type = Option<String>)]
    model: Option<Answerer>,
}

/// Start a mission: `{"goal": "…", "mission_type": "…", "mission_id": "…", "model": "offline", …}`, or a
/// `mission_envelope`.
///
/// Risk and sensitivity may only be above those of the mission type. A tenant, an actor or a role must be the
/// credential's.
///
/// The same command with the same `mission_id` returns the mission that it started; another command is a conflict. A
/// command without an id may have an `Idempotency-Key` instead.
#[utoipa::path(post, path = "/v1/missions", tag = "missions", operation_id = "start_mission", params(StartQuery, IdempotencyHeader), request_body = ref("#/components/schemas/mission_start"),
    responses((status = 201, description = "The mission", body = ref("#/components/schemas/mission")), (status = 200, description = "The mission, which an equal request started before", body = ref("#/components/schemas/mission")), (status = 409, description = "The id belongs to another mission", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn start(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<StartQuery>,
    IdempotencyHeader { key }: IdempotencyHeader,
    MissionBody(mut order): MissionBody,
) -> Result<(StatusCode, Json<MissionView>), ApiError> {
    if let Some(key) = key {
        order.mission_id.get_or_insert_with(|| key.mission(&caller));
    }
    order.model = order.model.or(asked.model);
    let started = state.engine.missions().start(&caller, &order).await?;
    match started {
        MissionStarted::New(mission) => Ok((StatusCode::CREATED, Json(*mission))),
        MissionStarted::Repeat(mission) => Ok((StatusCode::OK, Json(*mission))),
    }
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Only missions in this state: `running`, `awaiting_approval`, `completed`, …
    #[param(value_type = Option<String>)]
    state: Option<MissionState>,
    /// The cursor: `next` of the previous page.
    after: Option<String>,
    /// Page size, up to 1000; 50 when absent.
    limit: Option<usize>,
}

/// List missions, newest first.
#[utoipa::path(get, path = "/v1/missions", tag = "missions", operation_id = "list_missions", params(ListQuery),
    responses((status = 200, description = "A page", body = ref("#/components/schemas/mission_page"))))]
pub(crate) async fn list(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<ListQuery>,
) -> Result<Json<MissionPage>, ApiError> {
    let page = PageRequest::new(asked.after, asked.limit.unwrap_or(PAGE));
    let found = state
        .engine
        .mission_views()
        .list(&caller, asked.state, &page)
        .await?;
    Ok(Json(found))
}

/// Show a mission: its state, its tasks, its reviewed output, and its proposals with their pending approvals.
#[utoipa::path(get, path = "/v1/missions/{id}", tag = "missions", operation_id = "get_mission",
    params(("id" = String, Path, description = "The mission")),
    responses((status = 200, description = "The mission", body = ref("#/components/schemas/mission"))))]
pub(crate) async fn show(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<MissionView>, ApiError> {
    let id: MissionId = parsed(&id)?;
    Ok(Json(state.engine.mission_views().show(&caller, &id).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ArtifactsQuery {
    /// Only artifacts of this kind: `worker_result`.
    #[param(value_type = Option<String>)]
    kind: Option<ArtifactKind>,
    /// Only artifacts of this task.
    task: Option<String>,
    /// The cursor: `next` of the previous page.
    after: Option<u64>,
    /// Page size, up to 1000; 50 when absent.
    limit: Option<usize>,
}

/// List a mission's artifacts in the order in which they were written.
#[utoipa::path(get, path = "/v1/missions/{id}/artifacts", tag = "missions", operation_id = "list_mission_artifacts",
    params(("id" = String, Path, description = "The mission"), ArtifactsQuery),
    responses((status = 200, description = "A page", body = ref("#/components/schemas/mission_artifact_page"))))]
pub(crate) async fn artifacts(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    QueryParams(asked): QueryParams<ArtifactsQuery>,
) -> Result<Json<MissionArtifactPage>, ApiError> {
    let id: MissionId = parsed(&id)?;
    let task: Option<TaskId> = asked.task.as_deref().map(parsed).transpose()?;
    let filter = ArtifactFilter {
        kind: asked.kind,
        task_id: task.as_ref(),
    };
    let (after, limit) = (asked.after.unwrap_or_default(), bounded(asked.limit));
    let found = state
        .engine
        .mission_views()
        .artifacts(&caller, &id, filter, after, limit)
        .await?;
    Ok(Json(found))
}

/// Show one artifact of a mission, in the current version of its contract.
#[utoipa::path(get, path = "/v1/missions/{id}/artifacts/{kind}/{artifact}", tag = "missions", operation_id = "get_mission_artifact",
    params(("id" = String, Path, description = "The mission"), ("kind" = String, Path, description = "`worker_result`, …"), ("artifact" = String, Path, description = "Its id; the mission's for the envelope and the task graph")),
    responses((status = 200, description = "The artifact with its place", body = ref("#/components/schemas/mission_artifact"))))]
pub(crate) async fn artifact(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path((id, kind, artifact)): Path<(String, String, String)>,
) -> Result<Json<ArtifactView>, ApiError> {
    let id: MissionId = parsed(&id)?;
    let kind: ArtifactKind = parsed(&kind)?;
    let found = state
        .engine
        .mission_views()
        .artifact(&caller, &id, kind, &artifact)
        .await?;
    Ok(Json(found))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct JournalQuery {
    /// Only events after the one with this number.
    pub(super) after: Option<u64>,
    /// Page size, up to 1000; 50 when absent. Not for a stream.
    pub(super) limit: Option<usize>,
}

/// Show a mission's journal: a page, or with `Accept: text/event-stream` a stream until the mission has ended.
///
/// Each event carries `mission_state`, the mission's state after it. In a stream, an event that changes the state is
/// named `state`, any other `journal`; its id is its number. To resume a stream, send `Last-Event-ID` or `after`.
#[utoipa::path(get, path = "/v1/missions/{id}/events", tag = "missions", operation_id = "list_mission_events",
    params(("id" = String, Path, description = "The mission"), JournalQuery),
    responses((status = 200, description = "A page, or the stream", body = ref("#/components/schemas/mission_event_page"))))]
pub(crate) async fn events(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    headers: HeaderMap,
    QueryParams(asked): QueryParams<JournalQuery>,
) -> Result<Response, ApiError> {
    let id: MissionId = parsed(&id)?;
    let after = asked.after.unwrap_or_default();
    if !wants_stream(&headers) {
        let limit = bounded(asked.limit);
        let page = state
            .engine
            .mission_views()
            .events(&caller, &id, after, limit)
            .await?;
        return Ok(Json(page).into_response());
    }
    let after = last_event(&headers).unwrap_or(after);
    let followed = state
        .engine
        .mission_views()
        .follow(&caller, &id, after)
        .await?;
    let events = followed.map(|event| {
        let name = if event.moved { STATE } else { JOURNAL };
        let sent = Event::default().id(event.entry.sequence.to_string());
        (sent.event(name), streams::data(&event))
    });
    let place = state.stream_place(&caller)?;
    Ok(streams::sent(&state, &headers, place, events))
}

/// The reason for a cancellation.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CancelBody {
    #[serde(default)]
    reason: Option<String>,
}

/// Cancel a mission; its artifacts remain: `{"reason": "…"}`.
#[utoipa::path(post, path = "/v1/missions/{id}/cancel", tag = "missions", operation_id = "cancel_mission",
    params(("id" = String, Path, description = "The mission")), request_body = ref("#/components/schemas/mission_cancellation"),
    responses((status = 200, description = "The mission", body = ref("#/components/schemas/mission")), (status = 409, description = "It has ended", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn cancel(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    JsonBody(stopping): JsonBody<CancelBody>,
) -> Result<Json<MissionView>, ApiError> {
    let id: MissionId = parsed(&id)?;
    let reason = stopping.reason;
    let reason = reason.unwrap_or_else(|| "no reason was given".to_owned());
    let stopped = state.engine.missions().cancel(&caller, &id, reason).await?;
    Ok(Json(stopped))
}

/// Replay a mission from its journal without a model or a tool, and show the differences from the stored results.
#[utoipa::path(post, path = "/v1/missions/{id}/replay", tag = "missions", operation_id = "replay_mission",
    params(("id" = String, Path, description = "The mission")),
    responses((status = 200, description = "The result of the replay", body = ref("#/components/schemas/mission_replay"))))]
pub(crate) async fn replay(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<MissionReplay>, ApiError> {
    let id: MissionId = parsed(&id)?;
    Ok(Json(
        state.engine.mission_views().replay(&caller, &id).await?,
    ))
}

/// Export a mission as one text that contains its own proof: its artifacts, its journal, and a manifest.
#[utoipa::path(get, path = "/v1/missions/{id}/bundle", tag = "missions", operation_id = "export_mission",
    params(("id" = String, Path, description = "The mission")),
    responses((status = 200, description = "The bundle as JSON lines; see docs/concepts/missions.md", body = String, content_type = "application/x-ndjson")))]
pub(crate) async fn bundle(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let id: MissionId = parsed(&id)?;
    let bundle = state.engine.mission_views().export(&caller, &id).await?;
    Ok(([(CONTENT_TYPE, JSON_LINES)], bundle.to_text()).into_response())
}

/// Import a mission that ended on another installation from its bundle, which is the body. It is read-only.
#[utoipa::path(post, path = "/v1/missions/import", tag = "missions", operation_id = "import_mission",
    request_body(content = String, content_type = "application/x-ndjson"),
    responses((status = 201, description = "The mission", body = ref("#/components/schemas/mission")), (status = 200, description = "The existing mission", body = ref("#/components/schemas/mission")), (status = 409, description = "Another mission has its id", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn import(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Bytes(bundle): Bytes,
) -> Result<(StatusCode, Json<MissionView>), ApiError> {
    let imported = state.engine.missions().import(&caller, bundle).await?;
    match imported {
        MissionImported::New(mission) => Ok((StatusCode::CREATED, Json(*mission))),
        MissionImported::Repeat(mission) => Ok((StatusCode::OK, Json(*mission))),
    }
}

/// The differences of two missions, apart from ids and times.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MissionDiff")]
pub(crate) struct MissionComparison {
    /// Whether there are no differences, regardless of durations.
    same: bool,
    /// The differences as text, for people.
    text: String,
    /// The differences of each part.
    differences: MissionDiff,
}

/// Compare two missions: goal, tasks, artifacts, outcome, and usage.
///
/// Ids and times are not compared. `text` describes the differences for people.
#[utoipa::path(get, path = "/v1/missions/{id}/diff/{other}", tag = "missions", operation_id = "diff_missions",
    params(("id" = String, Path, description = "The first mission"), ("other" = String, Path, description = "The second")),
    responses((status = 200, description = "`same`, `differences` and `text`", body = ref("#/components/schemas/mission_diff"))))]
pub(crate) async fn diff(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path((id, other)): Path<(String, String)>,
) -> Result<Json<MissionComparison>, ApiError> {
    let (id, other): (MissionId, MissionId) = (parsed(&id)?, parsed(&other)?);
    let found = state
        .engine
        .mission_views()
        .diff(&caller, &id, &other)
        .await?;
    Ok(Json(MissionComparison {
        same: found.is_same(),
        text: found.to_string(),
        differences: found,
    }))
}

pub(super) fn bounded(limit: Option<usize>) -> usize {
    limit.unwrap_or(PAGE).clamp(1, MAX_PAGE)
}
