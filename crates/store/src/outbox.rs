//! The outbox: messages written in the transaction of the change that they announce.

use async_trait::async_trait;
use charter_contract::ids::{TenantId, UserId};
use charter_contract::time::Timestamp;

use crate::StoreError;

/// A message to publish. Delivered at least once, in the order of its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// Its topic, e.g. `run.step_succeeded`.
    pub topic: String,
    /// Its tenant; absent for messages about the whole server.
    pub tenant: Option<String>,
    /// The user that it concerns; absent for a message to the whole tenant.
    pub user_id: Option<UserId>,
    /// JSON.
    pub payload: String,
    /// When the change happened.
    pub at: Timestamp,
}

/// A stored message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Grows with every message.
    pub id: u64,
    /// The message.
    pub message: NewMessage,
}

/// The outbox.
#[async_trait]
pub trait Outbox {
    /// Writes messages that do not belong to another change, atomically.
    async fn publish(&self, messages: Vec<NewMessage>) -> Result<(), StoreError>;

    /// Returns messages after `id`, oldest first, at most `limit`. Reading does not consume them.
    async fn messages(&self, after: u64, limit: usize) -> Result<Vec<Message>, StoreError>;

    /// Returns messages of one tenant, and those about the global catalogue ([`CATALOGUE_CHANGED`]), which every tenant
    /// uses. Other messages about the whole server are not visible to a tenant.
    ///
    /// [`CATALOGUE_CHANGED`]: crate::catalogue::CATALOGUE_CHANGED
    async fn messages_of(
        &self,
        tenant: &TenantId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Message>, StoreError>;

    /// Returns the id of the newest message ever, swept or not; 0 when there was none.
    async fn last_message(&self) -> Result<u64, StoreError>;

    /// Deletes messages older than `before`; returns their number.
    async fn sweep_messages(&self, before: Timestamp) -> Result<u64, StoreError>;
}
