//! Bodies in transmission: timeouts for request bodies, and resources that are held until an answer has been received.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody};
use charter_contract::bounds::{BODY_MS_PER_MIB, BODY_PAUSE_MS, UNREAD_BYTES, UNREAD_MS};
use futures_util::StreamExt;
use hyper::body::{Frame, SizeHint};
use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep, sleep_until, timeout};

const MIB: u64 = 1 << 20;

/// A body that did not arrive in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TooSlow {
    /// No bytes arrived for too long.
    #[error("no data of the body arrived for {} s", PAUSE.as_secs())]
    Paused,
    /// The whole body took too long.
    #[error("the body took longer than {} s (limits.body_ms, and more for each MiB)", .0.as_secs())]
    Late(Duration),
}

const PAUSE: Duration = Duration::from_millis(BODY_PAUSE_MS as u64);
const PER_MIB: Duration = Duration::from_millis(BODY_MS_PER_MIB as u64);

/// The body of a request, which fails if it does not arrive in time. Only time in which the server polls for it counts.
/// After the request is answered, the rest of the body is read and discarded, so that a client that is still sending
/// receives the answer instead of a connection reset.
pub(crate) struct TimedBody {
    body: Body,
    allowed: Duration,
    pace: Option<BodyPace>,
    alarm: Option<Pin<Box<Sleep>>>,
    /// Since when the server has not polled: it processes the bytes that arrived.
    idle: Option<Instant>,
}

/// The time at which a body began to arrive, and its progress.
#[derive(Debug, Clone, Copy)]
struct BodyPace {
    started: Instant,
    last: Instant,
    bytes: u64,
}

impl BodyPace {
    fn new(now: Instant) -> Self {
        Self {
            started: now,
            last: now,
            bytes: 0,
        }
    }

    fn record_bytes(&mut self, bytes: usize, now: Instant) {
        self.last = now;
        self.bytes = self.bytes.saturating_add(bytes as u64);
    }

    /// Excludes a time in which the server did not poll.
    fn exclude(&mut self, idle: Duration) {
        self.started += idle;
        self.last += idle;
    }

    /// The timeout of the whole body: the allowance, plus time for each arrived MiB.
    fn total_timeout(&self, allowed: Duration) -> Duration {
        let mib = u32::try_from(self.bytes / MIB).unwrap_or(u32::MAX);
        allowed.saturating_add(PER_MIB.saturating_mul(mib))
    }

    /// The time of the timeout, and its error.
    fn deadline(&self, allowed: Duration) -> (Instant, TooSlow) {
        let whole = self.total_timeout(allowed);
        let late = self.started + whole;
        let paused = self.last + PAUSE;
        if paused < late {
            (paused, TooSlow::Paused)
        } else {
            (late, TooSlow::Late(whole))
        }
    }
}

impl TimedBody {
    /// A body that may take as long as `allowed`, and longer the more bytes arrive.
    pub(crate) fn new(body: Body, allowed: Duration) -> Self {
        Self {
            body,
            allowed,
            pace: None,
            alarm: None,
            idle: None,
        }
    }
}

impl Drop for TimedBody {
    fn drop(&mut self) {
        if self.body.is_end_stream() {
            return;
        }
        // If the runtime has ended, no client waits for an answer.
        if let Ok(runtime) = Handle::try_current() {
            let rest = std::mem::take(&mut self.body);
            drop(runtime.spawn(timeout(UNREAD, throw_away(rest))));
        }
    }
}

const UNREAD: Duration = Duration::from_millis(UNREAD_MS as u64);

/// Discards the rest of a body, up to a limit.
async fn throw_away(rest: Body) {
    let mut rest = rest.into_data_stream();
    let mut bytes = 0;
    while let Some(Ok(part)) = rest.next().await {
        bytes += part.len();
        if bytes > UNREAD_BYTES {
            return;
        }
    }
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        let now = Instant::now();
        let pace = this.pace.get_or_insert_with(|| BodyPace::new(now));
        if let Some(since) = this.idle.take() {
            pace.exclude(now.saturating_duration_since(since));
        }
        let (end, why) = pace.deadline(this.allowed);
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            let frame = frame.map(|frame| frame.map_err(BoxError::from));
            if let Some(Ok(frame)) = &frame {
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                pace.record_bytes(bytes, now);
            }
            this.idle = Some(now);
            return Poll::Ready(frame);
        }
        let alarm = this.alarm.get_or_insert_with(|| Box::pin(sleep_until(end)));
        if alarm.deadline() != end {
            alarm.as_mut().reset(end);
        }
        ready!(alarm.as_mut().poll(context));
        Poll::Ready(Some(Err(why.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer, and a resource that is released when it has been sent or abandoned.
pub(crate) struct HeldBody<T> {
    body: Body,
    /// Whether a part of it was polled.
    has_begun: bool,
    _held: T,
}

impl<T> HeldBody<T> {
    pub(crate) fn new(body: Body, held: T) -> Self {
        Self {
            body,
            has_begun: false,
            _held: held,
        }
    }
}

impl<T: Unpin> HttpBody for HeldBody<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        this.has_begun = true;
        Pin::new(&mut this.body).poll_frame(context)
    }

    /// hyper drops a body that reports its end as soon as the last part is buffered, before the client receives it.
    fn is_end_stream(&self) -> bool {
        !self.has_begun && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream::pending;

    use super::*;

    fn after(started: Instant, seconds: u64) -> Instant {
        started + Duration::from_secs(seconds)
    }

    /// A pause ends a body early; a body that trickles ends with its allowance; arrived bytes extend it.
    #[test]
    fn a_body_times_out_after_a_pause_or_by_its_size() {
        let allowed = Duration::from_secs(30);
        let started = Instant::now();
        let mut pace = BodyPace::new(started);
        assert_eq!(
            pace.deadline(allowed),
            (after(started, 10), TooSlow::Paused)
        );
        pace.record_bytes(1, after(started, 9));
        assert_eq!(
            pace.deadline(allowed),
            (after(started, 19), TooSlow::Paused)
        );
        pace.record_bytes(1, after(started, 29));
        let late = TooSlow::Late(Duration::from_secs(30));
        assert_eq!(pace.deadline(allowed), (after(started, 30), late));
        pace.record_bytes(2 << 20, after(started, 29));
        assert_eq!(
            pace.deadline(allowed),
            (after(started, 39), TooSlow::Paused)
        );
        pace.record_bytes(1, after(started, 45));
        let late = TooSlow::Late(Duration::from_secs(46));
        assert_eq!(pace.deadline(allowed), (after(started, 46), late));
    }

    /// Time in which the server has no memory for the body does not count against the client.
    #[test]
    fn time_without_polling_does_not_count_towards_the_timeout() {
        let allowed = Duration::from_secs(30);
        let started = Instant::now();
        let mut pace = BodyPace::new(started);
        pace.record_bytes(1, after(started, 9));
        pace.exclude(Duration::from_secs(60));
        assert_eq!(
            pace.deadline(allowed),
            (after(started, 79), TooSlow::Paused)
        );
        pace.record_bytes(1, after(started, 89));
        let late = TooSlow::Late(allowed);
        assert_eq!(pace.deadline(allowed), (after(started, 90), late));
    }

    /// A client that is refused early is still sending: it would see a connection reset.
    #[tokio::test]
    async fn the_unread_part_of_a_body_is_drained() {
        let (came, mut all_came) = tokio::sync::mpsc::channel(1);
        let parts = futures_util::stream::unfold(0, move |part| {
            let came = came.clone();
            async move {
                if part == 3 {
                    came.try_send(()).unwrap();
                    return None;
                }
                Some((Ok::<_, Infallible>(Bytes::from_static(b"part")), part + 1))
            }
        });
        let mut body = TimedBody::new(Body::from_stream(parts), Duration::from_secs(30));
        let first = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        assert!(first.await.is_some_and(|frame| frame.is_ok()));
        drop(body);
        assert_eq!(all_came.recv().await, Some(()));
    }

    #[tokio::test]
    async fn a_body_that_does_not_arrive_fails_with_the_reason() {
        let silent = Body::from_stream(pending::<Result<Bytes, Infallible>>());
        let allowed = Duration::from_millis(20);
        let body = Body::new(TimedBody::new(silent, allowed));
        let failed = body.into_data_stream().next().await.unwrap().unwrap_err();
        let failed = failed.into_inner();
        assert_eq!(
            failed.downcast_ref::<TooSlow>(),
            Some(&TooSlow::Late(allowed))
        );
    }
}
