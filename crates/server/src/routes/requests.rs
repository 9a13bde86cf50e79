//! Requests and their answers.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use charter_contract::agentic::request::AgentRequest;
use charter_contract::agentic::response::AgentResponse;
use charter_contract::ids::{DocumentId, RequestId};
use charter_contract::page::PageRequest;
use charter_engine::{EngineError, Progress, RequestConfirmationResult, RequestEvent, RequestPage};
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_stream::wrappers::ReceiverStream;
use utoipa::IntoParams;

use super::events::wants_stream;
use crate::error::{ApiError, log};
use crate::extract::{Authenticated, JsonBody, Path, QueryParams, Valid, parsed};
use crate::json::Json;
use crate::state::AppState;
use crate::streams;

/// The default page size.
const PAGE: usize = 50;
/// The largest page: each entry is read with its answer.
const MAX_PAGE: usize = 200;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// The cursor: `next` of the previous page.
    after: Option<String>,
    /// Page size, up to 200; 50 when absent.
    limit: Option<usize>,
}

/// List requests, newest first: who sent them, and what came of each. Operators see those of the tenant, users their
/// own.
#[utoipa::path(get, path = "/v1/requests", tag = "requests", operation_id = "list_requests", params(ListQuery),
    responses((status = 200, description = "A page", body = ref("#/components/schemas/request_page"))))]
pub(crate) async fn list(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<ListQuery>,
) -> Result<Json<RequestPage>, ApiError> {
    let limit = asked.limit.unwrap_or(PAGE).min(MAX_PAGE);
    let page = PageRequest::new(asked.after, limit);
    Ok(Json(
        state.engine.request_views().list(&caller, &page).await?,
    ))
}

/// Send a request.
///
/// With `Accept: text/event-stream` the answer is a stream of events: any number of `progress`, then one `response` (an
/// AgentResponse) or `error` (an AgentError). The same request sent again returns the recorded answer; or the result of
/// its change, after that has ended.
#[utoipa::path(post, path = "/v1/requests", tag = "requests", operation_id = "create_request",
    request_body = ref("#/components/schemas/agent_request"),
    responses(
        (status = 200, description = "The answer", body = ref("#/components/schemas/agent_response")),
        (status = "4XX", description = "The error", body = ref("#/components/schemas/agent_error")),
    ))]
pub(crate) async fn ask(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    headers: HeaderMap,
    Valid(request): Valid<AgentRequest>,
) -> Result<Response, ApiError> {
    let id = request.id.clone();
    if wants_stream(&headers) {
        let place = state.stream_place(&caller);
        let place = place.map_err(|error| ApiError::of_request(id.clone(), error))?;
        let answering = state.clone();
        let (progress, events) = Progress::channel();
        let events = ReceiverStream::new(events).map(|event| ("progress", event.to_value()));
        let last = async move {
            let answer = answering
                .engine
                .requests()
                .handle_request(&caller, request, progress)
                .await;
            closing_event(&answering, &id, answer)
        };
        // The progress channel closes when the answer is ready, so the answer comes last.
        let (answer, said) = tokio::sync::oneshot::channel();
        tokio::spawn(async move {
            if answer.send(last.await).is_err() {
                tracing::debug!("the client disconnected before its answer");
            }
        });
        let stream = events.chain(futures_util::stream::once(async move {
            said.await.unwrap_or(("error", Value::Null))
        }));
        let stream = stream.map(|(name, data)| (Event::default().event(name), data.to_string()));
        return Ok(streams::sent(&state, &headers, place, stream));
    }
    let answer = state
        .engine
        .requests()
        .handle_request(&caller, request, Progress::silent())
        .await;
    answer
        .map(|response| Json(response).into_response())
        .map_err(|error| ApiError::of_request(id, error))
}

fn closing_event(
    state: &AppState,
    id: &RequestId,
    answer: Result<AgentResponse, EngineError>,
) -> (&'static str, Value) {
    match answer {
        Ok(response) => (
            "response",
            serde_json::to_value(response).unwrap_or_default(),
        ),
        Err(error) => {
            log(&error, id);
            let error = state.engine.responses().agent_error(id, &error);
            ("error", serde_json::to_value(error).unwrap_or_default())
        }
    }
}

/// Show a request: its text, its route, its answer if there is one, and the result of a change that has ended.
///
/// With `Accept: text/event-stream` the answer and the result are events, sent when they are ready: one `response` (an
/// AgentResponse) or `error` (an AgentError), and for a request that changes something one `result` (an AgentResponse
/// with its own id).
#[utoipa::path(get, path = "/v1/requests/{id}", tag = "requests", operation_id = "get_request",
    params(("id" = String, Path, description = "The request's id")),
    responses((status = 200, description = "The request", body = ref("#/components/schemas/request"))))]
pub(crate) async fn show(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let id: RequestId = parsed(&id)?;
    if !wants_stream(&headers) {
        let shown = state.engine.request_views().request(&caller, &id).await?;
        return Ok(Json(shown).into_response());
    }
    let place = state.stream_place(&caller)?;
    let followed = state
        .engine
        .request_views()
        .follow_request(&caller, &id)
        .await?;
    let events = followed.map(|event| {
        let (name, data) = match event {
            RequestEvent::Response(answer) => ("response", answer),
            RequestEvent::Error(error) => ("error", error),
            RequestEvent::Result(result) => ("result", result),
        };
        (Event::default().event(name), data.to_string())
    });
    Ok(streams::sent(&state, &headers, place, events))
}

/// The confirmed document.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfirmedDocument {
    /// The skill or playbook with the right answer; required if several answered.
    #[serde(default)]
    document: Option<DocumentId>,
}

/// Confirm an answer: `{}`, or `{"document": "…"}` if several skills answered.
///
/// The redacted sentence is suggested as an example of that skill or playbook. An owner of the tenant's catalogue accepts
/// or rejects it.
#[utoipa::path(post, path = "/v1/requests/{id}/confirm", tag = "requests", operation_id = "confirm_request",
    params(("id" = String, Path, description = "The request's id")), request_body = ref("#/components/schemas/request_confirmation"),
    responses((status = 200, description = "The suggested example, or the reason why there is none", body = ref("#/components/schemas/request_confirmation_result")), (status = 409, description = "No skill or playbook answered the request", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn confirm(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    JsonBody(confirmed): JsonBody<ConfirmedDocument>,
) -> Result<Json<RequestConfirmationResult>, ApiError> {
    let id: RequestId = parsed(&id)?;
    let document = confirmed.document.as_ref();
    let confirmed = state
        .engine
        .route_confirmations()
        .confirm_request(&caller, &id, document)
        .await?;
    Ok(Json(confirmed))
}
