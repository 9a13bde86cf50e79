//! The phase of one connection, and since when the server waits for its client.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use charter_contract::bounds::{ANSWER_PAUSE_MS, CONNECTION_IDLE_MS};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// How long a connection may be idle between two requests.
const IDLE: Duration = Duration::from_millis(CONNECTION_IDLE_MS as u64);

/// How long a client may receive nothing of an answer.
const ANSWER_PAUSE: Duration = Duration::from_millis(ANSWER_PAUSE_MS as u64);

/// The phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The head of a request is arriving; also when the connection opens.
    Head(Instant),
    /// Idle since the last answer.
    Idle(Instant),
    /// A request is being answered.
    Serving,
}

/// The phase of a connection, and since when its client has accepted no bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    phase: Phase,
    blocked: Option<Instant>,
}

impl State {
    /// Records bytes from the client.
    fn read(&mut self, now: Instant) {
        if let Phase::Idle(_) = self.phase {
            self.phase = Phase::Head(now);
        }
    }

    /// Records bytes to the client. While it still receives a complete answer, the connection is not idle.
    fn record_write(&mut self, now: Instant) {
        self.blocked = None;
        match &mut self.phase {
            Phase::Head(since) | Phase::Idle(since) => *since = now,
            Phase::Serving => {}
        }
    }

    /// Records that the client accepts no more bytes at the moment.
    fn is_blocked(&mut self, now: Instant) {
        self.blocked.get_or_insert(now);
    }

    /// Since when the server waits for the client; `None` while it works on a request.
    fn waits_since(&self) -> Option<Instant> {
        match (self.blocked, self.phase) {
            (Some(since), _) => Some(since),
            (None, Phase::Head(since) | Phase::Idle(since)) => Some(since),
            (None, Phase::Serving) => None,
        }
    }

    /// Whether the client has timed out; `head` is the timeout for the head of a request.
    fn is_overdue(&self, head: Duration, now: Instant) -> bool {
        let (since, allowed) = match (self.blocked, self.phase) {
            (Some(since), _) => (since, ANSWER_PAUSE),
            (None, Phase::Head(since)) => (since, head),
            (None, Phase::Idle(since)) => (since, IDLE),
            (None, Phase::Serving) => return false,
        };
        now.saturating_duration_since(since) >= allowed
    }
}

/// The pace of a connection, shared by its server task and the count of connections.
#[derive(Debug)]
pub(super) struct Pace(Mutex<State>);

impl Pace {
    /// The pace of a new connection.
    pub(super) fn new(now: Instant) -> Self {
        Self(Mutex::new(State {
            phase: Phase::Head(now),
            blocked: None,
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is one assignment.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn waits_since(&self) -> Option<Instant> {
        self.state().waits_since()
    }

    pub(super) fn is_overdue(&self, head: Duration, now: Instant) -> bool {
        self.state().is_overdue(head, now)
    }

    /// Records a request, which is being answered until the result is dropped.
    pub(super) fn serving(self: &Arc<Self>) -> ServingGuard {
        self.state().phase = Phase::Serving;
        ServingGuard(Arc::clone(self))
    }
}

/// A request that is being answered.
pub(super) struct ServingGuard(Arc<Pace>);

impl Drop for ServingGuard {
    fn drop(&mut self) {
        self.0.state().phase = Phase::Idle(Instant::now());
    }
}

/// A stream that updates its connection's pace.
pub(super) struct PacedStream<S> {
    stream: S,
    pace: Arc<Pace>,
}

impl<S> PacedStream<S> {
    pub(super) fn new(stream: S, pace: Arc<Pace>) -> Self {
        Self { stream, pace }
    }

    fn record_poll(&self, written: &Poll<io::Result<usize>>) {
        match written {
            Poll::Ready(Ok(_)) => self.pace.state().record_write(Instant::now()),
            Poll::Pending => self.pace.state().is_blocked(Instant::now()),
            // The connection ends with the error.
            Poll::Ready(Err(_)) => {}
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PacedStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            this.pace.state().read(Instant::now());
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PacedStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.record_poll(&written);
        written
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, slices);
        this.record_poll(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: Duration = Duration::from_secs(10);

    fn after(begun: Instant, seconds: u64) -> Instant {
        begun + Duration::from_secs(seconds)
    }

    /// The time until a connection in this state times out.
    fn seconds_until_overdue(state: State, begun: Instant) -> Option<u64> {
        (0..200).find(|seconds| state.is_overdue(HEAD, after(begun, *seconds)))
    }

    #[test]
    fn head_idle_and_answer_have_separate_timeouts() {
        let begun = Instant::now();
        let state = |phase, blocked| State { phase, blocked };
        let five = Some(after(begun, 5));
        for (state, expected, waits) in [
            (state(Phase::Head(begun), None), Some(10), Some(begun)),
            (state(Phase::Idle(begun), None), Some(75), Some(begun)),
            (state(Phase::Serving, None), None, None),
            (state(Phase::Serving, five), Some(65), five),
            (state(Phase::Idle(begun), five), Some(65), five),
        ] {
            assert_eq!(seconds_until_overdue(state, begun), expected, "{state:?}");
            assert_eq!(state.waits_since(), waits, "{state:?}");
        }
    }

    /// Bytes of a head do not extend its timeout; bytes of an answer do, so that a slow reader receives it.
    #[test]
    fn only_a_client_that_reads_its_answer_gets_more_time() {
        let begun = Instant::now();
        let mut state = State {
            phase: Phase::Idle(begun),
            blocked: None,
        };
        state.read(after(begun, 20));
        state.read(after(begun, 29));
        assert_eq!(seconds_until_overdue(state, begun), Some(30));
        state.phase = Phase::Idle(begun);
        state.is_blocked(after(begun, 40));
        state.is_blocked(after(begun, 50));
        assert_eq!(seconds_until_overdue(state, begun), Some(100));
        state.record_write(after(begun, 60));
        assert_eq!(seconds_until_overdue(state, begun), Some(135));
    }

    #[test]
    fn the_server_does_not_wait_for_the_client_while_serving() {
        let pace = Arc::new(Pace::new(Instant::now()));
        assert!(pace.waits_since().is_some());
        let serving = pace.serving();
        assert_eq!(pace.waits_since(), None);
        drop(serving);
        assert!(pace.waits_since().is_some());
    }
}
