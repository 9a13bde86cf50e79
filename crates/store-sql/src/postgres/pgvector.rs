//! Vectors in the form of the extension pgvector: stored beside the bytes if the server has the extension, and searched
//! by an index scan that continues until enough rows pass the filters.

mod memories;
mod passages;

use charter_contract::ids::TenantId;
use charter_store::StoreError;
use charter_store::lens::{NearPart, NearestPassages};
use charter_store::memory::{NearMemory, NearestMemories};
use deadpool_postgres::Object;

use super::PostgresEngine;
use super::connection::{RowScope, in_snapshot};
use crate::failure::postgres::during;
use crate::vector::VectorSearch;

/// Settings of an index scan: nearest first, continued until enough rows pass the filters, and planned for the actual
/// values, for which comparing every vector may be cheaper.
const READING: &str =
    "SET LOCAL hnsw.iterative_scan = strict_order; SET LOCAL hnsw.ef_search = 200;
     SET LOCAL hnsw.max_scan_tuples = 200000; SET LOCAL plan_cache_mode = force_custom_plan";

/// Applies the settings to the transaction of a connection. A search that is polled after this is sent with them.
async fn set_up(connection: &Object, doing: &'static str) -> Result<(), StoreError> {
    let set = connection.batch_execute(READING).await;
    set.map_err(during(doing))
}

impl VectorSearch for PostgresEngine {
    fn searches_vectors(&self) -> bool {
        self.pgvector
    }

    async fn nearest_memories(
        &self,
        tenant: &TenantId,
        asked: &NearestMemories<'_>,
    ) -> Result<Option<Vec<NearMemory>>, StoreError> {
        if !self.pgvector {
            return Ok(None);
        }
        in_snapshot!(self, RowScope::Tenant(tenant), client => memories::nearest(client, tenant, asked))
            .map(Some)
    }

    async fn nearest_passages(
        &self,
        tenant: &TenantId,
        asked: &NearestPassages<'_>,
    ) -> Result<Option<Vec<NearPart>>, StoreError> {
        if !self.pgvector {
            return Ok(None);
        }
        in_snapshot!(self, RowScope::Tenant(tenant), client => passages::nearest(client, tenant, asked))
            .map(Some)
    }
}
