//! Indexes of lenses in SQLite.

use async_trait::async_trait;
use charter_contract::scope::Scope;
use charter_store::StoreError;
use charter_store::lens::{LensChunk, LensGeneration, LensRecord, Lenses, NewLensIndex};
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::statement::{execute, row, rows};
use crate::column;
use crate::record::lens::{KIND, check_generation, chunk, generation, gone, key, record};
use crate::row::field;

const READING: &str = "reading the index of a lens";
const WRITING: &str = "writing the index of a lens";

/// Stores an index in the place of whatever its lens had.
pub(super) fn put(
    connection: &Connection,
    scope: &Scope,
    index: &NewLensIndex,
) -> Result<LensGeneration, StoreError> {
    let scope = column::scope(scope);
    execute(
        WRITING,
        connection,
        "DELETE FROM lens_index WHERE scope = ?1 AND lens_id = ?2",
        [scope, index.lens_id.as_str()],
    )?;
    execute(
        WRITING,
        connection,
        "INSERT INTO lens_index (scope, lens_id, body) VALUES (?1, ?2, ?3)",
        [scope, index.lens_id.as_str(), index.body.as_str()],
    )?;
    let key = connection.last_insert_rowid();
    for (ordinal, chunk) in index.chunks.iter().enumerate() {
        execute(
            WRITING,
            connection,
            "INSERT INTO lens_chunk (generation, ordinal, text, place, vectors)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                key,
                column::limit(ordinal),
                chunk.text,
                chunk.place,
                chunk.vectors
            ],
        )?;
    }
    generation(key)
}

/// Removes the indexes of a scope whose lens is no longer in force.
pub(super) fn remove_orphans(connection: &Connection, scope: &Scope) -> Result<(), StoreError> {
    execute(
        WRITING,
        connection,
        "DELETE FROM lens_index WHERE scope = ?1 AND NOT EXISTS (
             SELECT 1 FROM document WHERE document.scope = ?1 AND document.kind = ?2
             AND document.id = lens_index.lens_id)",
        [column::scope(scope), KIND],
    )
    .map(|_| ())
}

fn replace(
    connection: &Connection,
    scope: &Scope,
    index: &NewLensIndex,
    expected: Option<LensGeneration>,
) -> Result<LensGeneration, StoreError> {
    let lens = index.lens_id.as_str();
    row(
        READING,
        connection,
        "SELECT 1 FROM document WHERE scope = ?1 AND kind = ?2 AND id = ?3",
        [column::scope(scope), KIND, lens],
        |row| field::<i64>(row, 0),
    )?
    .ok_or_else(|| StoreError::NotFound {
        what: KIND,
        id: lens.to_owned(),
    })?;
    let found = row(
        READING,
        connection,
        "SELECT generation FROM lens_index WHERE scope = ?1 AND lens_id = ?2",
        [column::scope(scope), lens],
        |row| generation(field(row, 0)?),
    )?;
    check_generation(&index.lens_id, found, expected)?;
    put(connection, scope, index)
}

fn chunks(
    connection: &Connection,
    generation: LensGeneration,
) -> Result<Vec<LensChunk>, StoreError> {
    let key = key(generation)?;
    let known: Option<i64> = row(
        READING,
        connection,
        "SELECT 1 FROM lens_index WHERE generation = ?1",
        [key],
        |row| field(row, 0),
    )?;
    known.ok_or_else(|| gone(generation))?;
    rows(
        READING,
        connection,
        "SELECT text, place, vectors FROM lens_chunk WHERE generation = ?1 ORDER BY ordinal",
        [key],
        chunk,
    )
}

#[async_trait]
impl Lenses for SqliteStore {
    async fn lens_indexes(&self) -> Result<Vec<LensRecord>, StoreError> {
        self.read(|connection| {
            rows(
                READING,
                connection,
                "SELECT generation, scope, lens_id, body FROM lens_index ORDER BY scope, lens_id",
                [],
                record,
            )
        })
        .await
    }

    async fn lens_chunks(&self, generation: LensGeneration) -> Result<Vec<LensChunk>, StoreError> {
        self.read(move |connection| chunks(connection, generation))
            .await
    }

    async fn replace_lens_index(
        &self,
        scope: &Scope,
        index: NewLensIndex,
        expected: Option<LensGeneration>,
    ) -> Result<LensGeneration, StoreError> {
        let scope = scope.clone();
        self.write(move |connection| replace(connection, &scope, &index, expected))
            .await
    }

    async fn note_lens_source(
        &self,
        generation: LensGeneration,
        body: &str,
    ) -> Result<(), StoreError> {
        let body = body.to_owned();
        self.write(move |connection| {
            let changed = execute(
                WRITING,
                connection,
                "UPDATE lens_index SET body = ?2 WHERE generation = ?1",
                params![key(generation)?, body],
            )?;
            if changed == 0 {
                return Err(gone(generation));
            }
            Ok(())
        })
        .await
    }
}
