//! Streams of events to clients: a bounded number at once, each for as long as the credential lets in that
//! opened it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HOST};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use charter_contract::error_code::ErrorCode;
use charter_engine::EngineError;
use futures_util::{Stream, StreamExt};
use tokio::sync::OwnedSemaphorePermit;

use crate::state::AppState;

/// How often a stream's credential is looked at again.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A place among the streams that may be open at once.
pub(crate) struct StreamPlace {
    _held: OwnedSemaphorePermit,
}

impl AppState {
    /// A place for a stream.
    ///
    /// # Errors
    /// `overloaded` when as many are open as may be.
    pub(crate) fn stream_place(&self) -> Result<StreamPlace, EngineError> {
        let place = Arc::clone(&self.streams).try_acquire_owned();
        place
            .map(|held| StreamPlace { _held: held })
            .map_err(|_| EngineError::new(ErrorCode::Overloaded, "too many streams are open"))
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
async fn ended(state: AppState, credential: HeaderMap, _place: StreamPlace) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        match state.access.known(&state.engine, &credential).await {
            // A store or provider that does not answer says nothing about the credential.
            Ok(_) => {}
            Err(error) if error.code == ErrorCode::Unauthenticated => return,
            Err(error) if error.code == ErrorCode::PermissionDenied => return,
            Err(error) => tracing::debug!(error = %error, "a stream's credential is not looked at"),
        }
    }
}

/// What of a request's head says who is calling.
fn credential(headers: &HeaderMap) -> HeaderMap {
    let named = [AUTHORIZATION, HOST].into_iter();
    let found = named.filter_map(|name| Some((name.clone(), headers.get(name)?.clone())));
    found.collect()
}
