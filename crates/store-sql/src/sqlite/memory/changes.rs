//! What changed among a tenant's memories, with what a search needs of it.

use charter_contract::ids::TenantId;
use charter_store::StoreError;
use charter_store::memory::{MemoryChange, MemoryVector};
use rusqlite::{Connection, params};

use super::super::statement::{field, rows};
use super::read::{RECORD, RECORD_COLUMNS, VERSION, VERSION_COLUMNS, record, version_at};
use crate::column;

pub(super) fn after(
    connection: &Connection,
    tenant: &TenantId,
    after: u64,
    limit: usize,
) -> Result<Vec<MemoryChange>, StoreError> {
    const VECTOR: usize = RECORD_COLUMNS + VERSION_COLUMNS;
    let found = rows(
        "reading what changed among memories",
        connection,
        &format!(
            "SELECT {RECORD}, {VERSION}, model, bytes, revision
             FROM (SELECT * FROM memory WHERE tenant_id = ?1 AND revision > ?2
                   ORDER BY revision LIMIT ?3) AS memory
             LEFT JOIN memory_version ON memory_version.memory_key = memory.memory_key
                   AND memory_version.version IN (current, proposed)
             LEFT JOIN memory_vector ON memory_vector.memory_key = memory_version.memory_key
                   AND memory_vector.version = memory_version.version
             ORDER BY revision"
        ),
        params![
            tenant.as_str(),
            column::integer("revision", after)?,
            column::limit(limit)
        ],
        |row| {
            let version: Option<i64> = field(row, RECORD_COLUMNS)?;
            let model: Option<String> = field(row, VECTOR)?;
            let bytes: Option<Vec<u8>> = field(row, VECTOR + 1)?;
            let vector = model.zip(bytes);
            let vector = vector.map(|(model, bytes)| MemoryVector { model, bytes });
            let version = match version {
                Some(_) => Some((version_at(row, RECORD_COLUMNS)?, vector)),
                None => None,
            };
            Ok(MemoryChange {
                revision: column::parse_integer("revision", field(row, VECTOR + 2)?)?,
                record: record(row, None)?,
                versions: version.into_iter().collect(),
            })
        },
    )?;
    let mut changes: Vec<MemoryChange> = Vec::with_capacity(found.len());
    for change in found {
        match changes.last_mut() {
            Some(last) if last.revision == change.revision => last.versions.extend(change.versions),
            _ => changes.push(change),
        }
    }
    Ok(changes)
}
