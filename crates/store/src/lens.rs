//! Indexes of lenses: the chunks of a lens's text with their vectors, and metadata of its source.
//!
//! An index belongs to an active lens document and is deleted with it ([`crate::catalogue::Registration::lenses`]). It
//! is replaced as a whole: a reader sees the old one or the new one. Storage may compare the vectors itself
//! ([`Lenses::searches_passages`]), so that no process has to keep them in memory.

use async_trait::async_trait;
use charter_contract::ids::{LensId, TenantId};
use charter_contract::scope::Scope;

use crate::StoreError;

/// Identifies one index among all that were ever stored; a later one is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LensGeneration(pub u64);

/// A stored index without its chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LensRecord {
    /// The scope of its lens.
    pub scope: Scope,
    /// Its lens.
    pub lens_id: LensId,
    /// Its generation.
    pub generation: LensGeneration,
    /// JSON of the source's metadata.
    pub body: String,
}

/// One chunk of a lens's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LensChunk {
    /// The text, as extracted from the source.
    pub text: String,
    /// JSON of its location.
    pub place: String,
    /// A vector for each of its parts, all of one length: little-endian `f32` components. Empty without a model.
    pub vectors: Vec<Vec<u8>>,
}

/// A chunk without its vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LensText {
    /// The text, as extracted from the source.
    pub text: String,
    /// JSON of its location.
    pub place: String,
}

/// Key of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PassageKey {
    /// The index.
    pub generation: LensGeneration,
    /// Its position among the chunks, from 0.
    pub ordinal: usize,
}

/// A vector search in passages.
#[derive(Debug, Clone, Copy)]
pub struct NearestPassages<'a> {
    /// The indexes to search; vectors whose length differs from the query's are ignored.
    pub indexes: &'a [LensGeneration],
    /// The vectors of a query, of one length and none of them zero. The search finds the nearest to the first, and
    /// compares the results with all.
    pub vectors: &'a [&'a [f32]],
    /// Maximum number of parts to find.
    pub most: usize,
    /// Chunks of these indexes that are compared as well, at any distance.
    pub also: &'a [PassageKey],
}

/// Similarity of one part of a chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct NearPart {
    /// The chunk.
    pub passage: PassageKey,
    /// Cosines with each vector of the query, in their order.
    pub cosines: Vec<f32>,
}

/// A new index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLensIndex {
    /// Its lens.
    pub lens_id: LensId,
    /// JSON of the source's metadata.
    pub body: String,
    /// Its chunks, in order.
    pub chunks: Vec<LensChunk>,
}

/// Indexes of lenses.
#[async_trait]
pub trait Lenses {
    /// Returns every stored index without its chunks, ordered by scope and lens.
    async fn lens_indexes(&self) -> Result<Vec<LensRecord>, StoreError>;

    /// Returns the chunks of an index of a scope, in order.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the index was replaced or deleted.
    async fn lens_chunks(
        &self,
        scope: &Scope,
        generation: LensGeneration,
    ) -> Result<Vec<LensChunk>, StoreError>;

    /// Returns the chunks without their vectors, for a process that does not compare them.
    ///
    /// # Errors
    /// As [`Lenses::lens_chunks`].
    async fn lens_texts(
        &self,
        scope: &Scope,
        generation: LensGeneration,
    ) -> Result<Vec<LensText>, StoreError>;

    /// Whether [`Lenses::nearest_passages`] is supported; constant while the store is open.
    async fn searches_passages(&self) -> Result<bool, StoreError>;

    /// Returns the nearest parts of chunks in the tenant's and global indexes, and the similarity of the other
    /// requested ones, in no order. Parts without a vector are absent. The nearest are found approximately; their
    /// cosines are exact.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when one of the indexes was replaced or deleted, or is another tenant's;
    /// [`StoreError::Refused`] if storage does not search, or without a vector.
    async fn nearest_passages(
        &self,
        tenant: &TenantId,
        asked: &NearestPassages<'_>,
    ) -> Result<Vec<NearPart>, StoreError>;

    /// Returns chunks of the tenant's and global indexes, in the order of the keys.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when one of them was deleted, or is another tenant's.
    async fn passages(
        &self,
        tenant: &TenantId,
        passages: &[PassageKey],
    ) -> Result<Vec<LensText>, StoreError>;

    /// Replaces the index of a lens, in one transaction; returns the new one's generation.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when no such lens is active in the scope; [`StoreError::VersionConflict`] when its
    /// index is not `expected` (none, before the first).
    async fn replace_lens_index(
        &self,
        scope: &Scope,
        index: NewLensIndex,
        expected: Option<LensGeneration>,
    ) -> Result<LensGeneration, StoreError>;

    /// Updates the metadata of an index's source; its chunks stay.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the index was replaced or deleted.
    async fn note_lens_source(
        &self,
        scope: &Scope,
        generation: LensGeneration,
        body: &str,
    ) -> Result<(), StoreError>;
}
