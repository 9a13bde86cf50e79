//! Streams of events to clients: a bounded number at once, each for as long as the credential lets in that
//! opened it.

use std::convert::Infallible;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HOST};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use charter_contract::error_code::ErrorCode;
use charter_engine::{Caller, EngineError, Share};
use futures_util::{Stream, StreamExt};

use crate::state::AppState;

/// How often a stream's credential is looked at again.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A place among the streams that may be open at once.
pub(crate) struct StreamPlace {
    _held: Share,
}

impl AppState {
    /// A place for a stream to a caller.
    ///
    /// # Errors
    /// `overloaded` when as many are open as may be.
    pub(crate) fn stream_place(&self, caller: &Caller) -> Result<StreamPlace, EngineError> {
        let share = self.streams.take(caller)?;
        Ok(StreamPlace { _held: share })
    }
}

/// Sends events until there are no more, the client goes, or the credential of `headers` lets nobody in any
/// more.
pub(crate) fn sent(
    state: &AppState,
    headers: &HeaderMap,
    place: StreamPlace,
    events: impl Stream<Item = Event> + Send + 'static,
) -> Response {
    let ended = ended(state.clone(), credential(headers), place);
    let events = events.take_until(ended).map(Ok::<_, Infallible>);
    Sse::new(events)
        .keep_alive(KeepAlive::default())
        .into_response()
}

/// Resolves when the credential has ended. The place is given up with it.
pub(crate) async fn ended(state: AppState, credential: HeaderMap, _place: StreamPlace) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if has_ended(&state, &credential).await {
            return;
        }
    }
}

/// Whether a credential lets nobody in any more.
pub(crate) async fn has_ended(state: &AppState, credential: &HeaderMap) -> bool {
    match state.access.known(&state.engine, credential).await {
        Ok(_) => false,
        Err(error)
            if matches!(
                error.code,
                ErrorCode::Unauthenticated | ErrorCode::PermissionDenied
            ) =>
        {
            true
        }
        // A store or provider that does not answer says nothing about the credential.
        Err(error) => {
            tracing::debug!(error = %error, "a credential is not looked at");
            false
        }
    }
}

/// What of a request's head says who is calling.
pub(crate) fn credential(headers: &HeaderMap) -> HeaderMap {
    let named = [AUTHORIZATION, HOST].into_iter();
    let found = named.filter_map(|name| Some((name.clone(), headers.get(name)?.clone())));
    found.collect()
}
