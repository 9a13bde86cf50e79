//! Bounds on what one caller, and all together, may ask of the server.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::Response;
use charter_contract::bounds::{ANONYMOUS_REQUESTS, LIGHT_ANSWER};
use charter_contract::error_code::ErrorCode;
use charter_engine::{Caller, EngineError, Share};
use tracing::Instrument;

use crate::auth::Identity;
use crate::error::ApiError;
use crate::protected_resource::ChallengeContext;
use crate::state::AppState;
use crate::telemetry::TracedRequest;
use crate::transfer::{HeldBody, TimedBody};

/// The server's bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest body, in bytes.
    pub body_bytes: usize,
    /// Longest wait for an answer that is not streamed.
    pub timeout: Duration,
    /// Requests under way at once, and streams; one more is refused with `overloaded`. Callers share them.
    pub concurrency: usize,
    /// Connections at once; for one more, that of the client which is waited for longest is closed.
    pub connections: usize,
    /// Longest wait for the head of a request.
    pub head: Duration,
    /// Longest wait for the body of a request; a large one has more.
    pub body: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 16 << 20,
            timeout: Duration::from_secs(120),
            concurrency: 512,
            connections: 4_096,
            head: Duration::from_secs(10),
            body: Duration::from_secs(30),
        }
    }
}

/// The place of a request, for handlers that give it back before they answer, and the memory of what it sent.
#[derive(Clone)]
pub(crate) struct RequestSlot {
    caller: Arc<Caller>,
    held: Arc<Mutex<HeldSlot>>,
}

struct HeldSlot {
    place: Option<Share>,
    document: Option<Share>,
}

impl RequestSlot {
    fn new(caller: Caller, share: Share) -> Self {
        Self {
            caller: Arc::new(caller),
            held: Arc::new(Mutex::new(HeldSlot {
                place: Some(share),
                document: None,
            })),
        }
    }

    fn held(&self) -> MutexGuard<'_, HeldSlot> {
        // Every change is one step.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whose it is.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    fn take(&self) -> Option<Share> {
        self.held().place.take()
    }

    /// Gives the place back: what follows is waiting.
    pub(crate) fn give_back(&self) {
        drop(self.take());
    }

    /// Keeps the memory of what the request sent until it is answered.
    pub(crate) fn keep(&self, document: Share) {
        self.held().document = Some(document);
    }

    /// Gives that memory back.
    fn forget(&self) {
        let document = self.held().document.take();
        drop(document);
    }
}

/// Counts a request and gives it a span.
pub(crate) async fn observe(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let told = TracedRequest::of(&request);
    let span = told.span();
    if let Some(join) = state.join_trace {
        join(&span, request.headers());
    }
    let started = Instant::now();
    let response = next.run(request).instrument(span.clone()).await;
    let (status, elapsed) = (response.status(), started.elapsed());
    state.metrics.observe(&told.method, status, elapsed);
    told.ended(&span, status, elapsed);
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
    let found = state.access.known(&state.engine, request.headers()).await;
    let share = match &found {
        Ok(caller) => state.requests.take(caller).map(Some),
        Err(_) => Ok(None),
    };
    let share = match share {
        Ok(share) => share,
        Err(error) => return refused(&state, error),
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

/// The answer to a caller, who has its place until the answer is sent.
async fn answered_to_caller(
    state: &AppState,
    place: RequestSlot,
    mut request: Request,
    next: Next,
) -> Response {
    request.extensions_mut().insert(place.clone());
    let response = answered(state, request, next).await;
    place.forget();
    let bytes = response.body().size_hint().exact().unwrap_or_default();
    let response = match answer_memory(state, place.caller(), bytes).await {
        Ok(None) => response,
        Ok(Some(memory)) => response.map(|body| Body::new(HeldBody::new(body, memory))),
        Err(error) => refused(state, error),
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
            "too many requests without a credential: ANONYMOUS_REQUESTS = {ANONYMOUS_REQUESTS}; try again, or send a key"
        );
        let error = EngineError::new(ErrorCode::Overloaded, message);
        return refused(state, error);
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
                "no answer within {} s; the work goes on",
                state.limits.timeout.as_secs()
            );
            let error = EngineError::new(ErrorCode::RequestTimeout, message);
            refused(state, error)
        }
    }
}

/// A refusal with its body. The layer that writes the errors of handlers is further in, and the request keeps its place
/// until this response is sent.
fn refused(state: &AppState, error: EngineError) -> Response {
    ApiError::from(error).written(&state.engine)
}

/// Whether an answer is a stream of events.
pub(crate) fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}
