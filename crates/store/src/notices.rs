//! Being told that something was published, by whatever process did.

use async_trait::async_trait;

/// Notices of new outbox messages.
#[async_trait]
pub trait Notices {
    /// Whether other processes may have the same store open.
    fn is_shared(&self) -> bool;

    /// Resolves when another process may have published messages since the last call, also when it did so
    /// between two calls; for one reader in each process. A notice may come too often, and is lost with
    /// whoever failed to send it: a reader looks from time to time by itself.
    async fn notice(&self);
}
