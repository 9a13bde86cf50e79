//! Embeddings of memories by the model in use.

use charter_contract::ids::{MemoryId, TenantId};
use charter_store::StoreError;
use charter_store::memory::{MemoryVector, MemoryVersion};
use rusqlite::{Connection, params};

use super::super::statement::{execute, row, rows};
use super::write::NEXT_REVISION;
use super::{READING, WRITING};
use crate::column;
use crate::record::memory::{VERSION, VERSION_COLUMNS, version_at};
use crate::row::field;

pub(super) fn missing(
    connection: &Connection,
    model: &str,
    limit: usize,
) -> Result<Vec<(TenantId, MemoryVersion)>, StoreError> {
    rows(
        READING,
        connection,
        &format!(
            "SELECT {VERSION}, tenant_id FROM memory JOIN memory_version USING (memory_key)
             WHERE memory_version.version IN (current, proposed) AND NOT EXISTS (
                 SELECT 1 FROM memory_vector AS v WHERE v.memory_key = memory.memory_key
                 AND v.version = memory_version.version AND v.model = ?1)
             LIMIT ?2"
        ),
        params![model, column::limit(limit)],
        |row| {
            let tenant: String = field(row, VERSION_COLUMNS)?;
            Ok((column::parse("tenant id", &tenant)?, version_at(row, 0)?))
        },
    )
}

pub(super) fn insert_vectors(
    connection: &Connection,
    (tenant, memory, version, vector): &(TenantId, MemoryId, u64, MemoryVector),
) -> Result<(), StoreError> {
    let version = column::integer("version", *version)?;
    let key: Option<i64> = row(
        READING,
        connection,
        "SELECT memory_key FROM memory
         WHERE tenant_id = ?1 AND memory_id = ?2 AND ?3 IN (current, proposed)",
        params![tenant.as_str(), memory.as_str(), version],
        |row| field(row, 0),
    )?;
    let Some(key) = key else {
        return Ok(());
    };
    execute(
        WRITING,
        connection,
        "INSERT INTO memory_vector (memory_key, version, model, bytes) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (memory_key, version) DO UPDATE
         SET model = excluded.model, bytes = excluded.bytes",
        params![key, version, vector.model, vector.bytes],
    )?;
    execute(
        WRITING,
        connection,
        &format!(
            "UPDATE memory SET revision = {NEXT_REVISION} WHERE tenant_id = ?1 AND memory_key = ?2"
        ),
        params![tenant.as_str(), key],
    )
    .map(|_| ())
}
