//! Indexes of lenses in PostgreSQL. A change of an index locks its lens's document.

mod near;

use async_trait::async_trait;
use charter_contract::ids::TenantId;
use charter_contract::scope::Scope;
use charter_store::StoreError;
use charter_store::lens::{
    LensChunk, LensGeneration, LensRecord, LensText, Lenses, NearPart, NearestPassages,
    NewLensIndex, PassageKey,
};
use deadpool_postgres::Transaction;

use super::PostgresStore;
use super::connection::{RowScope, in_snapshot, in_transaction};
use super::statement::{execute, params, row, rows};
use crate::column;
use crate::record::lens::{
    KIND, check_generation, chunk, generation, gone, key, not_searched, passage_gone, record,
    stored, text,
};
use crate::row::{Columns, field};

const READING: &str = "reading the index of a lens";
const WRITING: &str = "writing the index of a lens";

/// Stores an index, and replaces the lens's earlier one.
pub(super) async fn replace_index(
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
    let (vectors, parts): (Vec<Vec<u8>>, Vec<i64>) = index.chunks.iter().map(stored).unzip();
    execute(
        WRITING,
        connection,
        "INSERT INTO lens_chunk (scope, generation, ordinal, text, place, vectors, parts)
         SELECT $1, $2, ordinal - 1, text, place, vectors, parts
         FROM unnest($3::text[], $4::text[], $5::bytea[], $6::bigint[])
              WITH ORDINALITY AS new (text, place, vectors, parts, ordinal)",
        params![
            scope,
            new,
            index.chunks.iter().map(|c| &*c.text).collect::<Vec<_>>(),
            index.chunks.iter().map(|c| &*c.place).collect::<Vec<_>>(),
            vectors,
            parts,
        ],
    )
    .await?;
    let vectors = index.chunks.iter().map(|chunk| chunk.vectors.as_slice());
    near::insert_vectors(connection, scope, new, vectors.enumerate()).await?;
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
    replace_index(connection, scope, index).await
}

/// Reads every chunk of an index of a scope, in order.
async fn read_all<T>(
    connection: &Transaction<'_>,
    scope: &Scope,
    generation: LensGeneration,
    columns: &str,
    read: impl FnMut(&dyn Columns) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let (scope, key) = (column::scope(scope), key(generation)?);
    let sql = "SELECT FROM lens_index WHERE scope = $1 AND generation = $2";
    let known = row(READING, connection, sql, params![scope, key], |_| Ok(())).await?;
    known.ok_or_else(|| gone(generation))?;
    let sql = format!(
        "SELECT {columns} FROM lens_chunk WHERE scope = $1 AND generation = $2 ORDER BY ordinal"
    );
    rows(READING, connection, &sql, params![scope, key], read).await
}

#[async_trait]
impl Lenses for PostgresStore {
    async fn lens_indexes(&self) -> Result<Vec<LensRecord>, StoreError> {
        let client = self.client(RowScope::Everyone).await?;
        let sql = "SELECT generation, scope, lens_id, body FROM lens_index ORDER BY scope, lens_id";
        rows(READING, &client, sql, params![], record).await
    }

    async fn lens_chunks(
        &self,
        scope: &Scope,
        generation: LensGeneration,
    ) -> Result<Vec<LensChunk>, StoreError> {
        let columns = "text, place, vectors, parts";
        in_snapshot!(self, RowScope::of(scope), tx => read_all(&tx, scope, generation, columns, chunk))
    }

    async fn lens_texts(
        &self,
        scope: &Scope,
        generation: LensGeneration,
    ) -> Result<Vec<LensText>, StoreError> {
        let columns = "text, place";
        in_snapshot!(self, RowScope::of(scope), tx => read_all(&tx, scope, generation, columns, text))
    }

    async fn searches_passages(&self) -> Result<bool, StoreError> {
        Ok(self.engine.pgvector)
    }

    async fn nearest_passages(
        &self,
        tenant: &TenantId,
        asked: &NearestPassages<'_>,
    ) -> Result<Vec<NearPart>, StoreError> {
        if !self.engine.pgvector {
            return Err(not_searched(asked));
        }
        in_snapshot!(self, RowScope::Tenant(tenant), tx => near::nearest(&tx, tenant, asked))
    }

    async fn passages(
        &self,
        tenant: &TenantId,
        passages: &[PassageKey],
    ) -> Result<Vec<LensText>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        let (generations, ordinals) = near::columns(passages)?;
        let found = rows(
            READING,
            &client,
            "SELECT c.text, c.place, wanted.number
             FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS wanted (generation, ordinal, number)
             CROSS JOIN (VALUES ($1), ('')) AS of (scope)
             JOIN lens_chunk AS c ON c.scope = of.scope AND c.generation = wanted.generation
                                 AND c.ordinal = wanted.ordinal
             ORDER BY wanted.number",
            params![tenant.as_str(), generations, ordinals],
            |row| Ok((text(row)?, field::<i64>(row, 2)?)),
        )
        .await?;
        let mut numbers = (1..).zip(passages);
        let missing = numbers.find(|(number, _)| !found.iter().any(|(_, at)| at == number));
        match missing {
            Some((_, passage)) => Err(passage_gone(passage)),
            None => Ok(found.into_iter().map(|(text, _)| text).collect()),
        }
    }

    async fn replace_lens_index(
        &self,
        scope: &Scope,
        index: NewLensIndex,
        expected: Option<LensGeneration>,
    ) -> Result<LensGeneration, StoreError> {
        in_transaction!(self, RowScope::of(scope), tx => replace(&tx, scope, &index, expected))
    }

    async fn note_lens_source(
        &self,
        scope: &Scope,
        generation: LensGeneration,
        body: &str,
    ) -> Result<(), StoreError> {
        let client = self.client(RowScope::of(scope)).await?;
        let sql = "UPDATE lens_index SET body = $3 WHERE scope = $1 AND generation = $2";
        let values = params![column::scope(scope), key(generation)?, body];
        let changed = execute(WRITING, &client, sql, values).await?;
        if changed == 0 {
            return Err(gone(generation));
        }
        Ok(())
    }
}
