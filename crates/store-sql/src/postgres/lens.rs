//! Indexes of lenses in PostgreSQL. Whoever changes one locks its lens's document.

use async_trait::async_trait;
use charter_contract::scope::Scope;
use charter_store::StoreError;
use charter_store::lens::{LensChunk, LensGeneration, LensRecord, Lenses, NewLensIndex};
use deadpool_postgres::Transaction;

use super::PostgresStore;
use super::connection::{Reach, in_snapshot, in_transaction};
use super::statement::{execute, params, row, rows};
use crate::column;
use crate::record::lens::{KIND, check_generation, chunk, generation, gone, key, record};
use crate::row::field;

const READING: &str = "reading the index of a lens";
const WRITING: &str = "writing the index of a lens";

/// Stores an index in the place of whatever its lens had.
pub(super) async fn put(
    connection: &Transaction<'_>,
    scope: &Scope,
    index: &NewLensIndex,
) -> Result<LensGeneration, StoreError> {
    let (scope, lens) = (column::scope(scope), index.lens_id.as_str());
    let sql = "DELETE FROM lens_index WHERE scope = $1 AND lens_id = $2";
    execute(WRITING, connection, sql, params![scope, lens]).await?;
    let sql =
        "INSERT INTO lens_index (scope, lens_id, body) VALUES ($1, $2, $3) RETURNING generation";
    let values = params![scope, lens, index.body];
    let new: Option<i64> = row(WRITING, connection, sql, values, |row| field(row, 0)).await?;
    let new = new.ok_or_else(|| StoreError::Refused {
        what: "lens index",
        id: lens.to_owned(),
        detail: "it has no place".to_owned(),
    })?;
    execute(
        WRITING,
        connection,
        "INSERT INTO lens_chunk (scope, generation, ordinal, text, place, vectors)
         SELECT $1, $2, ordinal - 1, text, place, vectors
         FROM unnest($3::text[], $4::text[], $5::bytea[])
              WITH ORDINALITY AS new (text, place, vectors, ordinal)",
        params![
            scope,
            new,
            index.chunks.iter().map(|c| &*c.text).collect::<Vec<_>>(),
            index.chunks.iter().map(|c| &*c.place).collect::<Vec<_>>(),
            index.chunks.iter().map(|c| &*c.vectors).collect::<Vec<_>>(),
        ],
    )
    .await?;
    generation(new)
}

/// Removes the indexes of a scope whose lens is no longer in force.
pub(super) async fn remove_orphans(
    connection: &Transaction<'_>,
    scope: &Scope,
) -> Result<(), StoreError> {
    execute(
        WRITING,
        connection,
        "DELETE FROM lens_index WHERE scope = $1 AND NOT EXISTS (
             SELECT FROM document WHERE document.scope = $1 AND document.kind = $2
             AND document.id = lens_index.lens_id)",
        params![column::scope(scope), KIND],
    )
    .await
    .map(|_| ())
}

async fn replace(
    connection: &Transaction<'_>,
    scope: &Scope,
    index: &NewLensIndex,
    expected: Option<LensGeneration>,
) -> Result<LensGeneration, StoreError> {
    let lens = index.lens_id.as_str();
    row(
        READING,
        connection,
        "SELECT FROM document WHERE scope = $1 AND kind = $2 AND id = $3 FOR UPDATE",
        params![column::scope(scope), KIND, lens],
        |_| Ok(()),
    )
    .await?
    .ok_or_else(|| StoreError::NotFound {
        what: KIND,
        id: lens.to_owned(),
    })?;
    let found = row(
        READING,
        connection,
        "SELECT generation FROM lens_index WHERE scope = $1 AND lens_id = $2",
        params![column::scope(scope), lens],
        |row| generation(field(row, 0)?),
    )
    .await?;
    check_generation(&index.lens_id, found, expected)?;
    put(connection, scope, index).await
}

async fn chunks(
    connection: &Transaction<'_>,
    generation: LensGeneration,
) -> Result<Vec<LensChunk>, StoreError> {
    let sql = "SELECT scope FROM lens_index WHERE generation = $1";
    let values = params![key(generation)?];
    let scope: Option<String> = row(READING, connection, sql, values, |row| field(row, 0)).await?;
    let scope = scope.ok_or_else(|| gone(generation))?;
    rows(
        READING,
        connection,
        "SELECT text, place, vectors FROM lens_chunk WHERE scope = $1 AND generation = $2
         ORDER BY ordinal",
        params![scope, key(generation)?],
        chunk,
    )
    .await
}

#[async_trait]
impl Lenses for PostgresStore {
    async fn lens_indexes(&self) -> Result<Vec<LensRecord>, StoreError> {
        let client = self.client(Reach::Everyone).await?;
        let sql = "SELECT generation, scope, lens_id, body FROM lens_index ORDER BY scope, lens_id";
        rows(READING, &client, sql, params![], record).await
    }

    async fn lens_chunks(&self, generation: LensGeneration) -> Result<Vec<LensChunk>, StoreError> {
        in_snapshot!(self, Reach::Everyone, tx => chunks(&tx, generation))
    }

    async fn replace_lens_index(
        &self,
        scope: &Scope,
        index: NewLensIndex,
        expected: Option<LensGeneration>,
    ) -> Result<LensGeneration, StoreError> {
        in_transaction!(self, Reach::of(scope), tx => replace(&tx, scope, &index, expected))
    }

    async fn note_lens_source(
        &self,
        generation: LensGeneration,
        body: &str,
    ) -> Result<(), StoreError> {
        let client = self.client(Reach::Everyone).await?;
        let sql = "UPDATE lens_index SET body = $2 WHERE generation = $1";
        let changed = execute(WRITING, &client, sql, params![key(generation)?, body]).await?;
        if changed == 0 {
            return Err(gone(generation));
        }
        Ok(())
    }
}
