//! The evidence log: one Merkle tree of leaves for each tenant (RFC 6962; B000-19).
//!
//! Its leaves are written by the methods of [`Evidence`](crate::evidence::Evidence) and by
//! [`EvidenceLog::remove_payloads`], each in one transaction with its subject. `charter_domain::evidence_log` defines
//! the content of leaves and the tree.

use std::collections::BTreeMap;

use async_trait::async_trait;
use charter_contract::ids::{EvidenceId, TenantId};
use charter_contract::time::Timestamp;
use charter_domain::evidence_log::{Hash, NodeId};

use crate::StoreError;

/// One leaf, with the data that it commits to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLeaf {
    /// Its position in the log, from 0.
    pub index: u64,
    /// Its data, byte for byte.
    pub leaf: String,
    /// The record, if the leaf is for a record.
    pub record: Option<StoredRecord>,
}

/// A record, as the texts that were hashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecord {
    /// The record as captured, without its payload.
    pub record: String,
    /// The payload, unless it was removed.
    pub payload: Option<StoredPayload>,
}

/// A payload with its salt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPayload {
    /// Hashed before the text.
    pub salt: [u8; 32],
    /// The payload.
    pub text: String,
}

/// A signed head that was published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedCheckpoint {
    /// The log's number of leaves at that time.
    pub size: u64,
    /// Id of the signing key.
    pub key_id: String,
    /// When it was first published.
    pub at: Timestamp,
    /// The signed note.
    pub note: String,
}

/// The log. Leaves, hashes and checkpoints are never changed or deleted; the engine itself prevents that.
#[async_trait]
pub trait EvidenceLog {
    /// Returns the number of a tenant's leaves, including erased ones; 0 for a tenant without evidence.
    async fn log_size(&self, tenant: &TenantId) -> Result<u64, StoreError>;

    /// Returns hashes of perfect subtrees.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] for the first one beyond the log.
    async fn log_nodes(
        &self,
        tenant: &TenantId,
        nodes: &[NodeId],
    ) -> Result<BTreeMap<NodeId, Hash>, StoreError>;

    /// Returns at most `limit` leaves, starting at `from`, in order. Leaves that were erased with their tenant are
    /// absent.
    async fn log_leaves(
        &self,
        tenant: &TenantId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<StoredLeaf>, StoreError>;

    /// Returns all leaves about one record, in order; none when the tenant has no such record.
    async fn log_leaves_of(
        &self,
        tenant: &TenantId,
        evidence: &EvidenceId,
    ) -> Result<Vec<StoredLeaf>, StoreError>;

    /// Stores a checkpoint before it is published. Repeating one of the same size and key changes nothing.
    async fn publish_checkpoint(
        &self,
        tenant: &TenantId,
        checkpoint: &PublishedCheckpoint,
    ) -> Result<(), StoreError>;

    /// Returns the last published checkpoint of that size, for any key.
    async fn published_checkpoint(
        &self,
        tenant: &TenantId,
        size: u64,
    ) -> Result<Option<PublishedCheckpoint>, StoreError>;

    /// Removes the payloads of at most `limit` records of all tenants that were captured before `before`, atomically;
    /// oldest first, and by tenant and id for equal times. Payload and salt are deleted permanently; the rest of the
    /// record stays, and a leaf records the time. Returns the number of records.
    async fn remove_payloads(
        &self,
        before: Timestamp,
        at: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError>;
}
