//! Indexes of lenses.

use charter_contract::ids::LensId;
use charter_store::StoreError;
use charter_store::lens::{
    LensChunk, LensGeneration, LensRecord, LensText, NearestPassages, PassageKey,
};

use crate::column;
use crate::row::{Columns, field};

/// The document kind of lenses.
pub(crate) const KIND: &str = charter_contract::catalogue::DocumentKind::DomainLens.as_str();

pub(crate) fn record(row: &dyn Columns) -> Result<LensRecord, StoreError> {
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
pub(crate) fn text(row: &dyn Columns) -> Result<LensText, StoreError> {
    Ok(LensText {
        text: field(row, 0)?,
        place: field(row, 1)?,
    })
}

/// Reads `text, place, vectors, parts`.
pub(crate) fn chunk(row: &dyn Columns) -> Result<LensChunk, StoreError> {
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

/// Returns the stored form of a chunk's vectors, and their number.
pub(crate) fn stored(chunk: &LensChunk) -> (Vec<u8>, i64) {
    (chunk.vectors.concat(), column::limit(chunk.vectors.len()))
}

/// Returns the error of an engine that compares no vectors.
pub(crate) fn not_searched(asked: &NearestPassages<'_>) -> StoreError {
    StoreError::Refused {
        what: "search of passages",
        id: format!("{} indexes", asked.indexes.len()),
        detail: "this storage does not compare vectors".to_owned(),
    }
}

pub(crate) fn passage_gone(passage: &PassageKey) -> StoreError {
    StoreError::NotFound {
        what: "passage",
        id: format!("{} of lens index {}", passage.ordinal, passage.generation.0),
    }
}

/// Checks that the stored index is the one that the caller expects.
pub(crate) fn check_generation(
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
