//! The evidence log: one Merkle tree of leaves for each tenant (RFC 6962; B000-19).
//!
//! Its leaves are written by the methods of [`Evidence`](crate::evidence::Evidence) and by
//! [`EvidenceLog::remove_payloads`], each in one transaction with what it is about. What a leaf
//! says and how the tree is made is decided in `charter_domain::evidence_log`.

use std::collections::BTreeMap;

use async_trait::async_trait;
use charter_contract::ids::{EvidenceId, TenantId};
use charter_contract::time::Timestamp;
use charter_domain::evidence_log::{Hash, NodeId};

use crate::StoreError;

/// One leaf, with what it commits to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLeaf {
    /// Its place in the log, from 0.
    pub index: u64,
    /// Its data, byte for byte.
    pub leaf: String,
    /// The record, of a record's leaf.
    pub record: Option<StoredRecord>,
}

/// A record in the texts that were hashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecord {
    /// The record as it was captured, without its payload.
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

/// A signed head that was handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedCheckpoint {
    /// Leaves of the log then.
    pub size: u64,
    /// Id of the key that signed.
    pub key_id: String,
    /// When it was first handed out.
    pub at: Timestamp,
    /// The signed note.
    pub note: String,
}

/// The log. Leaves, hashes and checkpoints are never changed and never deleted; the engine itself
/// refuses to.
#[async_trait]
pub trait EvidenceLog {
    /// How many leaves a tenant's log has, also those that were erased; 0 for a tenant without evidence.
    async fn log_size(&self, tenant: &TenantId) -> Result<u64, StoreError>;

    /// Hashes of perfect subtrees.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] for the first that reaches beyond the log.
    async fn log_nodes(
        &self,
        tenant: &TenantId,
        nodes: &[NodeId],
    ) -> Result<BTreeMap<NodeId, Hash>, StoreError>;

    /// At most `limit` leaves from `from` on, in order. Those that were erased with their tenant are not there.
    async fn log_leaves(
        &self,
        tenant: &TenantId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<StoredLeaf>, StoreError>;

    /// All leaves about one record, in order; none when the tenant has no such record.
    async fn log_leaves_of(
        &self,
        tenant: &TenantId,
        evidence: &EvidenceId,
    ) -> Result<Vec<StoredLeaf>, StoreError>;

    /// Keeps a checkpoint that is about to be handed out. Repeating one of the same size and key
    /// changes nothing.
    async fn publish_checkpoint(
        &self,
        tenant: &TenantId,
        checkpoint: &PublishedCheckpoint,
    ) -> Result<(), StoreError>;

    /// The checkpoint of that size that was handed out last, whichever key signed it.
    async fn published_checkpoint(
        &self,
        tenant: &TenantId,
        size: u64,
    ) -> Result<Option<PublishedCheckpoint>, StoreError>;

    /// Removes the payloads of at most `limit` records of all tenants, captured before `before`, the
    /// oldest first, by tenant and id those of the same moment. Payload and salt are gone for good; everything else of the record stays, and a
    /// leaf says when. All or none. Returns how many.
    async fn remove_payloads(
        &self,
        before: Timestamp,
        at: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError>;
}
