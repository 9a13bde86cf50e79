//! Memories in SQLite. Triggers prevent versions from being overwritten or deleted (`migrations/V1__initial.sql`).

mod changes;
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

use super::{SWEEP_BATCH, SqliteStore};
use crate::column;

const READING: &str = "reading a memory";
const WRITING: &str = "writing a memory";

#[async_trait]
impl Memories for SqliteStore {
    async fn add_memory(&self, new: &NewMemory, most: u64) -> Result<(), StoreError> {
        let new = new.clone();
        self.write(move |connection| write::add(connection, &new, most))
            .await
    }

    async fn add_memory_version(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        expected: Option<u64>,
        new: &NewVersion,
    ) -> Result<u64, StoreError> {
        let (tenant, memory, new) = (tenant.clone(), memory.clone(), new.clone());
        self.write(move |connection| write::add_next(connection, &tenant, &memory, expected, &new))
            .await
    }

    async fn decide_memory(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        decision: &MemoryDecision,
    ) -> Result<(), StoreError> {
        let (tenant, memory, decision) = (tenant.clone(), memory.clone(), decision.clone());
        self.write(move |connection| write::decide(connection, &tenant, &memory, &decision))
            .await
    }

    async fn remove_memory(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        by: &UserId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let (tenant, memory, by) = (tenant.clone(), memory.clone(), by.clone());
        self.write(move |connection| write::remove_one(connection, &tenant, &memory, &by, at))
            .await
    }

    async fn memory(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        now: Timestamp,
    ) -> Result<Option<MemoryRecord>, StoreError> {
        let (tenant, memory) = (tenant.clone(), memory.clone());
        self.read(move |connection| read::one(connection, &tenant, &memory, now))
            .await
    }

    async fn memory_version(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        version: u64,
    ) -> Result<Option<MemoryVersion>, StoreError> {
        let (tenant, memory) = (tenant.clone(), memory.clone());
        self.read(move |connection| read::version(connection, &tenant, &memory, version))
            .await
    }

    async fn memory_versions(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        limit: usize,
    ) -> Result<Vec<MemoryVersion>, StoreError> {
        let (tenant, memory) = (tenant.clone(), memory.clone());
        self.read(move |connection| read::versions(connection, &tenant, &memory, limit))
            .await
    }

    async fn memories(
        &self,
        tenant: &TenantId,
        reader: &UserId,
        proposals: Proposals,
        now: Timestamp,
        page: &PageRequest,
    ) -> Result<Page<MemoryRecord>, StoreError> {
        let (tenant, reader, page) = (tenant.clone(), reader.clone(), page.clone());
        self.read(move |connection| read::list(connection, &tenant, &reader, proposals, now, &page))
            .await
    }

    async fn memory_changes(
        &self,
        tenant: &TenantId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<MemoryChange>, StoreError> {
        let tenant = tenant.clone();
        self.read(move |connection| changes::after(connection, &tenant, after, limit))
            .await
    }

    async fn nearest_memories(
        &self,
        _tenant: &TenantId,
        _asked: &NearestMemories<'_>,
    ) -> Result<Option<Vec<NearMemory>>, StoreError> {
        Ok(None)
    }

    async fn memories_without_vector(
        &self,
        model: &str,
        limit: usize,
    ) -> Result<Vec<(TenantId, MemoryVersion)>, StoreError> {
        let model = model.to_owned();
        self.read(move |connection| vectors::missing(connection, &model, limit))
            .await
    }

    async fn put_memory_vectors(
        &self,
        vectors: &[(TenantId, MemoryId, u64, MemoryVector)],
    ) -> Result<(), StoreError> {
        let vectors = vectors.to_vec();
        self.write(move |connection| {
            let mut each = vectors.iter();
            each.try_for_each(|vector| vectors::insert_vectors(connection, vector))
        })
        .await
    }

    async fn sweep_memories(&self, now: Timestamp) -> Result<u64, StoreError> {
        let now = column::micros(now);
        let mut swept = 0;
        loop {
            let removed = self
                .write(move |connection| write::sweep(connection, now))
                .await?;
            swept += removed as u64;
            if removed < SWEEP_BATCH {
                return Ok(swept);
            }
        }
    }
}
