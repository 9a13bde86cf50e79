//! Embeddings of memories by the model in use.

use std::collections::BTreeSet;

use charter_contract::ids::{MemoryId, TenantId};
use charter_store::StoreError;
use charter_store::memory::{MemoryVector, MemoryVersion};
use deadpool_postgres::{GenericClient, Transaction};

use super::super::statement::{execute, params, rows};
use super::write::{NEXT_REVISION, lock};
use super::{Key, READING, WRITING, near};
use crate::column;
use crate::record::memory::{VERSION, VERSION_COLUMNS, version_at};
use crate::row::field;

pub(super) async fn missing(
    connection: &impl GenericClient,
    model: &str,
    limit: usize,
) -> Result<Vec<(TenantId, MemoryVersion)>, StoreError> {
    rows(
        READING,
        connection,
        &format!(
            "SELECT {VERSION}, tenant_id FROM memory JOIN memory_version USING (tenant_id, memory_id)
             WHERE memory_version.version IN (current, proposed) AND NOT EXISTS (
                 SELECT FROM memory_vector AS v WHERE v.tenant_id = memory.tenant_id
                 AND v.memory_id = memory.memory_id AND v.version = memory_version.version AND v.model = $1)
             LIMIT $2"
        ),
        params![model, column::limit(limit)],
        |row| {
            let tenant: String = field(row, VERSION_COLUMNS)?;
            Ok((column::parse("tenant id", &tenant)?, version_at(row, 0)?))
        },
    )
    .await
}

/// Inserts embeddings; locks the memories of several tenants in the order of the tenants' names.
pub(super) async fn insert_vectors(
    connection: &Transaction<'_>,
    vectors: &[(TenantId, MemoryId, u64, MemoryVector)],
) -> Result<(), StoreError> {
    let tenants: BTreeSet<&str> = vectors.iter().map(|(tenant, ..)| tenant.as_str()).collect();
    for tenant in tenants {
        lock(connection, tenant).await?;
    }
    for (tenant, memory, version, vector) in vectors {
        let key = (tenant.as_str(), memory.as_str());
        put_one(connection, key, *version, vector).await?;
    }
    Ok(())
}

async fn put_one(
    connection: &Transaction<'_>,
    (tenant, memory): Key<'_>,
    version: u64,
    vector: &MemoryVector,
) -> Result<(), StoreError> {
    let added = execute(
        WRITING,
        connection,
        "INSERT INTO memory_vector (tenant_id, memory_id, version, model, bytes)
         SELECT tenant_id, memory_id, $3, $4, $5 FROM memory
         WHERE tenant_id = $1 AND memory_id = $2 AND $3::bigint IN (current, proposed)
         ON CONFLICT (tenant_id, memory_id, version) DO UPDATE
         SET model = excluded.model, bytes = excluded.bytes",
        params![
            tenant,
            memory,
            column::integer("version", version)?,
            vector.model,
            vector.bytes
        ],
    )
    .await?;
    if added == 0 {
        return Ok(());
    }
    let number = column::integer("version", version)?;
    near::insert_vector(connection, (tenant, memory), number, vector).await?;
    execute(
        WRITING,
        connection,
        &format!(
            "UPDATE memory SET revision = {NEXT_REVISION} WHERE tenant_id = $1 AND memory_id = $2"
        ),
        params![tenant, memory],
    )
    .await
    .map(|_| ())
}
