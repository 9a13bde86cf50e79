//! Embeddings in PostgreSQL, as bytes.

use async_trait::async_trait;
use charter_store::StoreError;
use charter_store::vector::{StoredVector, TextHash, Vectors};

use super::PostgresStore;
use super::connection::RowScope;
use super::statement::{execute, params, rows};
use crate::column;
use crate::row::{Columns, field};

const READING: &str = "reading vectors";

fn stored(row: &dyn Columns) -> Result<StoredVector, StoreError> {
    Ok(StoredVector {
        text: TextHash(column::parse_hash("text hash", field(row, 0)?)?),
        bytes: field(row, 1)?,
    })
}

fn hashes(texts: &[TextHash]) -> Vec<&[u8]> {
    texts.iter().map(|text| text.0.as_slice()).collect()
}

#[async_trait]
impl Vectors for PostgresStore {
    async fn put_vectors(&self, model: &str, vectors: Vec<StoredVector>) -> Result<(), StoreError> {
        let texts: Vec<&[u8]> = vectors.iter().map(|v| v.text.0.as_slice()).collect();
        let bytes: Vec<&[u8]> = vectors.iter().map(|v| v.bytes.as_slice()).collect();
        let client = self.client(RowScope::Everyone).await?;
        execute(
            "writing vectors",
            &client,
            "INSERT INTO embedding (model, text_hash, bytes)
             SELECT $1, text_hash, bytes FROM unnest($2::bytea[], $3::bytea[])
                  WITH ORDINALITY AS new (text_hash, bytes, place)
             ORDER BY text_hash, place
             ON CONFLICT DO NOTHING",
            params![model, texts, bytes],
        )
        .await
        .map(|_| ())
    }

    async fn vectors(
        &self,
        model: &str,
        texts: &[TextHash],
    ) -> Result<Vec<StoredVector>, StoreError> {
        let client = self.client(RowScope::Everyone).await?;
        let sql =
            "SELECT text_hash, bytes FROM embedding WHERE model = $1 AND text_hash = ANY ($2)";
        rows(READING, &client, sql, params![model, hashes(texts)], stored).await
    }

    async fn all_vectors(&self, model: &str) -> Result<Vec<StoredVector>, StoreError> {
        let client = self.client(RowScope::Everyone).await?;
        let sql = "SELECT text_hash, bytes FROM embedding WHERE model = $1";
        rows(READING, &client, sql, params![model], stored).await
    }

    async fn retain_vectors(&self, model: &str, keep: &[TextHash]) -> Result<u64, StoreError> {
        let client = self.client(RowScope::Everyone).await?;
        execute(
            "deleting vectors",
            &client,
            "DELETE FROM embedding WHERE model = $1
             AND NOT EXISTS (SELECT FROM unnest($2::bytea[]) AS kept WHERE kept = text_hash)",
            params![model, hashes(keep)],
        )
        .await
    }
}
