//! Messages between the processes over one store, and which of them does a chore. Must not know what the
//! messages lead to.

use std::time::Duration;

use charter_store::outbox::NewMessage;
use serde_json::{Value, json};

use crate::Engine;

/// The sources of routing or lenses changed.
pub(crate) const ROUTING: &str = "replicas.routing";

/// A worker left runs for others.
pub(crate) const LEFT: &str = "replicas.left";

impl Engine {
    /// Tells the other processes what they have to read again.
    pub(crate) async fn notify_replicas(&self, topic: &str, mut payload: Value) {
        if !self.store().is_shared() {
            return;
        }
        payload["by"] = self.holder().into();
        let message = NewMessage {
            topic: topic.to_owned(),
            tenant: None,
            user_id: None,
            payload: payload.to_string(),
            at: self.now(),
        };
        if let Err(error) = self.store().publish(vec![message]).await {
            tracing::warn!(error = %error, topic, "other processes were not notified of a change; they find it later");
        }
    }

    /// Tells the other processes that lenses or the calibration changed.
    pub(crate) async fn notify_routing_change(&self) {
        self.notify_replicas(ROUTING, json!({})).await;
    }

    /// Whether a chore is this process's to do: one of those over the same store does it, once in a time.
    pub(crate) async fn does_chore(&self, chore: &str, once_in: Duration) -> bool {
        let (now, resource) = (self.now(), format!("chore {chore}"));
        // A name of its own for each time, so that no other process can extend a live lease.
        let holder = self.new_uuid().to_string();
        let until = self.after(now, once_in);
        let taken = self.store().acquire(&resource, &holder, now, until).await;
        taken.is_ok_and(|lease| lease.is_some())
    }
}
