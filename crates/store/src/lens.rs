//! Indexes of lenses: the pieces of a lens's text with their vectors, and what is known of its
//! source.
//!
//! An index belongs to a lens document in force and goes with it
//! ([`crate::catalogue::Registration::lenses`]). It is replaced whole: a reader has the one before or
//! the one after. Storage may compare the vectors itself ([`Lenses::searches_passages`]), so that no process
//! has to hold them.

use async_trait::async_trait;
use charter_contract::ids::{LensId, TenantId};
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
    /// A vector for each of its parts, all of one length: little-endian `f32` components. None without a
    /// model.
    pub vectors: Vec<Vec<u8>>,
}

/// A piece without its vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LensText {
    /// The text, as it was taken out of the source.
    pub text: String,
    /// JSON of where it stands.
    pub place: String,
}

/// Which piece of which index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PassageKey {
    /// The index.
    pub generation: LensGeneration,
    /// Its place among the pieces, from 0.
    pub ordinal: usize,
}

/// What storage is asked to compare.
#[derive(Debug, Clone, Copy)]
pub struct NearestPassages<'a> {
    /// The indexes that are searched; vectors of another length than the question's are passed over.
    pub indexes: &'a [LensGeneration],
    /// The vectors of a question, of one length and none of them zero. The nearest to the first are found;
    /// what is found is compared with all.
    pub vectors: &'a [&'a [f32]],
    /// How many parts of pieces are found at most.
    pub most: usize,
    /// Pieces of these indexes that are compared as well, however far they are.
    pub also: &'a [PassageKey],
}

/// How near one part of a piece is.
#[derive(Debug, Clone, PartialEq)]
pub struct NearPart {
    /// The piece.
    pub passage: PassageKey,
    /// Cosines with each vector of the question, in their order.
    pub cosines: Vec<f32>,
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

    /// The chunks of an index of a scope, in order.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the index has been replaced or is gone.
    async fn lens_chunks(
        &self,
        scope: &Scope,
        generation: LensGeneration,
    ) -> Result<Vec<LensChunk>, StoreError>;

    /// The same without their vectors, for a process that does not compare them.
    ///
    /// # Errors
    /// As [`Lenses::lens_chunks`].
    async fn lens_texts(
        &self,
        scope: &Scope,
        generation: LensGeneration,
    ) -> Result<Vec<LensText>, StoreError>;

    /// Whether [`Lenses::nearest_passages`] answers. It does so, or not, for as long as the store is open.
    async fn searches_passages(&self) -> Result<bool, StoreError>;

    /// The nearest parts of pieces of a tenant's and of global indexes, and how near others are that are
    /// asked for, in no order. A part is missing that has no vector. The nearest are found about as an exact
    /// search would; their cosines are exact.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when one of the indexes has been replaced or is gone, or is another tenant's;
    /// [`StoreError::Refused`] where storage does not search, or without a vector.
    async fn nearest_passages(
        &self,
        tenant: &TenantId,
        asked: &NearestPassages<'_>,
    ) -> Result<Vec<NearPart>, StoreError>;

    /// Pieces of a tenant's and of global indexes, in the order in which they are named.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when one of them is gone, or another tenant's.
    async fn passages(
        &self,
        tenant: &TenantId,
        passages: &[PassageKey],
    ) -> Result<Vec<LensText>, StoreError>;

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
        scope: &Scope,
        generation: LensGeneration,
        body: &str,
    ) -> Result<(), StoreError>;
}
