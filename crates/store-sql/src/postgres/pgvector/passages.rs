//! Passages' vectors, and searches.

use std::ops::RangeInclusive;

use charter_contract::ids::TenantId;
use charter_store::StoreError;
use charter_store::lens::{NearPart, NearestPassages, PassageKey};
use deadpool_postgres::Object;
use futures_util::future::try_join3;

use super::super::PostgresStore;
use super::set_up;
use crate::column;
use crate::lens::{generation, gone, insert_vectors, key, parts};
use crate::row::{Columns, field};
use crate::store::{Access, RowScope, SqlEngine};
use crate::tx::{SqlValue, Tx, params, rows};

const FINDING: &str = "finding passages by meaning";

/// Passages that one transaction converts after the extension was installed.
const BROUGHT: i64 = 500;

/// Returns the parts nearest to the first vector, and the other requested parts, compared with every vector.
pub(super) async fn nearest(
    connection: &Object,
    tenant: &TenantId,
    asked: &NearestPassages<'_>,
) -> Result<Vec<NearPart>, StoreError> {
    let indexes = asked.indexes.iter().map(|index| key(*index));
    let indexes: Vec<i64> = indexes.collect::<Result<_, _>>()?;
    let dims = asked.vectors.first().map_or(0, |vector| vector.len());
    if dims == 0 {
        return Err(StoreError::Refused {
            what: "search of passages",
            id: format!("{} indexes", indexes.len()),
            detail: "there is no vector to compare with".to_owned(),
        });
    }
    let also = asked.also.iter().map(|passage| {
        let ordinal = column::limit(passage.ordinal);
        Ok((key(passage.generation)?, ordinal))
    });
    let (also_generations, also_ordinals): (Vec<i64>, Vec<i64>) =
        also.collect::<Result<_, StoreError>>()?;
    let mut values = params![
        tenant.as_str(),
        indexes.clone(),
        column::limit(asked.most),
        also_generations,
        also_ordinals
    ]
    .to_vec();
    let first = values.len() + 1;
    values.extend(asked.vectors.iter().map(|vector| SqlValue::from(*vector)));
    let sql = search(dims, first..=values.len());
    let (mut checked, mut compared) = (Tx::of_client(connection), Tx::of_client(connection));
    let there = must_be_there(&mut checked, tenant, asked, &indexes);
    let parts = rows(FINDING, &mut compared, &sql, &values, near_part);
    // In this order: the statements are sent together, and the settings have to be in force for the last one.
    let ((), (), parts) = try_join3(set_up(connection, FINDING), there, parts).await?;
    Ok(parts)
}

/// Returns the statement that compares vectors of `dims` components with those of the placeholders `vectors`.
fn search(dims: usize, vectors: RangeInclusive<usize>) -> String {
    let vector = |number: usize| format!("${number}::real[]::vector({dims})");
    let nearest_to = vector(*vectors.start());
    // One expression for each vector: an aggregate over a table of vectors would sort that table for each row.
    let cosines = vectors.map(|number| {
        let vector = vector(number);
        format!("float4send((1 - (part.embedding::vector({dims}) <=> {vector}))::real)")
    });
    let cosines: Vec<String> = cosines.collect();
    let cosines = cosines.join(" || ");
    format!(
        "WITH near AS MATERIALIZED (
             SELECT scope, generation, ordinal FROM lens_near
             WHERE scope IN ($1, '') AND generation = ANY($2) AND vector_dims(embedding) = {dims}
             ORDER BY embedding::vector({dims}) <=> {nearest_to}
             LIMIT $3),
         wanted AS (
             SELECT scope, generation, ordinal FROM near
             UNION
             SELECT of.scope, also.generation, also.ordinal
             FROM unnest($4::bigint[], $5::bigint[]) AS also (generation, ordinal)
                  CROSS JOIN (VALUES ($1), ('')) AS of (scope)
             WHERE also.generation = ANY($2))
         SELECT generation, ordinal, {cosines}
         FROM wanted JOIN lens_near AS part USING (scope, generation, ordinal)
         WHERE vector_dims(part.embedding) = {dims}"
    )
}

/// Reads `generation, ordinal, cosines`.
fn near_part(row: &dyn Columns) -> Result<NearPart, StoreError> {
    let ordinal = column::parse_integer("passage", field(row, 1)?)?;
    let (cosines, _) = field::<&[u8]>(row, 2)?.as_chunks::<4>();
    Ok(NearPart {
        passage: PassageKey {
            generation: generation(field(row, 0)?)?,
            ordinal: usize::try_from(ordinal).unwrap_or(usize::MAX),
        },
        cosines: cosines.iter().map(|c| f32::from_be_bytes(*c)).collect(),
    })
}

/// Checks that every index exists, and belongs to the tenant or is global.
async fn must_be_there(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    asked: &NearestPassages<'_>,
    indexes: &[i64],
) -> Result<(), StoreError> {
    let there: Vec<i64> = rows(
        FINDING,
        tx,
        "SELECT generation FROM lens_index WHERE scope IN ($1, '') AND generation = ANY($2)",
        params![tenant.as_str(), indexes.to_vec()],
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
        let mut next = Some((String::new(), 0, -1));
        while let Some(after) = next {
            next = self
                .engine
                .run(Access::Write, RowScope::Everyone, after, |tx, after| {
                    Box::pin(bring_over(tx, after))
                })
                .await?;
        }
        Ok(())
    }
}

/// Converts some passages after a scope, index and ordinal; returns those of the last one.
async fn bring_over(
    tx: &mut Tx<'_>,
    (scope, generation, ordinal): &(String, i64, i64),
) -> Result<Option<(String, i64, i64)>, StoreError> {
    let missing: Vec<(String, i64, i64, Vec<Vec<u8>>)> = rows(
        FINDING,
        tx,
        "SELECT scope, generation, ordinal, vectors, parts FROM lens_chunk AS c
         WHERE (scope, generation, ordinal) > ($1, $2, $3) AND parts > 0
           AND NOT EXISTS (SELECT FROM lens_near AS n WHERE n.scope = c.scope
                           AND n.generation = c.generation AND n.ordinal = c.ordinal)
         ORDER BY scope, generation, ordinal LIMIT $4 FOR SHARE OF c",
        params![scope, *generation, *ordinal, BROUGHT],
        |row| {
            let vectors = parts(field(row, 3)?, field(row, 4)?)?;
            Ok((field(row, 0)?, field(row, 1)?, field(row, 2)?, vectors))
        },
    )
    .await?;
    for (scope, generation, ordinal, vectors) in &missing {
        insert_vectors(tx, scope, *generation, &[(*ordinal, vectors.as_slice())]).await?;
    }
    let last = missing.into_iter().last();
    Ok(last.map(|(scope, generation, ordinal, _)| (scope, generation, ordinal)))
}
