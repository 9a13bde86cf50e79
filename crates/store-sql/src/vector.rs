//! Embeddings, and the search of vectors by an engine.

use std::collections::HashSet;
use std::future::ready;

use async_trait::async_trait;
use charter_contract::ids::TenantId;
use charter_store::StoreError;
use charter_store::lens::{NearPart, NearestPassages};
use charter_store::memory::{NearMemory, NearestMemories};
use charter_store::vector::{StoredVector, TextHash, Vectors};

use crate::column;
use crate::row::{Columns, field};
use crate::store::{Access, RowScope, SqlEngine, SqlStore};
use crate::tx::{Dialect, SqlValue, Tx, execute_many, params, row_each, rows};

const READING: &str = "reading vectors";

/// The search of vectors by an engine. The default is that the engine has none.
pub(crate) trait VectorSearch: SqlEngine {
    /// Whether the engine searches; constant while the store is open.
    fn searches_vectors(&self) -> bool {
        false
    }

    /// Returns the nearest memories; `None` if the engine does not search.
    fn nearest_memories(
        &self,
        _tenant: &TenantId,
        _asked: &NearestMemories<'_>,
    ) -> impl Future<Output = Result<Option<Vec<NearMemory>>, StoreError>> + Send {
        ready(Ok(None))
    }

    /// Returns the nearest parts of passages; `None` if the engine does not search.
    fn nearest_passages(
        &self,
        _tenant: &TenantId,
        _asked: &NearestPassages<'_>,
    ) -> impl Future<Output = Result<Option<Vec<NearPart>>, StoreError>> + Send {
        ready(Ok(None))
    }
}

/// Reads `text_hash, bytes`.
fn stored(row: &dyn Columns) -> Result<StoredVector, StoreError> {
    Ok(StoredVector {
        text: text(row)?,
        bytes: field(row, 1)?,
    })
}

/// Reads `text_hash`.
fn text(row: &dyn Columns) -> Result<TextHash, StoreError> {
    column::parse_hash("text hash", field(row, 0)?).map(TextHash)
}

fn keys<'v>(model: &'v str, texts: &'v [TextHash]) -> Vec<Vec<SqlValue<'v>>> {
    let keys = texts
        .iter()
        .map(|text| params![model, text.0.as_slice()].to_vec());
    keys.collect()
}

async fn insert(tx: &mut Tx<'_>, model: &str, vectors: &[StoredVector]) -> Result<(), StoreError> {
    let vectors: Vec<Vec<SqlValue<'_>>> = vectors
        .iter()
        .map(|vector| params![model, vector.text.0.as_slice(), vector.bytes.as_slice()].to_vec())
        .collect();
    execute_many(
        "writing vectors",
        tx,
        "INSERT INTO embedding (model, text_hash, bytes) VALUES ($1, $2, $3)
         ON CONFLICT DO NOTHING",
        &vectors,
    )
    .await
    .map(|_| ())
}

async fn find(
    tx: &mut Tx<'_>,
    model: &str,
    texts: &[TextHash],
) -> Result<Vec<StoredVector>, StoreError> {
    let sql = "SELECT text_hash, bytes FROM embedding WHERE model = $1 AND text_hash = $2";
    let found = row_each(READING, tx, sql, &keys(model, texts), stored).await?;
    Ok(found.into_iter().flatten().collect())
}

async fn all(tx: &mut Tx<'_>, model: &str) -> Result<Vec<StoredVector>, StoreError> {
    // SQLite reads the table in its own order; the index would cause random reads.
    let order = match tx.dialect() {
        Dialect::Sqlite => " NOT INDEXED",
        Dialect::Postgres => "",
    };
    let sql = format!("SELECT text_hash, bytes FROM embedding{order} WHERE model = $1");
    rows(READING, tx, &sql, params![model], stored).await
}

/// Deletes the vectors of other texts; in order, so that concurrent callers do not wait for each other.
async fn retain(tx: &mut Tx<'_>, model: &str, keep: &[TextHash]) -> Result<u64, StoreError> {
    let sql = "SELECT text_hash FROM embedding WHERE model = $1 ORDER BY text_hash";
    let mut others = rows(READING, tx, sql, params![model], text).await?;
    let keep: HashSet<&TextHash> = keep.iter().collect();
    others.retain(|text| !keep.contains(text));
    let sql = "DELETE FROM embedding WHERE model = $1 AND text_hash = $2";
    execute_many("deleting vectors", tx, sql, &keys(model, &others)).await
}

#[async_trait]
impl<E: SqlEngine> Vectors for SqlStore<E> {
    async fn put_vectors(
        &self,
        model: &str,
        mut vectors: Vec<StoredVector>,
    ) -> Result<(), StoreError> {
        // In order, so that concurrent callers do not wait for each other.
        vectors.sort_by_key(|vector| vector.text);
        let values = (model.to_owned(), vectors);
        self.engine
            .run(
                Access::Write,
                RowScope::Everyone,
                values,
                |tx, (model, vectors)| Box::pin(insert(tx, model, vectors)),
            )
            .await
    }

    async fn vectors(
        &self,
        model: &str,
        texts: &[TextHash],
    ) -> Result<Vec<StoredVector>, StoreError> {
        let values = (model.to_owned(), texts.to_vec());
        self.engine
            .run(
                Access::Read,
                RowScope::Everyone,
                values,
                |tx, (model, texts)| Box::pin(find(tx, model, texts)),
            )
            .await
    }

    async fn all_vectors(&self, model: &str) -> Result<Vec<StoredVector>, StoreError> {
        let model = model.to_owned();
        self.engine
            .run(Access::Read, RowScope::Everyone, model, |tx, model| {
                Box::pin(all(tx, model))
            })
            .await
    }

    async fn retain_vectors(&self, model: &str, keep: &[TextHash]) -> Result<u64, StoreError> {
        let values = (model.to_owned(), keep.to_vec());
        self.engine
            .run(
                Access::Write,
                RowScope::Everyone,
                values,
                |tx, (model, keep)| Box::pin(retain(tx, model, keep)),
            )
            .await
    }
}

/// Converts a stored vector to a literal of pgvector; `None` for invalid bytes, which a search skips.
pub(crate) fn converted(bytes: &[u8]) -> Option<String> {
    let (chunks, rest) = bytes.as_chunks::<4>();
    let components: Vec<f32> = chunks.iter().map(|c| f32::from_le_bytes(*c)).collect();
    let sound = rest.is_empty()
        && components.iter().all(|c| c.is_finite())
        && components.iter().any(|c| *c != 0.0);
    sound.then(|| literal(&components))
}

/// Formats a vector for pgvector.
fn literal(components: &[f32]) -> String {
    let components: Vec<String> = components.iter().map(f32::to_string).collect();
    format!("[{}]", components.join(","))
}
