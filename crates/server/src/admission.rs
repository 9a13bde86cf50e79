//! The way of a request to its handler: its span, its caller and place, its time, its query parameters.

use std::time::Instant;

use axum::body::{Body, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use charter_contract::bounds::{ANONYMOUS_REQUESTS, LIGHT_ANSWER};
use charter_contract::error_code::ErrorCode;
use charter_engine::{Caller, EngineError, Share};
use tracing::Instrument;

use crate::auth::Identity;
use crate::console_session;
use crate::error::ApiError;
use crate::limits::{RequestSlot, is_stream};
use crate::protected_resource::ChallengeContext;
use crate::state::AppState;
use crate::telemetry::TracedRequest;
use crate::transfer::{HeldBody, TimedBody};

/// Counts a request and gives it a span.
pub(crate) async fn observe(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let traced = TracedRequest::from_request(&request);
    let span = traced.span();
    if let Some(join) = state.join_trace {
        join(&span, request.headers());
    }
    let started = Instant::now();
    let response = next.run(request).instrument(span.clone()).await;
    let (status, elapsed) = (response.status(), started.elapsed());
    state.metrics.observe(&traced.method, status, elapsed);
    traced.record_end(&span, status, elapsed);
    response
}

/// Finds the caller by the head of a request, and lets it in where it has a place. Nothing of the body has been read
/// by then.
pub(crate) async fn admit(
    State(state): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    let context = ChallengeContext::new(&request);
    let found = console_session::authenticate(&state, request.method(), request.headers()).await;
    let share = match &found {
        Ok(caller) => state.requests.take(caller).map(Some),
        Err(_) => Ok(None),
    };
    let share = match share {
        Ok(share) => share,
        Err(error) => return refuse(&state, error),
    };
    let caller = found.as_ref().ok().cloned();
    request.extensions_mut().insert(Identity::new(found));
    let response = match caller.zip(share) {
        Some((caller, share)) => {
            let place = RequestSlot::new(caller, share);
            answered_to_caller(&state, place, request, next).await
        }
        None => answered_to_anyone(&state, request, next).await,
    };
    context.challenge(&state, response)
}

/// The answer to a caller, which keeps its slot until the answer is sent.
async fn answered_to_caller(
    state: &AppState,
    place: RequestSlot,
    mut request: Request,
    next: Next,
) -> Response {
    request.extensions_mut().insert(place.clone());
    let response = answered(state, request, next).await;
    place.release_document();
    let bytes = response.body().size_hint().exact().unwrap_or_default();
    let response = match answer_memory(state, place.caller(), bytes).await {
        Ok(None) => response,
        Ok(Some(memory)) => response.map(|body| Body::new(HeldBody::new(body, memory))),
        Err(error) => refuse(state, error),
    };
    match place.take() {
        // A stream has a place of its own.
        Some(share) if !is_stream(&response) => {
            response.map(|body| Body::new(HeldBody::new(body, share)))
        }
        Some(_) | None => response,
    }
}

/// The memory of a large answer until its client has taken it.
async fn answer_memory(
    state: &AppState,
    caller: &Caller,
    bytes: u64,
) -> Result<Option<Share>, EngineError> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    if bytes <= LIGHT_ANSWER {
        return Ok(None);
    }
    let answers = &state.memory.answers;
    let share = answers.wait_for(caller, bytes, state.limits.body).await?;
    Ok(Some(share))
}

/// The answer where no credential counts: what needs none, or a refusal. Nothing is worked on for it.
async fn answered_to_anyone(state: &AppState, request: Request, next: Next) -> Response {
    let Ok(_place) = state.anonymous.try_acquire() else {
        state.metrics.refused("anonymous").inc();
        let message = format!(
            "too many requests without a credential: ANONYMOUS_REQUESTS = {ANONYMOUS_REQUESTS}; retry, or send a key"
        );
        let error = EngineError::new(ErrorCode::Overloaded, message);
        return refuse(state, error);
    };
    answered(state, request, next).await
}

/// The answer, in time. So is the body of the request.
async fn answered(state: &AppState, request: Request, next: Next) -> Response {
    let allowed = state.limits.body;
    let request = request.map(|body| Body::new(TimedBody::new(body, allowed)));
    match tokio::time::timeout(state.limits.timeout, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let message = format!(
                "no answer within {} s; the work continues",
                state.limits.timeout.as_secs()
            );
            let error = EngineError::new(ErrorCode::RequestTimeout, message);
            refuse(state, error)
        }
    }
}

/// A refusal with its body. The layer that writes the errors of handlers is further in, and the request keeps its place
/// until this response is sent.
fn refuse(state: &AppState, error: EngineError) -> Response {
    ApiError::from(error).into_http_response(&state.engine)
}

/// Refuses a request with a query parameter that its operation does not take. Pages and probes are none of the
/// operations.
pub(crate) async fn check_query(
    State(state): State<AppState>,
    matched: Option<MatchedPath>,
    method: Method,
    request: Request,
    next: Next,
) -> Response {
    let path = matched.as_ref().map_or("", MatchedPath::as_str);
    let checked = match state.operations.query(&method, path) {
        Some(names) => names.check(request.uri()),
        None => Ok(()),
    };
    match checked {
        Ok(()) => next.run(request).await,
        Err(error) => ApiError::from(error).into_response(),
    }
}
