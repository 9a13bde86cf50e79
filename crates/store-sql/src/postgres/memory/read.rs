//! Reads memories and their versions.

use charter_contract::ids::{MemoryId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::memory::{MemoryRecord, MemoryVersion, Proposals};
use charter_store::page::{Page, PageRequest};
use deadpool_postgres::GenericClient;

use super::super::statement::{params, row, rows};
use super::READING;
use crate::column::{self, Cursor};
use crate::record::memory::{RECORD, VERSION, record, version_at};

pub(super) async fn one(
    connection: &impl GenericClient,
    tenant: &TenantId,
    memory: &MemoryId,
    now: Timestamp,
) -> Result<Option<MemoryRecord>, StoreError> {
    row(
        READING,
        connection,
        &format!("SELECT {RECORD} FROM memory WHERE tenant_id = $1 AND memory_id = $2"),
        params![tenant.as_str(), memory.as_str()],
        |row| record(row, Some(now)),
    )
    .await
}

pub(super) async fn version(
    connection: &impl GenericClient,
    tenant: &TenantId,
    memory: &MemoryId,
    version: u64,
) -> Result<Option<MemoryVersion>, StoreError> {
    row(
        READING,
        connection,
        &format!(
            "SELECT {VERSION} FROM memory_version
             WHERE tenant_id = $1 AND memory_id = $2 AND version = $3"
        ),
        params![
            tenant.as_str(),
            memory.as_str(),
            column::integer("version", version)?
        ],
        |row| version_at(row, 0),
    )
    .await
}

pub(super) async fn versions(
    connection: &impl GenericClient,
    tenant: &TenantId,
    memory: &MemoryId,
    limit: usize,
) -> Result<Vec<MemoryVersion>, StoreError> {
    rows(
        READING,
        connection,
        &format!(
            "SELECT {VERSION} FROM memory_version
             WHERE tenant_id = $1 AND memory_id = $2 ORDER BY version DESC LIMIT $3"
        ),
        params![tenant.as_str(), memory.as_str(), column::limit(limit)],
        |row| version_at(row, 0),
    )
    .await
}

pub(super) async fn list(
    connection: &impl GenericClient,
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
            "proposed IS NOT NULL AND (user_id = $4 OR EXISTS (SELECT FROM memory_version AS v
             WHERE v.tenant_id = memory.tenant_id AND v.memory_id = memory.memory_id AND v.version = proposed AND v.author = $4))"
        }
        Proposals::Shared => "proposed IS NOT NULL AND (visibility = 'shared' OR user_id = $4)",
    };
    let entries = rows(
        "listing memories",
        connection,
        &format!(
            "SELECT {RECORD} FROM memory
             WHERE tenant_id = $1 AND (created_at, memory_id) < ($2, $3) AND removed_at IS NULL
               AND (expires_at IS NULL OR expires_at > $5) AND {which}
             ORDER BY created_at DESC, memory_id DESC LIMIT $6"
        ),
        params![
            tenant.as_str(),
            at,
            id,
            reader.as_str(),
            column::micros(now),
            column::limit(page.limit() + 1)
        ],
        |row| record(row, Some(now)),
    )
    .await?;
    Ok(column::page(entries, page, |memory| Cursor {
        at: column::micros(memory.created_at),
        id: memory.memory_id.to_string(),
    }))
}
