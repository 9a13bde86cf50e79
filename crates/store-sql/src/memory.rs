//! Memories. Triggers prevent versions from being overwritten or deleted. Changes lock the tenant's row first, so that
//! revisions become visible in order.

pub(crate) mod record;
pub(crate) mod write;

use async_trait::async_trait;
use charter_contract::ids::{MemoryId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::memory::{
    Memories, MemoryChange, MemoryDecision, MemoryRecord, MemoryVector, MemoryVersion, NearMemory,
    NearestMemories, NewMemory, NewVersion, Proposals,
};
use charter_store::page::{Page, PageRequest};

use self::record::{
    RECORD, VERSION, VERSION_COLUMNS, at_time, by_revision, change, record, version_at,
};
use crate::column::{self, Cursor};
use crate::row::field;
use crate::store::{Access, RowScope, SWEEP_BATCH, SqlStore};
use crate::tx::{Tx, params, rows};
use crate::vector::VectorSearch;

const READING: &str = "reading a memory";
pub(crate) const WRITING: &str = "writing a memory";

/// Tenant and memory.
pub(crate) type Key<'a> = (&'a str, &'a str);

async fn list(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    reader: &UserId,
    proposals: Proposals,
    now: Timestamp,
    page: &PageRequest,
) -> Result<Page<MemoryRecord>, StoreError> {
    let (at, id) = column::after(page)?;
    let which = match proposals {
        Proposals::Without => "current IS NOT NULL AND (visibility = 'shared' OR user_id = $4)",
        Proposals::Own => {
            "proposed IS NOT NULL AND (user_id = $4 OR EXISTS (SELECT 1 FROM memory_version AS v
             WHERE v.tenant_id = memory.tenant_id AND v.memory_id = memory.memory_id
               AND v.version = proposed AND v.author = $4))"
        }
        Proposals::Shared => "proposed IS NOT NULL AND (visibility = 'shared' OR user_id = $4)",
    };
    let entries = rows(
        "listing memories",
        tx,
        &format!(
            "SELECT {RECORD} FROM memory
             WHERE tenant_id = $1 AND (created_at, memory_id) < ($2, $3) AND removed_at IS NULL
               AND (expires_at IS NULL OR expires_at > $5) AND {which}
             ORDER BY created_at DESC, memory_id DESC LIMIT $6"
        ),
        params![
            tenant.as_str(),
            at,
            &id,
            reader.as_str(),
            column::micros(now),
            column::limit(page.limit() + 1)
        ],
        |row| Ok(at_time(record(row)?, now)),
    )
    .await?;
    Ok(column::page(entries, page, |memory| Cursor {
        at: column::micros(memory.created_at),
        id: memory.memory_id.to_string(),
    }))
}

#[async_trait]
impl<E: VectorSearch> Memories for SqlStore<E> {
    async fn add_memory(&self, new: &NewMemory, most: u64) -> Result<(), StoreError> {
        let scope = RowScope::Tenant(&new.tenant_id);
        self.engine
            .run(Access::Write, scope, new.clone(), move |tx, new| {
                Box::pin(write::add(tx, new, most))
            })
            .await
    }

    async fn add_memory_version(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        expected: Option<u64>,
        new: &NewVersion,
    ) -> Result<u64, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), memory.clone(), new.clone());
        self.engine
            .run(Access::Write, scope, values, move |tx, values| {
                let (tenant, memory, new) = values;
                Box::pin(write::add_next(tx, tenant, memory, expected, new))
            })
            .await
    }

    async fn decide_memory(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        decision: &MemoryDecision,
    ) -> Result<(), StoreError> {
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), memory.clone(), decision.clone());
        self.engine
            .run(Access::Write, scope, values, |tx, values| {
                let (tenant, memory, decision) = values;
                Box::pin(write::decide(tx, tenant, memory, decision))
            })
            .await
    }

    async fn remove_memory(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        by: &UserId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), memory.clone(), by.clone());
        let at = column::micros(at);
        self.engine
            .run(Access::Removal, scope, values, move |tx, values| {
                let (tenant, memory, by) = values;
                Box::pin(write::remove_one(tx, tenant, memory, by, at))
            })
            .await
    }

    async fn memory(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        now: Timestamp,
    ) -> Result<Option<MemoryRecord>, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let sql = format!("SELECT {RECORD} FROM memory WHERE tenant_id = $1 AND memory_id = $2");
        let values = params![tenant.as_str(), memory.as_str()];
        let found = self.engine.row(scope, READING, &sql, values, record);
        Ok(found.await?.map(|stored| at_time(stored, now)))
    }

    async fn memory_version(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        version: u64,
    ) -> Result<Option<MemoryVersion>, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let sql = format!(
            "SELECT {VERSION} FROM memory_version
             WHERE tenant_id = $1 AND memory_id = $2 AND version = $3"
        );
        let version = column::integer("version", version)?;
        let values = params![tenant.as_str(), memory.as_str(), version];
        let found = self
            .engine
            .row(scope, READING, &sql, values, |row| version_at(row, 0));
        found.await
    }

    async fn memory_versions(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        limit: usize,
    ) -> Result<Vec<MemoryVersion>, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let sql = format!(
            "SELECT {VERSION} FROM memory_version
             WHERE tenant_id = $1 AND memory_id = $2 ORDER BY version DESC LIMIT $3"
        );
        let values = params![tenant.as_str(), memory.as_str(), column::limit(limit)];
        let found = self
            .engine
            .rows(scope, READING, &sql, values, |row| version_at(row, 0));
        found.await
    }

    async fn memories(
        &self,
        tenant: &TenantId,
        reader: &UserId,
        proposals: Proposals,
        now: Timestamp,
        page: &PageRequest,
    ) -> Result<Page<MemoryRecord>, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), reader.clone(), page.clone());
        self.engine
            .run(Access::Listing, scope, values, move |tx, values| {
                let (tenant, reader, page) = values;
                Box::pin(list(tx, tenant, reader, proposals, now, page))
            })
            .await
    }

    async fn memory_changes(
        &self,
        tenant: &TenantId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<MemoryChange>, StoreError> {
        let sql = format!(
            "SELECT {RECORD}, {VERSION}, model, bytes, revision
             FROM (SELECT * FROM memory WHERE tenant_id = $1 AND revision > $2
                   ORDER BY revision LIMIT $3) AS memory
             LEFT JOIN memory_version ON memory_version.tenant_id = memory.tenant_id
                   AND memory_version.memory_id = memory.memory_id
                   AND memory_version.version IN (current, proposed)
             LEFT JOIN memory_vector ON memory_vector.tenant_id = memory_version.tenant_id
                   AND memory_vector.memory_id = memory_version.memory_id
                   AND memory_vector.version = memory_version.version
             ORDER BY revision, memory_version.version"
        );
        let after = column::integer("revision", after)?;
        let values = params![tenant.as_str(), after, column::limit(limit)];
        let doing = "reading what changed among memories";
        let found = self
            .engine
            .rows(RowScope::Tenant(tenant), doing, &sql, values, change);
        Ok(by_revision(found.await?))
    }

    async fn nearest_memories(
        &self,
        tenant: &TenantId,
        asked: &NearestMemories<'_>,
    ) -> Result<Option<Vec<NearMemory>>, StoreError> {
        self.engine.nearest_memories(tenant, asked).await
    }

    async fn memories_without_vector(
        &self,
        model: &str,
        limit: usize,
    ) -> Result<Vec<(TenantId, MemoryVersion)>, StoreError> {
        let sql = format!(
            "SELECT {VERSION}, tenant_id FROM memory JOIN memory_version USING (tenant_id, memory_id)
             WHERE memory_version.version IN (current, proposed) AND NOT EXISTS (
                 SELECT 1 FROM memory_vector AS v WHERE v.tenant_id = memory.tenant_id
                 AND v.memory_id = memory.memory_id AND v.version = memory_version.version
                 AND v.model = $1)
             LIMIT $2"
        );
        let values = params![model, column::limit(limit)];
        let found = self
            .engine
            .rows(RowScope::Everyone, READING, &sql, values, |row| {
                let tenant: String = field(row, VERSION_COLUMNS)?;
                Ok((column::parse("tenant id", &tenant)?, version_at(row, 0)?))
            });
        found.await
    }

    async fn put_memory_vectors(
        &self,
        vectors: &[(TenantId, MemoryId, u64, MemoryVector)],
    ) -> Result<(), StoreError> {
        let (scope, vectors) = (RowScope::Everyone, vectors.to_vec());
        self.engine
            .run(Access::Write, scope, vectors, |tx, vectors| {
                Box::pin(write::insert_vectors(tx, vectors))
            })
            .await
    }

    async fn sweep_memories(&self, now: Timestamp) -> Result<u64, StoreError> {
        let now = column::micros(now);
        let mut swept = 0;
        loop {
            let removed = self
                .engine
                .run(Access::Removal, RowScope::Everyone, (), move |tx, ()| {
                    Box::pin(write::sweep(tx, now))
                })
                .await?;
            swept += removed as u64;
            if removed < SWEEP_BATCH {
                return Ok(swept);
            }
        }
    }
}
