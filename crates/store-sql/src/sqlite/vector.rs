//! Embeddings in SQLite.

use std::collections::HashSet;

use async_trait::async_trait;
use charter_store::StoreError;
use charter_store::vector::{StoredVector, TextHash, Vectors};
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::statement::{execute, insert, row, rows};
use crate::column;
use crate::row::field;

const READING: &str = "reading vectors";
const WRITING: &str = "writing vectors";

fn model_key(connection: &Connection, model: &str) -> Result<Option<i64>, StoreError> {
    row(
        READING,
        connection,
        "SELECT model_key FROM embedding_model WHERE model = ?1",
        [model],
        |row| field(row, 0),
    )
}

fn insert_vectors(
    connection: &Connection,
    model: &str,
    vectors: &[StoredVector],
) -> Result<(), StoreError> {
    let known = model_key(connection, model)?;
    let key = match known {
        Some(key) => Some(key),
        None => insert(
            WRITING,
            connection,
            "INSERT INTO embedding_model (model) VALUES (?1) ON CONFLICT DO NOTHING",
            [model],
        )?,
    };
    for vector in vectors {
        execute(
            WRITING,
            connection,
            "INSERT INTO vector (model_key, text_hash, bytes) VALUES (?1, ?2, ?3)
             ON CONFLICT DO NOTHING",
            params![key, vector.text.0, vector.bytes],
        )?;
    }
    Ok(())
}

fn look_up(
    connection: &Connection,
    model: &str,
    texts: &[TextHash],
) -> Result<Vec<StoredVector>, StoreError> {
    let Some(key) = model_key(connection, model)? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::with_capacity(texts.len());
    for text in texts {
        let bytes: Option<Vec<u8>> = row(
            READING,
            connection,
            "SELECT bytes FROM vector WHERE model_key = ?1 AND text_hash = ?2",
            params![key, text.0],
            |row| field(row, 0),
        )?;
        found.extend(bytes.map(|bytes| StoredVector { text: *text, bytes }));
    }
    Ok(found)
}

/// Reads the table once in its own order; the index would cause random reads.
fn read_all(connection: &Connection, model: &str) -> Result<Vec<StoredVector>, StoreError> {
    let Some(key) = model_key(connection, model)? else {
        return Ok(Vec::new());
    };
    rows(
        READING,
        connection,
        "SELECT text_hash, bytes FROM vector NOT INDEXED WHERE model_key = ?1",
        [key],
        |row| {
            Ok(StoredVector {
                text: TextHash(column::parse_hash("text hash", field(row, 0)?)?),
                bytes: field(row, 1)?,
            })
        },
    )
}

fn retain(connection: &Connection, model: &str, keep: &[TextHash]) -> Result<u64, StoreError> {
    let Some(key) = model_key(connection, model)? else {
        return Ok(0);
    };
    let stored: Vec<Vec<u8>> = rows(
        READING,
        connection,
        "SELECT text_hash FROM vector WHERE model_key = ?1",
        [key],
        |row| field(row, 0),
    )?;
    let keep: HashSet<&[u8]> = keep.iter().map(|text| text.0.as_slice()).collect();
    let mut deleted = 0;
    for text in stored.iter().filter(|text| !keep.contains(text.as_slice())) {
        deleted += execute(
            "deleting vectors",
            connection,
            "DELETE FROM vector WHERE model_key = ?1 AND text_hash = ?2",
            params![key, text],
        )?;
    }
    Ok(deleted as u64)
}

#[async_trait]
impl Vectors for SqliteStore {
    async fn put_vectors(&self, model: &str, vectors: Vec<StoredVector>) -> Result<(), StoreError> {
        let model = model.to_owned();
        self.write(move |connection| insert_vectors(connection, &model, &vectors))
            .await
    }

    async fn vectors(
        &self,
        model: &str,
        texts: &[TextHash],
    ) -> Result<Vec<StoredVector>, StoreError> {
        let (model, texts) = (model.to_owned(), texts.to_vec());
        self.read(move |connection| look_up(connection, &model, &texts))
            .await
    }

    async fn all_vectors(&self, model: &str) -> Result<Vec<StoredVector>, StoreError> {
        let model = model.to_owned();
        self.read(move |connection| read_all(connection, &model))
            .await
    }

    async fn retain_vectors(&self, model: &str, keep: &[TextHash]) -> Result<u64, StoreError> {
        let (model, keep) = (model.to_owned(), keep.to_vec());
        self.write(move |connection| retain(connection, &model, &keep))
            .await
    }
}
