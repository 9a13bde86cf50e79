//! Leases with fencing tokens: at most one holder works on a resource, and a holder that was declared dead cannot write
//! any more.

use async_trait::async_trait;
use charter_contract::time::Timestamp;

use crate::StoreError;

/// Fencing token: increases whenever a resource changes its holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(pub u64);

/// A lease on a resource until it expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The resource, e.g. a run's id.
    pub resource: String,
    /// The holder: one incarnation of a process.
    pub holder: String,
    /// Sent with every write under the lease.
    pub fence: Fence,
    /// When others may take it over.
    pub expires_at: Timestamp,
}

/// Leases.
#[async_trait]
pub trait Leases {
    /// Acquires a free or expired resource; returns `None` while another holder's lease is live at `now`. A live lease
    /// of the same holder is extended under the same fence; an expired one is replaced under a new fence. A lease is
    /// live until `expires_at`, exclusive.
    async fn acquire(
        &self,
        resource: &str,
        holder: &str,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<Option<Lease>, StoreError>;

    /// Extends the leases of `holder` on these resources, including those that expired and were not taken over. Returns
    /// the resources that it does not hold: taken over, or released.
    async fn renew(
        &self,
        holder: &str,
        resources: &[String],
        expires_at: Timestamp,
    ) -> Result<Vec<String>, StoreError>;

    /// Releases a lease; does nothing if it was taken over.
    async fn release(&self, lease: &Lease) -> Result<(), StoreError>;
}
