//! Limits of the server, for each caller and for all together.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use charter_engine::{Caller, Share};

/// The server's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest body, in bytes.
    pub body_bytes: usize,
    /// Timeout of a request that is not streamed.
    pub timeout: Duration,
    /// Concurrent requests, and streams; one more is refused with `overloaded`. Callers share them.
    pub concurrency: usize,
    /// Concurrent connections; one more closes the connection for whose client the server has waited longest.
    pub connections: usize,
    /// Timeout for the head of a request.
    pub head: Duration,
    /// Timeout for the body of a request; a large one has more.
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

/// The slot of a request, which handlers may release before they answer, and the memory of its document.
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
    pub(crate) fn new(caller: Caller, share: Share) -> Self {
        Self {
            caller: Arc::new(caller),
            held: Arc::new(Mutex::new(HeldSlot {
                place: Some(share),
                document: None,
            })),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HeldSlot> {
        // Every change is one step.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The caller that holds the slot.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Takes the place; `None` if it was released.
    pub(crate) fn take(&self) -> Option<Share> {
        self.lock().place.take()
    }

    /// Releases the slot before the handler waits.
    pub(crate) fn release(&self) {
        drop(self.take());
    }

    /// Keeps the memory of the request's document until the request is answered.
    pub(crate) fn keep_document(&self, document: Share) {
        self.lock().document = Some(document);
    }

    /// Releases that memory.
    pub(crate) fn release_document(&self) {
        let document = self.lock().document.take();
        drop(document);
    }
}

/// Whether a response is a stream of events.
pub(crate) fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}
