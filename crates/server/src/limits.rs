//! Bounds on what one caller, and all together, may ask of the server.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use charter_engine::{Caller, Share};

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
    pub(crate) fn new(caller: Caller, share: Share) -> Self {
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

    /// The place; nothing where it was given back.
    pub(crate) fn take(&self) -> Option<Share> {
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
    pub(crate) fn forget(&self) {
        let document = self.held().document.take();
        drop(document);
    }
}

/// Whether an answer is a stream of events.
pub(crate) fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}
