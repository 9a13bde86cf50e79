//! Counts and erases all stored data of one tenant.

use std::collections::BTreeMap;

use async_trait::async_trait;
use charter_contract::ids::TenantId;
use charter_contract::time::Timestamp;
use charter_domain::evidence_log::Hash;

use crate::StoreError;

/// Topic of the message that a tenant was erased, about the whole server; its payload is `{"tenant_id": "acme"}`.
/// Receivers drop their in-memory data of the tenant.
pub const ERASED_TOPIC: &str = "replicas.tenant_erased";

/// Numbers of rows by the engine's table, for tables with any.
pub type RowCounts = BTreeMap<String, u64>;

/// The result of an erasure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erased {
    /// The erased tenant.
    pub tenant_id: TenantId,
    /// Time of the erasure.
    pub at: Timestamp,
    /// The deleted rows.
    pub erased: RowCounts,
    /// The rows that stay: hashes of the evidence log, and published checkpoints.
    pub kept: RowCounts,
    /// The head of the evidence log, which stays.
    pub log: LogHead,
    /// Rows that concurrent writes added for the tenant, and that exist now.
    pub came_meanwhile: RowCounts,
}

/// The size of a tenant's evidence log, and its root hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogHead {
    /// Its number of leaves, including erased ones.
    pub size: u64,
    /// The root of its tree (RFC 6962).
    pub root: Hash,
}

/// Tenants as a whole.
#[async_trait]
pub trait Tenants {
    /// Returns the numbers of rows that an erasure of the tenant would delete.
    async fn rows_of_tenant(&self, tenant: &TenantId) -> Result<RowCounts, StoreError>;

    /// Deletes every row of a tenant in one transaction, except the tree of its evidence log: published proofs can be
    /// checked against it, and later leaves continue it. Embeddings have no owner, and stay until
    /// [`Vectors::retain_vectors`](crate::vector::Vectors). Increments the revisions of the catalogue and of the
    /// skills, and publishes that all skills may have changed, and [`ERASED_TOPIC`]. A repeat deletes rows that were
    /// added since.
    ///
    /// # Errors
    /// [`StoreError::Refused`] while a run of the tenant is unfinished, or on a concurrent write for the tenant;
    /// nothing is deleted.
    async fn erase_tenant(&self, tenant: &TenantId, at: Timestamp) -> Result<Erased, StoreError>;
}
