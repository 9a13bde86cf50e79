//! Streams of events to clients: a limited number, each open as long as the credential that opened it is valid.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE, HOST};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use charter_contract::bounds::LIGHT_ANSWER;
use charter_contract::error_code::ErrorCode;
use charter_engine::{Caller, EngineError, Share};
use futures_util::stream::unfold;
use futures_util::{Stream, StreamExt};
use serde::Serialize;

use crate::console_session;
use crate::json;
use crate::state::AppState;

/// How often a stream's credential is checked again.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A slot for an open stream.
pub(crate) struct StreamSlot {
    caller: Caller,
    _held: Share,
}

impl AppState {
    /// Takes a slot for a stream to a caller.
    ///
    /// # Errors
    /// `overloaded` when the limit of open streams is reached.
    pub(crate) fn stream_place(&self, caller: &Caller) -> Result<StreamSlot, EngineError> {
        let share = self.streams.take(caller)?;
        Ok(StreamSlot {
            caller: caller.clone(),
            _held: share,
        })
    }
}

/// Sends events, each with its data, until they end, the client leaves, or the credential in `headers` is no longer
/// valid.
pub(crate) fn sent(
    state: &AppState,
    headers: &HeaderMap,
    place: StreamSlot,
    events: impl Stream<Item = (Event, String)> + Send + 'static,
) -> Response {
    let events = HeldEvent {
        events: Box::pin(with_memory(state.clone(), place.caller.clone(), events)),
        memory: None,
    };
    let ended = wait_for_end(state.clone(), credential(headers), place);
    let events = events.take_until(ended).map(Ok::<_, Infallible>);
    Sse::new(events)
        .keep_alive(KeepAlive::default())
        .into_response()
}

/// The data of an event.
pub(crate) fn data(of: &impl Serialize) -> String {
    json::to_text(of).unwrap_or_else(|error| {
        tracing::error!(%error, "an event cannot be written");
        "null".to_owned()
    })
}

/// Adds memory to large events. If none is free for too long, the stream ends, and its client resumes after the last
/// event that it received.
fn with_memory(
    state: AppState,
    caller: Caller,
    events: impl Stream<Item = (Event, String)> + Send + 'static,
) -> impl Stream<Item = (Event, Option<Share>)> + Send + 'static {
    let events = Box::pin(events);
    unfold(
        (state, caller, events),
        |(state, caller, mut events)| async move {
            let (event, data) = events.next().await?;
            let memory = match data.len() {
                0..=LIGHT_ANSWER => None,
                bytes => {
                    let answers = &state.memory.answers;
                    let memory = answers.wait_for(&caller, bytes, state.limits.body).await;
                    Some(memory.inspect_err(log_refusal).ok()?)
                }
            };
            Some(((event.data(data), memory), (state, caller, events)))
        },
    )
}

fn log_refusal(error: &EngineError) {
    tracing::debug!(error = %error, "ending a stream: no memory for its next event");
}

/// Holds the memory of the last event until the next is polled: by then the client has received it.
struct HeldEvent<S> {
    events: Pin<Box<S>>,
    memory: Option<Share>,
}

impl<S: Stream<Item = (Event, Option<Share>)>> Stream for HeldEvent<S> {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let this = self.get_mut();
        this.memory = None;
        let next = ready!(this.events.as_mut().poll_next(context));
        Poll::Ready(next.map(|(event, memory)| {
            this.memory = memory;
            event
        }))
    }
}

/// Waits until the credential has ended, and holds the slot until then.
pub(crate) async fn wait_for_end(state: AppState, credential: HeaderMap, _place: StreamSlot) {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        if has_ended(&state, &credential).await {
            return;
        }
    }
}

/// Whether a credential is no longer valid.
pub(crate) async fn has_ended(state: &AppState, credential: &HeaderMap) -> bool {
    match console_session::authenticate_again(state, credential).await {
        Ok(_) => false,
        Err(error)
            if matches!(
                error.code,
                ErrorCode::Unauthenticated | ErrorCode::PermissionDenied
            ) =>
        {
            true
        }
        // A store or provider that does not answer is no evidence about the credential.
        Err(error) => {
            tracing::debug!(error = %error, "a credential could not be checked");
            false
        }
    }
}

/// The headers of a request that identify the caller.
pub(crate) fn credential(headers: &HeaderMap) -> HeaderMap {
    let named = [AUTHORIZATION, COOKIE, HOST].into_iter();
    let found = named.filter_map(|name| Some((name.clone(), headers.get(name)?.clone())));
    found.collect()
}
