//! Indexes of lenses. A change of an index locks its lens's document.

use async_trait::async_trait;
use charter_contract::catalogue::DocumentKind;
use charter_contract::ids::{LensId, TenantId};
use charter_contract::scope::Scope;
use charter_store::StoreError;
use charter_store::lens::{
    LensChunk, LensGeneration, LensRecord, LensText, Lenses, NearPart, NearestPassages,
    NewLensIndex, PassageKey,
};

use crate::column;
use crate::row::{Columns, field};
use crate::store::{Access, RowScope, SqlStore};
use crate::tx::{Dialect, SqlValue, Tx, execute, execute_many, params, row, rows};
use crate::vector::{VectorSearch, converted};

/// Passages whose vectors one statement inserts: the HNSW index takes about a millisecond for each vector.
const VECTORS_BATCH: usize = 100;

const READING: &str = "reading the index of a lens";
pub(crate) const WRITING: &str = "writing the index of a lens";

/// The document kind of lenses.
const KIND: &str = DocumentKind::DomainLens.as_str();

/// Reads `generation, scope, lens_id, body`.
fn record(row: &dyn Columns) -> Result<LensRecord, StoreError> {
    let (scope, lens): (String, String) = (field(row, 1)?, field(row, 2)?);
    Ok(LensRecord {
        generation: generation(field(row, 0)?)?,
        scope: column::parse_scope(&scope)?,
        lens_id: column::parse::<LensId>("lens id", &lens)?,
        body: field(row, 3)?,
    })
}

pub(crate) fn generation(number: i64) -> Result<LensGeneration, StoreError> {
    column::parse_integer("lens index", number).map(LensGeneration)
}

pub(crate) fn key(generation: LensGeneration) -> Result<i64, StoreError> {
    column::integer("lens index", generation.0)
}

pub(crate) fn gone(generation: LensGeneration) -> StoreError {
    StoreError::NotFound {
        what: "lens index",
        id: generation.0.to_string(),
    }
}

/// Reads `text, place`.
fn text(row: &dyn Columns) -> Result<LensText, StoreError> {
    Ok(LensText {
        text: field(row, 0)?,
        place: field(row, 1)?,
    })
}

/// Reads `text, place`, which are NULL for a chunk that does not exist.
fn text_if_found(row: &dyn Columns) -> Result<Option<LensText>, StoreError> {
    let (text, place): (Option<String>, Option<String>) = (field(row, 0)?, field(row, 1)?);
    let found = text.zip(place);
    Ok(found.map(|(text, place)| LensText { text, place }))
}

/// Reads `text, place, vectors, parts`.
fn chunk(row: &dyn Columns) -> Result<LensChunk, StoreError> {
    Ok(LensChunk {
        text: field(row, 0)?,
        place: field(row, 1)?,
        vectors: parts(field(row, 2)?, field(row, 3)?)?,
    })
}

/// Splits the stored vectors of a chunk, which are concatenated.
pub(crate) fn parts(bytes: &[u8], parts: i64) -> Result<Vec<Vec<u8>>, StoreError> {
    let damaged = || StoreError::Corrupt {
        what: "passage",
        id: format!("{} bytes", bytes.len()),
        detail: format!("they are not vectors of {parts} parts"),
    };
    let count = usize::try_from(parts).map_err(|_| damaged())?;
    match count {
        0 if bytes.is_empty() => Ok(Vec::new()),
        1.. if !bytes.is_empty() && bytes.len().is_multiple_of(count) => {
            let vectors = bytes.chunks(bytes.len() / count);
            Ok(vectors.map(<[u8]>::to_vec).collect())
        }
        _ => Err(damaged()),
    }
}

fn passage_gone(passage: &PassageKey) -> StoreError {
    StoreError::NotFound {
        what: "passage",
        id: format!("{} of lens index {}", passage.ordinal, passage.generation.0),
    }
}

/// Checks that the stored index is the one that the caller expects.
fn check_generation(
    lens: &LensId,
    found: Option<LensGeneration>,
    expected: Option<LensGeneration>,
) -> Result<(), StoreError> {
    if found == expected {
        return Ok(());
    }
    Err(StoreError::VersionConflict {
        what: "lens index",
        id: lens.to_string(),
        expected: expected.map_or(0, |generation| generation.0),
        found: found.map_or(0, |generation| generation.0),
    })
}

/// Stores an index, and replaces the lens's earlier one.
pub(crate) async fn replace_index(
    tx: &mut Tx<'_>,
    scope: &Scope,
    index: &NewLensIndex,
) -> Result<LensGeneration, StoreError> {
    let (scope, lens) = (column::scope(scope), index.lens_id.as_str());
    let sql = "DELETE FROM lens_index WHERE scope = $1 AND lens_id = $2";
    execute(WRITING, tx, sql, params![scope, lens]).await?;
    let sql =
        "INSERT INTO lens_index (scope, lens_id, body) VALUES ($1, $2, $3) RETURNING generation";
    let values = params![scope, lens, &index.body];
    let new: Option<i64> = row(WRITING, tx, sql, values, |row| field(row, 0)).await?;
    let new = new.ok_or_else(|| StoreError::Refused {
        what: "lens index",
        id: lens.to_owned(),
        detail: "it has no place".to_owned(),
    })?;
    let chunks = (0_i64..).zip(&index.chunks).map(|(ordinal, chunk)| {
        let vectors = SqlValue::Bytes(chunk.vectors.concat().into());
        let parts = column::limit(chunk.vectors.len());
        params![
            scope,
            new,
            ordinal,
            &chunk.text,
            &chunk.place,
            vectors,
            parts
        ]
        .to_vec()
    });
    let chunks: Vec<Vec<SqlValue<'_>>> = chunks.collect();
    execute_many(
        WRITING,
        tx,
        "INSERT INTO lens_chunk (scope, generation, ordinal, text, place, vectors, parts)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        &chunks,
    )
    .await?;
    let vectors = index.chunks.iter().map(|chunk| chunk.vectors.as_slice());
    let vectors: Vec<(i64, &[Vec<u8>])> = (0..).zip(vectors).collect();
    insert_vectors(tx, scope, new, &vectors).await?;
    generation(new)
}

/// Removes the indexes of a scope whose lens is no longer in force.
pub(crate) async fn remove_orphans(tx: &mut Tx<'_>, scope: &Scope) -> Result<(), StoreError> {
    execute(
        WRITING,
        tx,
        "DELETE FROM lens_index WHERE scope = $1 AND NOT EXISTS (
             SELECT 1 FROM document WHERE document.scope = $1 AND document.kind = $2
             AND document.id = lens_index.lens_id)",
        params![column::scope(scope), KIND],
    )
    .await
    .map(|_| ())
}

async fn replace(
    tx: &mut Tx<'_>,
    scope: &Scope,
    index: &NewLensIndex,
    expected: Option<LensGeneration>,
) -> Result<LensGeneration, StoreError> {
    let lens = index.lens_id.as_str();
    let sql = format!(
        "SELECT 1 FROM document WHERE scope = $1 AND kind = $2 AND id = $3{}",
        tx.dialect().for_update()
    );
    let values = params![column::scope(scope), KIND, lens];
    let document = row(READING, tx, &sql, values, |_| Ok(())).await?;
    document.ok_or_else(|| StoreError::NotFound {
        what: KIND,
        id: lens.to_owned(),
    })?;
    let found = row(
        READING,
        tx,
        "SELECT generation FROM lens_index WHERE scope = $1 AND lens_id = $2",
        params![column::scope(scope), lens],
        |row| generation(field(row, 0)?),
    )
    .await?;
    check_generation(&index.lens_id, found, expected)?;
    replace_index(tx, scope, index).await
}

/// Reads every chunk of an index of a scope, in order.
async fn read_all<T>(
    tx: &mut Tx<'_>,
    scope: &Scope,
    generation: LensGeneration,
    columns: &str,
    read: fn(&dyn Columns) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let values = params![column::scope(scope), key(generation)?];
    let sql = format!(
        "SELECT {columns} FROM lens_chunk WHERE scope = $1 AND generation = $2 ORDER BY ordinal"
    );
    let chunks = rows(READING, tx, &sql, values, read).await?;
    if chunks.is_empty() {
        // Read after the chunks: an index that is still there had none.
        let sql = "SELECT 1 FROM lens_index WHERE scope = $1 AND generation = $2";
        let known = row(READING, tx, sql, values, |_| Ok(())).await?;
        known.ok_or_else(|| gone(generation))?;
    }
    Ok(chunks)
}

async fn find_passages(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    passages: &[PassageKey],
) -> Result<Vec<LensText>, StoreError> {
    let keys = passages.iter();
    let keys = keys.map(|passage| Ok((key(passage.generation)?, column::limit(passage.ordinal))));
    let (generations, ordinals): (Vec<i64>, Vec<i64>) = keys.collect::<Result<_, StoreError>>()?;
    let wanted = tx.dialect().pairs("$2", "$3");
    let sql = format!(
        "SELECT text, place FROM {wanted} AS wanted
         LEFT JOIN lens_chunk ON scope IN ($1, '') AND generation = wanted.one AND ordinal = wanted.other
         ORDER BY wanted.number"
    );
    let values = params![tenant.as_str(), generations, ordinals];
    let found = rows(READING, tx, &sql, values, text_if_found).await?;
    let texts = found.into_iter().zip(passages);
    texts
        .map(|(text, passage)| text.ok_or_else(|| passage_gone(passage)))
        .collect()
}

/// Inserts the vectors of passages for searches, beside their bytes; in SQLite, nothing. A passage has its ordinal.
pub(crate) async fn insert_vectors(
    tx: &mut Tx<'_>,
    scope: &str,
    generation: i64,
    passages: &[(i64, &[Vec<u8>])],
) -> Result<(), StoreError> {
    if tx.dialect() == Dialect::Sqlite {
        return Ok(());
    }
    for passages in passages.chunks(VECTORS_BATCH) {
        let (mut ordinals, mut parts, mut vectors) = (Vec::new(), Vec::new(), Vec::new());
        for (ordinal, stored) in passages {
            for (part, bytes) in (0_i64..).zip(*stored) {
                if let Some(vector) = converted(bytes) {
                    ordinals.push(*ordinal);
                    parts.push(part);
                    vectors.push(vector);
                }
            }
        }
        if vectors.is_empty() {
            continue;
        }
        let vectors: Vec<&str> = vectors.iter().map(String::as_str).collect();
        let sql = "SELECT charter_lens_near($1, $2, $3, $4, $5)";
        let values = params![scope, generation, ordinals, parts, vectors];
        execute(WRITING, tx, sql, values).await?;
    }
    Ok(())
}

#[async_trait]
impl<E: VectorSearch> Lenses for SqlStore<E> {
    async fn lens_indexes(&self) -> Result<Vec<LensRecord>, StoreError> {
        let sql = "SELECT generation, scope, lens_id, body FROM lens_index ORDER BY scope, lens_id";
        let found = self
            .engine
            .rows(RowScope::Everyone, READING, sql, params![], record);
        found.await
    }

    async fn lens_chunks(
        &self,
        scope: &Scope,
        generation: LensGeneration,
    ) -> Result<Vec<LensChunk>, StoreError> {
        let columns = "text, place, vectors, parts";
        self.engine
            .run(
                Access::Read,
                RowScope::of(scope),
                scope.clone(),
                move |tx, scope| Box::pin(read_all(tx, scope, generation, columns, chunk)),
            )
            .await
    }

    async fn lens_texts(
        &self,
        scope: &Scope,
        generation: LensGeneration,
    ) -> Result<Vec<LensText>, StoreError> {
        self.engine
            .run(
                Access::Read,
                RowScope::of(scope),
                scope.clone(),
                move |tx, scope| Box::pin(read_all(tx, scope, generation, "text, place", text)),
            )
            .await
    }

    async fn searches_passages(&self) -> Result<bool, StoreError> {
        Ok(self.engine.searches_vectors())
    }

    async fn nearest_passages(
        &self,
        tenant: &TenantId,
        asked: &NearestPassages<'_>,
    ) -> Result<Vec<NearPart>, StoreError> {
        let found = self.engine.nearest_passages(tenant, asked).await?;
        found.ok_or_else(|| StoreError::Refused {
            what: "search of passages",
            id: format!("{} indexes", asked.indexes.len()),
            detail: "this storage does not compare vectors".to_owned(),
        })
    }

    async fn passages(
        &self,
        tenant: &TenantId,
        passages: &[PassageKey],
    ) -> Result<Vec<LensText>, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), passages.to_vec());
        self.engine
            .run(Access::Read, scope, values, |tx, (tenant, passages)| {
                Box::pin(find_passages(tx, tenant, passages))
            })
            .await
    }

    async fn replace_lens_index(
        &self,
        scope: &Scope,
        index: NewLensIndex,
        expected: Option<LensGeneration>,
    ) -> Result<LensGeneration, StoreError> {
        let (of, values) = (RowScope::of(scope), (scope.clone(), index));
        self.engine
            .run(Access::Write, of, values, move |tx, (scope, index)| {
                Box::pin(replace(tx, scope, index, expected))
            })
            .await
    }

    async fn note_lens_source(
        &self,
        scope: &Scope,
        generation: LensGeneration,
        body: &str,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE lens_index SET body = $3 WHERE scope = $1 AND generation = $2";
        let values = params![column::scope(scope), key(generation)?, body];
        let changed = self
            .engine
            .execute(RowScope::of(scope), WRITING, sql, values)
            .await?;
        if changed == 0 {
            return Err(gone(generation));
        }
        Ok(())
    }
}
