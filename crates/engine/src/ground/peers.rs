//! Messages between the processes over one store, and which of them does a chore. Must not know what the
//! messages lead to.

use std::sync::Arc;
use std::time::Duration;

use charter_domain::clock::Clock;
use charter_store::SharedStore;
use charter_store::outbox::NewMessage;
use serde_json::{Value, json};

use crate::ground::ids::IdSource;
use crate::ground::moments;

/// The sources of routing or lenses changed.
pub(crate) const ROUTING: &str = "replicas.routing";

/// A worker left runs for others.
pub(crate) const LEFT: &str = "replicas.left";

/// The processes over one store.
pub(crate) struct Peers {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    /// The name of this process.
    holder: String,
}

impl Peers {
    pub(crate) fn new(
        store: SharedStore,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
        holder: String,
    ) -> Self {
        Self {
            store,
            clock,
            ids,
            holder,
        }
    }

    /// Notifies the other processes of changed data, which they read again.
    pub(crate) async fn notify_replicas(&self, topic: &str, mut payload: Value) {
        if !self.store.is_shared() {
            return;
        }
        payload["by"] = self.holder.as_str().into();
        let message = NewMessage {
            topic: topic.to_owned(),
            tenant: None,
            user_id: None,
            payload: payload.to_string(),
            at: self.clock.now(),
        };
        if let Err(error) = self.store.publish(vec![message]).await {
            tracing::warn!(error = %error, topic, "other processes were not notified of a change; they find it later");
        }
    }

    /// Notifies the other processes that lenses or the calibration changed.
    pub(crate) async fn notify_routing_change(&self) {
        self.notify_replicas(ROUTING, json!({})).await;
    }

    /// Whether a chore is this process's to do: one of those over the same store does it, once in a time.
    pub(crate) async fn does_chore(&self, chore: &str, once_in: Duration) -> bool {
        let (now, resource) = (self.clock.now(), format!("chore {chore}"));
        // A name of its own for each time, so that no other process can extend a live lease.
        let holder = self.ids.uuid().to_string();
        let until = moments::after(now, once_in);
        let taken = self.store.acquire(&resource, &holder, now, until).await;
        taken.is_ok_and(|lease| lease.is_some())
    }
}
#[cfg(test)]
mod tests {
    use charter_contract::time::Timestamp;
    use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
    use charter_testkit::clock::SimulatedClock;

    use super::*;
    use crate::ground::ids::RandomIds;

    /// One of two processes does a chore, and again once its time has passed.
    #[tokio::test]
    async fn one_process_does_a_chore_once_in_its_time() {
        let dir = tempfile::tempdir().unwrap();
        let store: SharedStore =
            Arc::new(SqliteStore::open(dir.path(), &SqliteOptions::default()).unwrap());
        let clock = SimulatedClock::at(Timestamp::parse("2026-04-14T12:00:00Z").unwrap());
        let [first, second] = ["first", "second"].map(|holder| {
            let clock = Arc::new(clock.clone());
            Peers::new(
                Arc::clone(&store),
                clock,
                Arc::new(RandomIds),
                holder.to_owned(),
            )
        });
        let once_in = Duration::from_secs(60);
        assert!(first.does_chore("sweep", once_in).await);
        assert!(!second.does_chore("sweep", once_in).await);
        assert!(!first.does_chore("sweep", once_in).await);
        clock.advance(2 * once_in).unwrap();
        assert!(second.does_chore("sweep", once_in).await);
    }
}
