//! Leases with fences: at most one holder works on a thing, and a holder that was declared dead
//! cannot write any more.

use async_trait::async_trait;
use charter_contract::time::Timestamp;

use crate::StoreError;

/// Grows by at least one each time a resource changes hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(pub u64);

/// A hold on a resource until it expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// What is held, e.g. a run's id.
    pub resource: String,
    /// Who holds it: one process, one incarnation.
    pub holder: String,
    /// Passed along with every write made under the lease.
    pub fence: Fence,
    /// When others may take it.
    pub expires_at: Timestamp,
}

/// Leases.
#[async_trait]
pub trait Leases {
    /// Takes a free or expired resource; `None` while another holder's lease is live at `now`.
    /// A holder whose lease is live gets it extended under the same fence; one whose lease has
    /// expired gets a new fence like anybody else. A lease is live until `expires_at`, exclusive.
    async fn acquire(
        &self,
        resource: &str,
        holder: &str,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<Option<Lease>, StoreError>;

    /// Extends the leases that `holder` has on these resources, also those that have expired meanwhile and
    /// that nobody has taken over. Returns the resources that are not its own: taken over, or given back.
    async fn renew(
        &self,
        holder: &str,
        resources: &[String],
        expires_at: Timestamp,
    ) -> Result<Vec<String>, StoreError>;

    /// Gives a lease back; giving back one that was taken over does nothing.
    async fn release(&self, lease: &Lease) -> Result<(), StoreError>;
}
