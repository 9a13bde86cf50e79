//! The events of a tenant, as pages or streams.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::accept;
use crate::error::ApiError;
use crate::extract::{Authenticated, QueryParams};
use crate::json::Json;
use crate::state::AppState;
use crate::streams;

/// The header with which an event source resumes.
const LAST_EVENT_ID: &str = "last-event-id";

/// The names of journal events in streams: those that change the status of a run, or the state of a mission, and all
/// others.
pub(crate) const STATUS: &str = "status";
pub(crate) const STATE: &str = "state";
pub(crate) const JOURNAL: &str = "journal";

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventsQuery {
    /// Only events of this topic, e.g. `approval.requested`, or of the topics below it, e.g. `approval`.
    topic: Option<String>,
    /// Only events after the one with this id. If absent, a stream begins with new events, a page with the oldest event
    /// that is kept.
    after: Option<u64>,
}

/// Show the events of the caller's tenant, and changes of the global catalogue: a page, or a stream of new events with
/// `Accept: text/event-stream`.
///
/// Topics: `approval.requested`, `approval.escalated`, `approval.approved`, `approval.rejected`, `approval.reported`,
/// `approval.consumed`, `approval.lapsed`, `run.status`, `request.result`, `catalogue.changed`, `account.connected`,
/// `account.disconnected`, `route_example.accepted`, `route_example.rejected`, `route_example.withdrawn`,
/// `schedule.enabled`, `schedule.paused`, `schedule.resumed`, `schedule.deleted`, `schedule.ended`, `schedule.failed`,
/// `schedule.skipped`, `finding.new`, `finding.resolved`; for admins with the scope `admin:read` also `key.created`,
/// `key.rotated`, `key.revoked`. An event has the id of the changed object. An interrupted stream resumes with
/// `Last-Event-ID` or `after`.
#[utoipa::path(get, path = "/v1/events", tag = "events", operation_id = "list_events", params(EventsQuery),
    responses((status = 200, description = "A page, or the stream", body = ref("#/components/schemas/event_page"))))]
pub(crate) async fn events(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    headers: HeaderMap,
    QueryParams(asked): QueryParams<EventsQuery>,
) -> Result<Response, ApiError> {
    if !wants_stream(&headers) {
        let after = asked.after.unwrap_or_default();
        let page = state
            .engine
            .events()
            .list(&caller, after, asked.topic.as_deref())
            .await?;
        return Ok(Json(page).into_response());
    }
    let place = state.stream_place(&caller)?;
    let after = last_event(&headers).or(asked.after);
    let events = state.engine.events().follow(caller, after, asked.topic);
    let events = events.map(|event| {
        let data = serde_json::json!({"at": event.at, "data": event.data});
        let sent = Event::default().id(event.id.to_string());
        (sent.event(event.topic), data.to_string())
    });
    Ok(streams::sent(&state, &headers, place, events))
}

/// Whether a client requests a stream of events.
pub(super) fn wants_stream(headers: &HeaderMap) -> bool {
    accept::names(headers, "text/event-stream")
}

/// The event after which a client's event source resumes.
pub(super) fn last_event(headers: &HeaderMap) -> Option<u64> {
    let last = headers.get(LAST_EVENT_ID)?.to_str().ok()?;
    last.parse().ok()
}
