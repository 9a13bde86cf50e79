//! Indexes of lenses in SQLite.

use async_trait::async_trait;
use charter_contract::ids::TenantId;
use charter_contract::scope::Scope;
use charter_store::StoreError;
use charter_store::lens::{
    LensChunk, LensGeneration, LensRecord, LensText, Lenses, NearPart, NearestPassages,
    NewLensIndex, PassageKey,
};
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::statement::{execute, row, rows};
use crate::column;
use crate::record::lens::{
    KIND, check_generation, chunk, generation, gone, key, not_searched, passage_gone, record,
    stored, text,
};
use crate::row::{Columns, field};

const READING: &str = "reading the index of a lens";
const WRITING: &str = "writing the index of a lens";

/// Stores an index, and replaces the lens's earlier one.
pub(super) fn replace_index(
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
        let (vectors, parts) = stored(chunk);
        execute(
            WRITING,
            connection,
            "INSERT INTO lens_chunk (generation, ordinal, text, place, vectors, parts)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                key,
                column::limit(ordinal),
                chunk.text,
                chunk.place,
                vectors,
                parts
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
    replace_index(connection, scope, index)
}

/// Reads every chunk of an index of a scope, in order.
fn read_all<T>(
    connection: &Connection,
    scope: &Scope,
    generation: LensGeneration,
    columns: &str,
    read: impl FnMut(&dyn Columns) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let key = key(generation)?;
    let known: Option<i64> = row(
        READING,
        connection,
        "SELECT 1 FROM lens_index WHERE generation = ?1 AND scope = ?2",
        params![key, column::scope(scope)],
        |row| field(row, 0),
    )?;
    known.ok_or_else(|| gone(generation))?;
    let sql = format!("SELECT {columns} FROM lens_chunk WHERE generation = ?1 ORDER BY ordinal");
    rows(READING, connection, &sql, [key], read)
}

fn passage(
    connection: &Connection,
    tenant: &TenantId,
    passage: &PassageKey,
) -> Result<LensText, StoreError> {
    let found = row(
        READING,
        connection,
        "SELECT text, place FROM lens_chunk JOIN lens_index USING (generation)
         WHERE generation = ?1 AND ordinal = ?2 AND scope IN (?3, '')",
        params![
            key(passage.generation)?,
            column::limit(passage.ordinal),
            tenant.as_str()
        ],
        text,
    )?;
    found.ok_or_else(|| passage_gone(passage))
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

    async fn lens_chunks(
        &self,
        scope: &Scope,
        generation: LensGeneration,
    ) -> Result<Vec<LensChunk>, StoreError> {
        let (scope, columns) = (scope.clone(), "text, place, vectors, parts");
        self.read(move |connection| read_all(connection, &scope, generation, columns, chunk))
            .await
    }

    async fn lens_texts(
        &self,
        scope: &Scope,
        generation: LensGeneration,
    ) -> Result<Vec<LensText>, StoreError> {
        let scope = scope.clone();
        self.read(move |connection| read_all(connection, &scope, generation, "text, place", text))
            .await
    }

    async fn searches_passages(&self) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn nearest_passages(
        &self,
        _tenant: &TenantId,
        asked: &NearestPassages<'_>,
    ) -> Result<Vec<NearPart>, StoreError> {
        Err(not_searched(asked))
    }

    async fn passages(
        &self,
        tenant: &TenantId,
        passages: &[PassageKey],
    ) -> Result<Vec<LensText>, StoreError> {
        let (tenant, wanted) = (tenant.clone(), passages.to_vec());
        self.read(move |connection| {
            let found = wanted.iter().map(|key| passage(connection, &tenant, key));
            found.collect()
        })
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
        scope: &Scope,
        generation: LensGeneration,
        body: &str,
    ) -> Result<(), StoreError> {
        let (scope, body) = (scope.clone(), body.to_owned());
        self.write(move |connection| {
            let changed = execute(
                WRITING,
                connection,
                "UPDATE lens_index SET body = ?2 WHERE generation = ?1 AND scope = ?3",
                params![key(generation)?, body, column::scope(&scope)],
            )?;
            if changed == 0 {
                return Err(gone(generation));
            }
            Ok(())
        })
        .await
    }
}
