//! Changes of a tenant's memories, with the data that a search needs.

use charter_contract::ids::TenantId;
use charter_store::StoreError;
use charter_store::memory::MemoryChange;
use rusqlite::{Connection, params};

use super::super::statement::rows;
use crate::column;
use crate::record::memory::{RECORD, VERSION, by_revision, change};

pub(super) fn after(
    connection: &Connection,
    tenant: &TenantId,
    after: u64,
    limit: usize,
) -> Result<Vec<MemoryChange>, StoreError> {
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
        change,
    )?;
    Ok(by_revision(found))
}
