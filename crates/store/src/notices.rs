//! Notices that another process published messages.

use async_trait::async_trait;

/// Notices of new outbox messages.
#[async_trait]
pub trait Notices {
    /// Whether other processes may have the same store open.
    fn is_shared(&self) -> bool;

    /// Resolves when another process may have published messages since the last call, even if that was between two
    /// calls; for one reader in each process. There may be too many notices, and a notice is lost if its sender dies: a
    /// reader also polls at intervals.
    async fn notice(&self);
}
