//! Everything that is stored of one tenant: counted, and erased.

use std::collections::BTreeMap;

use async_trait::async_trait;
use charter_contract::ids::TenantId;
use charter_contract::time::Timestamp;
use charter_domain::evidence_log::Hash;

use crate::StoreError;

/// Topic of the message that everything of a tenant was erased, about the whole server; its payload is
/// `{"tenant_id": "acme"}`. Whoever keeps something of a tenant in memory forgets it.
pub const ERASED_TOPIC: &str = "replicas.tenant_erased";

/// Rows by the table of the engine, of tables that have any.
pub type RowCounts = BTreeMap<String, u64>;

/// What an erasure took, and what it left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erased {
    /// Whose data it was.
    pub tenant_id: TenantId,
    /// When.
    pub at: Timestamp,
    /// The rows that went.
    pub erased: RowCounts,
    /// The rows that stay: hashes of the evidence log, and checkpoints that were handed out.
    pub kept: RowCounts,
    /// The head of the evidence log, which stays.
    pub log: LogHead,
    /// Rows that others wrote for the tenant meanwhile, and that are there now.
    pub came_meanwhile: RowCounts,
}

/// How far a tenant's evidence log goes, and the hash over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogHead {
    /// Its leaves, also those that were erased.
    pub size: u64,
    /// The root of its tree (RFC 6962).
    pub root: Hash,
}

/// Tenants as a whole.
#[async_trait]
pub trait Tenants {
    /// The rows of a tenant that its erasure would delete.
    async fn rows_of_tenant(&self, tenant: &TenantId) -> Result<RowCounts, StoreError>;

    /// Deletes every row of a tenant in one transaction, but for the tree of its evidence log: proofs that were
    /// handed out can be checked against it, and later leaves go on where it ended. Embeddings, which do not say
    /// whose a text was, stay until [`Vectors::retain_vectors`](crate::vector::Vectors). Raises the revisions of the catalogue and of the
    /// skills, and publishes that all skills may have changed, and [`ERASED_TOPIC`]. A repeat deletes what came
    /// meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Refused`] while a run of the tenant has not ended, or when somebody wrote for the
    /// tenant at the same moment; nothing is deleted.
    async fn erase_tenant(&self, tenant: &TenantId, at: Timestamp) -> Result<Erased, StoreError>;
}
