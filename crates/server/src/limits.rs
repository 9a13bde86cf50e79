//! Bounds on what one client, and all together, may ask of the server.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use charter_contract::error_code::ErrorCode;
use charter_engine::EngineError;
use tracing::Instrument;

use crate::error::ApiError;
use crate::state::AppState;
use crate::telemetry::Told;

/// The server's bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest body, in bytes.
    pub body_bytes: usize,
    /// Longest wait for an answer that is not streamed.
    pub timeout: Duration,
    /// Requests under way at once; one more is refused with `overloaded`.
    pub concurrency: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 16 << 20,
            timeout: Duration::from_secs(120),
            concurrency: 256,
        }
    }
}

/// Refuses what is over the bounds, and counts everything.
pub(crate) async fn enforce(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let told = Told::of(&request);
    let span = told.span();
    if let Some(join) = state.join_trace {
        join(&span, request.headers());
    }
    let started = std::time::Instant::now();
    let answering = bounded(&state, request, next).instrument(span.clone());
    let response = answering.await;
    let (status, elapsed) = (response.status(), started.elapsed());
    state.metrics.observe(&told.method, status, elapsed);
    told.ended(&span, status, elapsed);
    response
}

async fn bounded(state: &AppState, request: Request, next: Next) -> Response {
    let Ok(_place) = state.places.try_acquire() else {
        let error = EngineError::new(ErrorCode::Overloaded, "too many requests are under way");
        return ApiError::new(state, error).into_response();
    };
    match tokio::time::timeout(state.limits.timeout, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let message = format!(
                "no answer within {} s; the work goes on",
                state.limits.timeout.as_secs()
            );
            let error = EngineError::new(ErrorCode::RequestTimeout, message);
            ApiError::new(state, error).into_response()
        }
    }
}
