//! Indexes of lenses.

use charter_contract::ids::LensId;
use charter_store::StoreError;
use charter_store::lens::{LensChunk, LensGeneration, LensRecord};

use crate::column;
use crate::row::{Columns, field};

/// The kind of lenses among documents.
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

/// Reads `text, place, vectors`.
pub(crate) fn chunk(row: &dyn Columns) -> Result<LensChunk, StoreError> {
    Ok(LensChunk {
        text: field(row, 0)?,
        place: field(row, 1)?,
        vectors: field(row, 2)?,
    })
}

/// That the index that is there is the one that the caller knows.
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
