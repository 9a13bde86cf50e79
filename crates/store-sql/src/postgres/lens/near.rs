//! Vectors of passages in the form of pgvector: stored beside the bytes if the server has the extension, and searched
//! by an index scan that continues until enough passages of the requested lenses are found.

use charter_contract::ids::TenantId;
use charter_store::StoreError;
use charter_store::lens::{NearPart, NearestPassages, PassageKey};
use deadpool_postgres::{GenericClient, Transaction};

use super::super::PostgresStore;
use super::super::connection::{RowScope, in_transaction};
use super::super::failure::during;
use super::super::pgvector::{self, components};
use super::super::statement::{execute, params, rows};
use super::WRITING;
use crate::column;
use crate::record::lens::{generation, gone, key, parts};
use crate::row::field;

const FINDING: &str = "finding passages by meaning";

/// Vectors that one statement inserts: the HNSW index takes about a millisecond for each.
const BATCH: usize = 500;

/// Passages that one transaction converts after the extension was installed.
const BROUGHT: i64 = 500;

/// Returns the columns of keys.
pub(super) fn columns(passages: &[PassageKey]) -> Result<(Vec<i64>, Vec<i64>), StoreError> {
    let columns = passages
        .iter()
        .map(|passage| Ok((key(passage.generation)?, column::limit(passage.ordinal))));
    columns.collect()
}

/// Inserts the vectors of an index's passages for searches, beside their bytes.
pub(super) async fn insert_vectors<'c>(
    connection: &impl GenericClient,
    scope: &str,
    generation: i64,
    passages: impl Iterator<Item = (usize, &'c [Vec<u8>])>,
) -> Result<(), StoreError> {
    let mut batch = (Vec::new(), Vec::new(), Vec::new());
    for (ordinal, vectors) in passages {
        for (part, bytes) in vectors.iter().enumerate() {
            let Some(components) = components(bytes) else {
                continue;
            };
            batch.0.push(column::limit(ordinal));
            batch.1.push(column::limit(part));
            batch.2.push(pgvector::literal(&components));
        }
        if batch.0.len() >= BATCH {
            put_batch(connection, scope, generation, &batch).await?;
            batch = (Vec::new(), Vec::new(), Vec::new());
        }
    }
    if batch.0.is_empty() {
        return Ok(());
    }
    put_batch(connection, scope, generation, &batch).await
}

async fn put_batch(
    connection: &impl GenericClient,
    scope: &str,
    generation: i64,
    (ordinals, parts, vectors): &(Vec<i64>, Vec<i64>, Vec<String>),
) -> Result<(), StoreError> {
    let sql = "SELECT charter_lens_near($1, $2, $3, $4, $5)";
    let values = params![scope, generation, ordinals, parts, vectors];
    execute(WRITING, connection, sql, values).await.map(|_| ())
}

/// Returns the parts nearest to the first vector, and the other requested parts, compared with every vector.
pub(super) async fn nearest(
    connection: &Transaction<'_>,
    tenant: &TenantId,
    asked: &NearestPassages<'_>,
) -> Result<Vec<NearPart>, StoreError> {
    let indexes: Vec<i64> = asked
        .indexes
        .iter()
        .copied()
        .map(key)
        .collect::<Result<_, _>>()?;
    must_be_there(connection, tenant, asked, &indexes).await?;
    let dims = asked.vectors.first().map_or(0, |vector| vector.len());
    if dims == 0 {
        return Err(StoreError::Refused {
            what: "search of passages",
            id: format!("{} indexes", indexes.len()),
            detail: "there is no vector to compare with".to_owned(),
        });
    }
    let reading = connection.batch_execute(pgvector::READING).await;
    reading.map_err(during(FINDING))?;
    let sql = format!(
        "WITH near AS MATERIALIZED (
             SELECT scope, generation, ordinal FROM lens_near
             WHERE scope IN ($1, '') AND generation = ANY($2) AND vector_dims(embedding) = {dims}
             ORDER BY embedding::vector({dims}) <=> ($3::text[])[1]::vector({dims})
             LIMIT $4),
         wanted AS (
             SELECT scope, generation, ordinal FROM near
             UNION
             SELECT of.scope, also.generation, also.ordinal
             FROM unnest($5::bigint[], $6::bigint[]) AS also (generation, ordinal)
                  CROSS JOIN (VALUES ($1), ('')) AS of (scope)
             WHERE also.generation = ANY($2)),
         question AS MATERIALIZED (
             SELECT number, vector::vector({dims}) AS vector
             FROM unnest($3::text[]) WITH ORDINALITY AS question (vector, number))
         SELECT generation, ordinal,
                (SELECT array_agg((1 - (part.embedding::vector({dims}) <=> question.vector))::real
                                  ORDER BY question.number) FROM question)
         FROM wanted JOIN lens_near AS part USING (scope, generation, ordinal)
         WHERE vector_dims(part.embedding) = {dims}"
    );
    let (also_generations, also_ordinals) = columns(asked.also)?;
    let vectors: Vec<String> = asked
        .vectors
        .iter()
        .map(|vector| pgvector::literal(vector))
        .collect();
    let values = params![
        tenant.as_str(),
        indexes,
        vectors,
        column::limit(asked.most),
        also_generations,
        also_ordinals
    ];
    let statement = connection.prepare_cached(&sql).await;
    let statement = statement.map_err(during(FINDING))?;
    let found = connection.query(&statement, values).await;
    let found = found.map_err(during(FINDING))?;
    let parts = found.iter().map(|row| {
        let ordinal = column::parse_integer("passage", row.get(1))?;
        Ok(NearPart {
            passage: PassageKey {
                generation: generation(row.get(0))?,
                ordinal: usize::try_from(ordinal).unwrap_or(usize::MAX),
            },
            cosines: row.get(2),
        })
    });
    parts.collect()
}

/// Checks that every index exists, and belongs to the tenant or is global.
async fn must_be_there(
    connection: &Transaction<'_>,
    tenant: &TenantId,
    asked: &NearestPassages<'_>,
    indexes: &[i64],
) -> Result<(), StoreError> {
    let there: Vec<i64> = rows(
        FINDING,
        connection,
        "SELECT generation FROM lens_index WHERE scope IN ($1, '') AND generation = ANY($2)",
        params![tenant.as_str(), indexes],
        |row| field(row, 0),
    )
    .await?;
    let mut all = asked.indexes.iter().zip(indexes);
    match all.find(|(_, key)| !there.contains(key)) {
        Some((generation, _)) => Err(gone(*generation)),
        None => Ok(()),
    }
}

impl PostgresStore {
    /// Converts passages that were stored before the extension was installed.
    pub(in crate::postgres) async fn bring_over_passages(&self) -> Result<(), StoreError> {
        let mut after = (String::new(), 0, -1);
        loop {
            let done = in_transaction!(self, RowScope::Everyone, tx => bring_over(&tx, &after))?;
            match done {
                Some(last) => after = last,
                None => return Ok(()),
            }
        }
    }
}

/// Scope, index and position of a passage.
type PassageAddress = (String, i64, i64);

/// Converts some passages after a position; returns the position of the last one.
async fn bring_over(
    connection: &Transaction<'_>,
    after: &PassageAddress,
) -> Result<Option<PassageAddress>, StoreError> {
    let missing: Vec<(PassageAddress, Vec<Vec<u8>>)> = rows(
        FINDING,
        connection,
        "SELECT scope, generation, ordinal, vectors, parts FROM lens_chunk AS c
         WHERE (scope, generation, ordinal) > ($1, $2, $3) AND parts > 0
           AND NOT EXISTS (SELECT FROM lens_near AS n WHERE n.scope = c.scope
                           AND n.generation = c.generation AND n.ordinal = c.ordinal)
         ORDER BY scope, generation, ordinal LIMIT $4 FOR SHARE OF c",
        params![after.0, after.1, after.2, BROUGHT],
        |row| {
            let place = (field(row, 0)?, field(row, 1)?, field(row, 2)?);
            Ok((place, parts(field(row, 3)?, field(row, 4)?)?))
        },
    )
    .await?;
    let mut rest = missing.as_slice();
    while let Some(((scope, generation, _), _)) = rest.first() {
        let same = |one: &&(PassageAddress, _)| one.0.0 == *scope && one.0.1 == *generation;
        let count = rest.iter().take_while(same).count();
        let (of_index, others) = rest.split_at(count);
        let passages = of_index.iter().map(|((_, _, ordinal), vectors)| {
            let ordinal = usize::try_from(*ordinal).unwrap_or(usize::MAX);
            (ordinal, vectors.as_slice())
        });
        insert_vectors(connection, scope, *generation, passages).await?;
        rest = others;
    }
    Ok(missing.into_iter().last().map(|(place, _)| place))
}
