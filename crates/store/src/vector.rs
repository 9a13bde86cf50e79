//! Embeddings, by model and hash of the embedded text.
//!
//! A vector is a pure function of its key, so writing one twice is harmless, and a document is embedded again only when
//! an embedded text changed (B000-9).

use async_trait::async_trait;

use crate::StoreError;

/// SHA-256 of an embedded text (UTF-8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextHash(pub [u8; 32]);

/// One stored embedding: components as little-endian `f32`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredVector {
    /// Hash of the embedded text.
    pub text: TextHash,
    /// Little-endian `f32` components; the model determines their number.
    pub bytes: Vec<u8>,
}

/// Embeddings.
#[async_trait]
pub trait Vectors {
    /// Stores vectors of one model, atomically. A key that exists keeps its vector.
    async fn put_vectors(&self, model: &str, vectors: Vec<StoredVector>) -> Result<(), StoreError>;

    /// Returns the stored vectors among the requested ones, in any order; missing ones are left out.
    async fn vectors(
        &self,
        model: &str,
        texts: &[TextHash],
    ) -> Result<Vec<StoredVector>, StoreError>;

    /// Returns every vector of a model; a process reads them once at its start.
    async fn all_vectors(&self, model: &str) -> Result<Vec<StoredVector>, StoreError>;

    /// Deletes the vectors of a model whose text is not in `keep` (sorted); returns their number.
    async fn retain_vectors(&self, model: &str, keep: &[TextHash]) -> Result<u64, StoreError>;
}
