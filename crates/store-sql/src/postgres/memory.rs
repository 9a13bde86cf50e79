//! Memories in PostgreSQL. Triggers prevent versions from being overwritten or deleted. Changes lock the tenant's row
//! first, so that revisions become visible in order.

mod changes;
mod near;
mod read;
mod vectors;
mod write;

use async_trait::async_trait;
use charter_contract::ids::{MemoryId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::memory::{
    Memories, MemoryChange, MemoryDecision, MemoryRecord, MemoryVector, MemoryVersion, NearMemory,
    NearestMemories, NewMemory, NewVersion, Proposals,
};
use charter_store::page::{Page, PageRequest};

use super::connection::{RowScope, in_snapshot, in_transaction};
use super::standby::on_reader;
use super::{PostgresStore, SWEEP_BATCH};
use crate::column;

const READING: &str = "reading a memory";
const WRITING: &str = "writing a memory";

/// Tenant and memory.
type Key<'a> = (&'a str, &'a str);

#[async_trait]
impl Memories for PostgresStore {
    async fn add_memory(&self, new: &NewMemory, most: u64) -> Result<(), StoreError> {
        in_transaction!(self, RowScope::Tenant(&new.tenant_id), tx => write::add(&tx, new, most))
    }

    async fn add_memory_version(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        expected: Option<u64>,
        new: &NewVersion,
    ) -> Result<u64, StoreError> {
        in_transaction!(self, RowScope::Tenant(tenant), tx => write::add_next(&tx, tenant, memory, expected, new))
    }

    async fn decide_memory(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        decision: &MemoryDecision,
    ) -> Result<(), StoreError> {
        in_transaction!(self, RowScope::Tenant(tenant), tx => write::decide(&tx, tenant, memory, decision))
    }

    async fn remove_memory(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        by: &UserId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        in_transaction!(self, RowScope::Tenant(tenant), tx => write::remove_one(&tx, tenant, memory, by, at))
    }

    async fn memory(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        now: Timestamp,
    ) -> Result<Option<MemoryRecord>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        read::one(&client, tenant, memory, now).await
    }

    async fn memory_version(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        version: u64,
    ) -> Result<Option<MemoryVersion>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        read::version(&client, tenant, memory, version).await
    }

    async fn memory_versions(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        limit: usize,
    ) -> Result<Vec<MemoryVersion>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        read::versions(&client, tenant, memory, limit).await
    }

    async fn memories(
        &self,
        tenant: &TenantId,
        reader: &UserId,
        proposals: Proposals,
        now: Timestamp,
        page: &PageRequest,
    ) -> Result<Page<MemoryRecord>, StoreError> {
        on_reader!(self, RowScope::Tenant(tenant), client =>
            read::list(client, tenant, reader, proposals, now, page))
    }

    async fn memory_changes(
        &self,
        tenant: &TenantId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<MemoryChange>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        changes::after(&client, tenant, after, limit).await
    }

    async fn nearest_memories(
        &self,
        tenant: &TenantId,
        asked: &NearestMemories<'_>,
    ) -> Result<Option<Vec<NearMemory>>, StoreError> {
        if !self.engine.pgvector {
            return Ok(None);
        }
        in_snapshot!(self, RowScope::Tenant(tenant), tx => near::nearest(&tx, tenant, asked))
            .map(Some)
    }

    async fn memories_without_vector(
        &self,
        model: &str,
        limit: usize,
    ) -> Result<Vec<(TenantId, MemoryVersion)>, StoreError> {
        let client = self.client(RowScope::Everyone).await?;
        vectors::missing(&client, model, limit).await
    }

    async fn put_memory_vectors(
        &self,
        vectors: &[(TenantId, MemoryId, u64, MemoryVector)],
    ) -> Result<(), StoreError> {
        in_transaction!(self, RowScope::Everyone, tx => vectors::insert_vectors(&tx, vectors))
    }

    async fn sweep_memories(&self, now: Timestamp) -> Result<u64, StoreError> {
        let now = column::micros(now);
        let mut swept = 0;
        loop {
            let removed = in_transaction!(self, RowScope::Everyone, tx => write::sweep(&tx, now))?;
            swept += removed as u64;
            if removed < SWEEP_BATCH {
                return Ok(swept);
            }
        }
    }
}
