//! The open connections: their limit, and which one is closed for a new one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::pace::Pace;

/// The open connections.
#[derive(Debug)]
pub(super) struct Connections {
    most: usize,
    head: Duration,
    open: Mutex<ConnectionTable>,
}

#[derive(Debug, Default)]
struct ConnectionTable {
    last: u64,
    connections: HashMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    pace: Arc<Pace>,
    closed: CancellationToken,
}

/// A connection that counts until this is dropped.
#[derive(Debug)]
pub(super) struct OpenConnection {
    all: Arc<Connections>,
    id: u64,
    pub(super) pace: Arc<Pace>,
    /// Cancelled when the connection must make room, or has timed out.
    pub(super) closed: CancellationToken,
}

impl Connections {
    /// Creates an empty set of at most `most` connections, each with the timeout `head` for the head of a request.
    pub(super) fn new(most: usize, head: Duration) -> Self {
        Self {
            most,
            head,
            open: Mutex::default(),
        }
    }

    fn all(&self) -> MutexGuard<'_, ConnectionTable> {
        // No holder can panic between two changes that belong together.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection. At the limit, the one for whose client the server has waited longest is closed; `None` if all
    /// are being served.
    pub(super) fn open(self: &Arc<Self>, now: Instant) -> Option<OpenConnection> {
        let mut open = self.all();
        while open.connections.len() >= self.most {
            if !open.make_room() {
                tracing::debug!(connections = self.most, "too many connections");
                return None;
            }
        }
        open.last += 1;
        let id = open.last;
        let (pace, closed) = (Arc::new(Pace::new(now)), CancellationToken::new());
        let counted = Connection {
            pace: Arc::clone(&pace),
            closed: closed.clone(),
        };
        open.connections.insert(id, counted);
        Some(OpenConnection {
            all: Arc::clone(self),
            id,
            pace,
            closed,
        })
    }

    /// Closes the connection for whose client the server has waited longest.
    pub(super) fn make_room(&self) {
        self.all().make_room();
    }

    /// Closes the connections that have timed out.
    pub(super) fn close_overdue(&self, now: Instant) {
        self.all().connections.retain(|_, connection| {
            let overdue = connection.pace.is_overdue(self.head, now);
            if overdue {
                connection.closed.cancel();
            }
            !overdue
        });
    }
}

impl ConnectionTable {
    /// Closes the connection for whose client the server has waited longest; returns whether there was one.
    fn make_room(&mut self) -> bool {
        let waiting = self.connections.iter();
        let waiting = waiting.filter_map(|(id, one)| Some((one.pace.waits_since()?, *id)));
        let Some((_, longest)) = waiting.min() else {
            return false;
        };
        if let Some(closed) = self.connections.remove(&longest) {
            closed.closed.cancel();
        }
        true
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.all.all().connections.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(begun: Instant, seconds: u64) -> Instant {
        begun + Duration::from_secs(seconds)
    }

    #[test]
    fn the_longest_waiting_connection_is_closed_first() {
        let all = Arc::new(Connections::new(2, Duration::from_secs(10)));
        let begun = Instant::now();
        let oldest = all.open(begun).unwrap();
        let serving = oldest.pace.serving();
        let silent = all.open(after(begun, 1)).unwrap();
        let newest = all.open(after(begun, 2)).unwrap();
        let closed = [&oldest, &silent, &newest].map(|one| one.closed.is_cancelled());
        assert_eq!(closed, [false, true, false]);
        let served = newest.pace.serving();
        assert!(all.open(after(begun, 3)).is_none());
        drop((serving, served));
        assert!(all.open(after(begun, 3)).is_some());
        assert!(oldest.closed.is_cancelled() && !newest.closed.is_cancelled());
    }

    #[test]
    fn connections_are_closed_after_their_timeout_and_counted_while_open() {
        let all = Arc::new(Connections::new(2, Duration::from_secs(10)));
        let begun = Instant::now();
        let slow = all.open(begun).unwrap();
        let other = all.open(after(begun, 5)).unwrap();
        all.close_overdue(after(begun, 9));
        assert!(!slow.closed.is_cancelled());
        all.close_overdue(after(begun, 10));
        assert!(slow.closed.is_cancelled() && !other.closed.is_cancelled());
        drop(other);
        assert_eq!(all.all().connections.len(), 0);
    }
}
