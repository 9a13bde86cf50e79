//! Memories' vectors, and searches.

use charter_contract::ids::TenantId;
use charter_store::StoreError;
use charter_store::memory::{MemoryChange, MemoryVector, NearMemory, NearestMemories};
use deadpool_postgres::Object;
use futures_util::future::try_join;

use super::super::PostgresStore;
use super::set_up;
use crate::column;
use crate::memory::record::{RECORD, RECORD_COLUMNS, VERSION, VERSION_COLUMNS, record, version_at};
use crate::memory::write::insert_near;
use crate::row::field;
use crate::store::{Access, RowScope, SqlEngine};
use crate::tx::{Tx, params, rows};

const FINDING: &str = "finding memories by meaning";

/// Factor of a cosine in a query's result, which is an integer: billionths.
const BILLION: f32 = 1e9;

/// Vectors that one transaction converts after the extension was installed.
const BATCH: i64 = 500;

/// Returns the nearest memories that pass a filter.
pub(super) async fn nearest(
    connection: &Object,
    tenant: &TenantId,
    asked: &NearestMemories<'_>,
) -> Result<Vec<NearMemory>, StoreError> {
    let dims = asked.vector.len();
    let sql = format!(
        "SELECT {RECORD}, {VERSION}, revision,
                round(1e9 * (1 - (near.embedding::vector({dims}) <=> $3::real[]::vector({dims}))))::bigint
         FROM memory_near AS near
         JOIN memory ON memory.tenant_id = near.tenant_id AND memory.memory_id = near.memory_id
              AND memory.current = near.version
         JOIN memory_version ON memory_version.tenant_id = near.tenant_id
              AND memory_version.memory_id = near.memory_id AND memory_version.version = near.version
         WHERE near.tenant_id = $1 AND near.model = $2 AND vector_dims(near.embedding) = {dims}
           AND (visibility = 'shared' OR user_id = $4)
           AND (expires_at IS NULL OR expires_at > $5)
           AND at >= coalesce($6, at) AND at < coalesce($7, at + 1)
           AND body::jsonb -> 'tags' @> $8::text::jsonb
           AND (cardinality($9::text[]) = 0 OR body::jsonb -> 'tags' ?| $9)
           AND coalesce((body::jsonb #>> '{{metadata,importance}}')::bigint, $10) >= $11
         ORDER BY near.embedding::vector({dims}) <=> $3::real[]::vector({dims})
         LIMIT $12"
    );
    let tags_any: Vec<&str> = asked.tags_any.iter().map(String::as_str).collect();
    let values = params![
        tenant.as_str(),
        asked.model,
        asked.vector,
        asked.reader.as_str(),
        column::micros(asked.now),
        asked.from.map(column::micros),
        asked.until.map(column::micros),
        column::json("question", "tags", &asked.tags_all)?,
        tags_any,
        i64::from(asked.unsaid_importance),
        i64::from(asked.min_importance),
        column::limit(asked.most)
    ];
    let mut tx = Tx::of_client(connection);
    let found = rows(FINDING, &mut tx, &sql, values, |row| {
        let cosine: i64 = field(row, RECORD_COLUMNS + VERSION_COLUMNS + 1)?;
        let revision: i64 = field(row, RECORD_COLUMNS + VERSION_COLUMNS)?;
        let change = MemoryChange {
            revision: column::parse_integer("revision", revision)?,
            record: record(row)?,
            versions: vec![(version_at(row, RECORD_COLUMNS)?, None)],
        };
        Ok(NearMemory {
            change,
            cosine: cosine as f32 / BILLION,
        })
    });
    // The planner cannot estimate the selectivity of a filter on the text of a memory.
    let ((), found) = try_join(set_up(connection, FINDING), found).await?;
    Ok(found)
}

impl PostgresStore {
    /// Converts memories that were stored before the extension was installed.
    pub(in crate::postgres) async fn bring_over_memories(&self) -> Result<(), StoreError> {
        let mut next = Some((String::new(), String::new(), 0));
        while let Some(after) = next {
            next = self
                .engine
                .run(Access::Write, RowScope::Everyone, after, |tx, after| {
                    Box::pin(bring_over(tx, after))
                })
                .await?;
        }
        Ok(())
    }
}

/// Converts some memories after a key; returns the key of the last one.
async fn bring_over(
    tx: &mut Tx<'_>,
    (tenant, memory, version): &(String, String, i64),
) -> Result<Option<(String, String, i64)>, StoreError> {
    let missing: Vec<(String, String, i64, MemoryVector)> = rows(
        FINDING,
        tx,
        "SELECT tenant_id, memory_id, version, model, bytes FROM memory_vector AS v
         WHERE (tenant_id, memory_id, version) > ($1, $2, $3)
           AND NOT EXISTS (SELECT FROM memory_near AS n WHERE n.tenant_id = v.tenant_id
                           AND n.memory_id = v.memory_id AND n.version = v.version)
         ORDER BY tenant_id, memory_id, version LIMIT $4 FOR SHARE OF v",
        params![tenant, memory, *version, BATCH],
        |row| {
            let vector = MemoryVector {
                model: field(row, 3)?,
                bytes: field(row, 4)?,
            };
            Ok((field(row, 0)?, field(row, 1)?, field(row, 2)?, vector))
        },
    )
    .await?;
    for (tenant, memory, version, vector) in &missing {
        insert_near(tx, (tenant, memory), *version, vector).await?;
    }
    let last = missing.into_iter().last();
    Ok(last.map(|(tenant, memory, version, _)| (tenant, memory, version)))
}
