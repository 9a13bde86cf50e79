//! Indexes of lenses: the pieces of a lens's text with their vectors, and what is known of its
//! source.
//!
//! An index belongs to a lens document in force and goes with it
//! ([`crate::catalogue::Registration::lenses`]). It is replaced whole: a reader has the one before or
//! the one after.

use async_trait::async_trait;
use charter_contract::ids::LensId;
use charter_contract::scope::Scope;

use crate::StoreError;

/// Tells one index from every other that was ever stored; a later one is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LensGeneration(pub u64);

/// A stored index without its chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LensRecord {
    /// The scope of its lens.
    pub scope: Scope,
    /// Its lens.
    pub lens_id: LensId,
    /// Which index it is.
    pub generation: LensGeneration,
    /// JSON of what is known of the source.
    pub body: String,
}

/// One piece of a lens's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LensChunk {
    /// The text, as it was taken out of the source.
    pub text: String,
    /// JSON of where it stands.
    pub place: String,
    /// Vectors of its parts, one after the other: little-endian `f32` components. Empty without a
    /// model.
    pub vectors: Vec<u8>,
}

/// An index to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLensIndex {
    /// Its lens.
    pub lens_id: LensId,
    /// JSON of what is known of the source.
    pub body: String,
    /// Its pieces, in order.
    pub chunks: Vec<LensChunk>,
}

/// Indexes of lenses.
#[async_trait]
pub trait Lenses {
    /// Every stored index without its chunks, ordered by scope and lens.
    async fn lens_indexes(&self) -> Result<Vec<LensRecord>, StoreError>;

    /// The chunks of an index, in order.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the index has been replaced or is gone.
    async fn lens_chunks(&self, generation: LensGeneration) -> Result<Vec<LensChunk>, StoreError>;

    /// Puts an index in the place of the one that its lens has, in one transaction; returns the new
    /// one's generation.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when no such lens is in force in the scope;
    /// [`StoreError::VersionConflict`] when its index is not `expected` (none, before the first).
    async fn replace_lens_index(
        &self,
        scope: &Scope,
        index: NewLensIndex,
        expected: Option<LensGeneration>,
    ) -> Result<LensGeneration, StoreError>;

    /// Notes something else about the source of an index, whose chunks stay.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the index has been replaced or is gone.
    async fn note_lens_source(
        &self,
        generation: LensGeneration,
        body: &str,
    ) -> Result<(), StoreError>;
}
