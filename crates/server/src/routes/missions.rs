//! Missions: beginning and stopping them, what they produced, how they went, and their bundles.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use charter_contract::ids::{MissionId, TaskId};
use charter_contract::mission::{ArtifactKind, MissionState};
use charter_contract::page::PageRequest;
use charter_engine::{
    ArtifactFilter, ArtifactView, MissionArtifactPage, MissionDiff, MissionImported, MissionOrder,
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
    Authenticated, Bytes, IdempotencyHeader, JsonBody, Path, QueryParams, parsed,
};
use crate::json::Json;
use crate::state::AppState;
use crate::streams;

/// Entries of a page when nothing else is asked for.
const PAGE: usize = 50;
/// Most entries of a page.
const MAX_PAGE: usize = 1_000;

/// Begin a mission: `{"goal": "…", "mission_type": "…", "mission_id": "…", "model": "offline", …}`.
///
/// The same order with the same `mission_id` finds the mission that it began; another order is a
/// conflict. An order without one may have an `Idempotency-Key` instead.
#[utoipa::path(post, path = "/v1/missions", tag = "missions", operation_id = "start_mission", params(IdempotencyHeader), request_body = ref("#/components/schemas/mission_request"),
    responses((status = 201, description = "The mission", body = ref("#/components/schemas/mission")), (status = 200, description = "The mission, which an equal order began before", body = ref("#/components/schemas/mission")), (status = 409, description = "The id is another mission's", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn start(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    IdempotencyHeader { key }: IdempotencyHeader,
    JsonBody(mut order): JsonBody<MissionOrder>,
) -> Result<(StatusCode, Json<MissionView>), ApiError> {
    if let Some(key) = key {
        order.mission_id.get_or_insert_with(|| key.mission(&caller));
    }
    let started = state.engine.start_mission(&caller, &order).await?;
    match started {
        MissionStarted::New(mission) => Ok((StatusCode::CREATED, Json(*mission))),
        MissionStarted::Repeat(mission) => Ok((StatusCode::OK, Json(*mission))),
    }
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Only those that stand there: `running`, `awaiting_approval`, `completed`, …
    #[param(value_type = Option<String>)]
    state: Option<MissionState>,
    /// Where the page starts: `next` of the page before.
    after: Option<String>,
    /// At most so many, up to 1000; 50 when absent.
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
    let found = state.engine.missions(&caller, asked.state, &page).await?;
    Ok(Json(found))
}

/// Show a mission: where it stands, its tasks, its reviewed output, its proposals with the approvals
/// that they wait for.
#[utoipa::path(get, path = "/v1/missions/{id}", tag = "missions", operation_id = "get_mission",
    params(("id" = String, Path, description = "The mission")),
    responses((status = 200, description = "The mission", body = ref("#/components/schemas/mission"))))]
pub(crate) async fn show(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<MissionView>, ApiError> {
    let id: MissionId = parsed(&id)?;
    Ok(Json(state.engine.show_mission(&caller, &id).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ArtifactsQuery {
    /// Only of this kind: `worker_result`.
    #[param(value_type = Option<String>)]
    kind: Option<ArtifactKind>,
    /// Only those made for this task.
    task: Option<String>,
    /// Only those after this place: `next` of the page before.
    after: Option<u64>,
    /// At most so many, up to 1000; 50 when absent.
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
        .mission_artifacts(&caller, &id, filter, after, limit)
        .await?;
    Ok(Json(found))
}

/// Show one artifact of a mission, in the present form of its contract.
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
        .mission_artifact(&caller, &id, kind, &artifact)
        .await?;
    Ok(Json(found))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct JournalQuery {
    /// Only after the event of this number.
    pub(super) after: Option<u64>,
    /// At most so many, up to 1000; 50 when absent. Not for a stream.
    pub(super) limit: Option<usize>,
}

/// A mission's journal: a page of it, or with `Accept: text/event-stream` as it is written, until the
/// mission is over.
///
/// Each event carries `mission_state`, where the mission stands after it. In a stream an event by which
/// the mission comes to another state is called `state`, any other `journal`; its id is its number. A
/// stream that broke off is taken up with `Last-Event-ID` or `after`.
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
            .mission_events(&caller, &id, after, limit)
            .await?;
        return Ok(Json(page).into_response());
    }
    let after = last_event(&headers).unwrap_or(after);
    let followed = state.engine.follow_mission(&caller, &id, after).await?;
    let events = followed.map(|event| {
        let name = if event.moved { STATE } else { JOURNAL };
        let sent = Event::default().id(event.entry.sequence.to_string());
        (sent.event(name), streams::data(&event))
    });
    let place = state.stream_place(&caller)?;
    Ok(streams::sent(&state, &headers, place, events))
}

/// Why a mission is stopped.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CancelBody {
    #[serde(default)]
    reason: Option<String>,
}

/// Stop a mission; what it produced stays: `{"reason": "…"}`.
#[utoipa::path(post, path = "/v1/missions/{id}/cancel", tag = "missions", operation_id = "cancel_mission",
    params(("id" = String, Path, description = "The mission")), request_body = ref("#/components/schemas/mission_cancellation"),
    responses((status = 200, description = "The mission", body = ref("#/components/schemas/mission")), (status = 409, description = "It is over", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn cancel(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    JsonBody(stopping): JsonBody<CancelBody>,
) -> Result<Json<MissionView>, ApiError> {
    let id: MissionId = parsed(&id)?;
    let reason = stopping.reason;
    let reason = reason.unwrap_or_else(|| "no reason was given".to_owned());
    let stopped = state.engine.cancel_mission(&caller, &id, reason).await?;
    Ok(Json(stopped))
}

/// Replay a mission from its journal without a model or a tool, and say where it comes out otherwise
/// than it is stored, if it does.
#[utoipa::path(post, path = "/v1/missions/{id}/replay", tag = "missions", operation_id = "replay_mission",
    params(("id" = String, Path, description = "The mission")),
    responses((status = 200, description = "What was found", body = ref("#/components/schemas/mission_replay"))))]
pub(crate) async fn replay(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<MissionReplay>, ApiError> {
    let id: MissionId = parsed(&id)?;
    Ok(Json(state.engine.replay_mission(&caller, &id).await?))
}

/// Export a mission as one text that proves itself: its artifacts, its journal, and a manifest.
#[utoipa::path(get, path = "/v1/missions/{id}/bundle", tag = "missions", operation_id = "export_mission",
    params(("id" = String, Path, description = "The mission")),
    responses((status = 200, description = "The bundle as JSON lines; see docs/concepts/missions.md", body = String, content_type = "application/x-ndjson")))]
pub(crate) async fn bundle(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let id: MissionId = parsed(&id)?;
    let bundle = state.engine.mission_bundle(&caller, &id).await?;
    Ok(([(CONTENT_TYPE, JSON_LINES)], bundle.to_text()).into_response())
}

/// Import a mission that has ended elsewhere from its bundle, which is the body. It is read only.
#[utoipa::path(post, path = "/v1/missions/import", tag = "missions", operation_id = "import_mission",
    request_body(content = String, content_type = "application/x-ndjson"),
    responses((status = 201, description = "The mission", body = ref("#/components/schemas/mission")), (status = 200, description = "The mission, which was there before", body = ref("#/components/schemas/mission")), (status = 409, description = "There is another mission of its id", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn import(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Bytes(bundle): Bytes,
) -> Result<(StatusCode, Json<MissionView>), ApiError> {
    let imported = state.engine.import_mission(&caller, bundle).await?;
    match imported {
        MissionImported::New(mission) => Ok((StatusCode::CREATED, Json(*mission))),
        MissionImported::Repeat(mission) => Ok((StatusCode::OK, Json(*mission))),
    }
}

/// What two missions differ in, ids and times apart.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MissionDiff")]
pub(crate) struct MissionComparison {
    /// Whether both do and say the same, however long it took.
    same: bool,
    /// For people.
    text: String,
    /// Part by part.
    differences: MissionDiff,
}

/// Say what two missions differ in: goal, tasks, artifacts, outcome, and what they used.
///
/// Ids and times are not compared. `text` says the same for people.
#[utoipa::path(get, path = "/v1/missions/{id}/diff/{other}", tag = "missions", operation_id = "diff_missions",
    params(("id" = String, Path, description = "The first mission"), ("other" = String, Path, description = "The second")),
    responses((status = 200, description = "`same`, `differences` and `text`", body = ref("#/components/schemas/mission_diff"))))]
pub(crate) async fn diff(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path((id, other)): Path<(String, String)>,
) -> Result<Json<MissionComparison>, ApiError> {
    let (id, other): (MissionId, MissionId) = (parsed(&id)?, parsed(&other)?);
    let found = state.engine.diff_missions(&caller, &id, &other).await?;
    Ok(Json(MissionComparison {
        same: found.is_same(),
        text: found.to_string(),
        differences: found,
    }))
}

pub(super) fn bounded(limit: Option<usize>) -> usize {
    limit.unwrap_or(PAGE).clamp(1, MAX_PAGE)
}
