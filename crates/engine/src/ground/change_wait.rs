//! Waits for a change of stored data: for the notification of a change in this process, or for the interval at which
//! the changes of other processes are polled. Must not know what changes.

use std::pin::Pin;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio_util::sync::CancellationToken;

/// Interval at which a reader looks again even without a notification in this process.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitEnd {
    /// Something may have changed.
    LookAgain,
    /// The reader is to stop.
    Stopped,
}

/// A wait for the next change. It is registered before the reader looks, so that no notification in between is missed.
#[derive(Debug)]
pub(crate) struct ChangeWait<'n>(Pin<Box<Notified<'n>>>);

impl<'n> ChangeWait<'n> {
    /// Registers for the next notification.
    pub(crate) fn register(changes: &'n Notify) -> Self {
        let mut notified = Box::pin(changes.notified());
        notified.as_mut().enable();
        Self(notified)
    }

    /// Waits for the notification, but at most `interval` and only until `stop` is cancelled.
    pub(crate) async fn wait(self, interval: Duration, stop: &CancellationToken) -> WaitEnd {
        tokio::select! {
            () = stop.cancelled() => WaitEnd::Stopped,
            () = self.0 => WaitEnd::LookAgain,
            () = tokio::time::sleep(interval) => WaitEnd::LookAgain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3_600);

    #[tokio::test]
    async fn a_notification_before_the_wait_is_not_missed() {
        let (changes, stop) = (Notify::new(), CancellationToken::new());
        let wait = ChangeWait::register(&changes);
        changes.notify_waiters();
        assert_eq!(wait.wait(LONG, &stop).await, WaitEnd::LookAgain);
    }

    #[tokio::test]
    async fn without_a_notification_the_reader_looks_again_after_the_interval() {
        let (changes, stop) = (Notify::new(), CancellationToken::new());
        let wait = ChangeWait::register(&changes);
        let end = wait.wait(Duration::from_millis(1), &stop).await;
        assert_eq!(end, WaitEnd::LookAgain);
    }

    #[tokio::test]
    async fn a_stop_ends_the_wait() {
        let (changes, stop) = (Notify::new(), CancellationToken::new());
        let wait = ChangeWait::register(&changes);
        stop.cancel();
        assert_eq!(wait.wait(LONG, &stop).await, WaitEnd::Stopped);
    }
}
