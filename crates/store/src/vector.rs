//! Embeddings by what was embedded: model identity and the hash of the text.
//!
//! A vector is a pure function of its key, so writing one twice is harmless and a document is
//! embedded again only when an embedded text changed (B000-9).

use async_trait::async_trait;

use crate::StoreError;

/// SHA-256 of an embedded text (UTF-8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextHash(pub [u8; 32]);

/// One stored embedding: components as little-endian `f32`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredVector {
    /// What was embedded.
    pub text: TextHash,
    /// Little-endian `f32` components; the model says how many.
    pub bytes: Vec<u8>,
}

/// Embeddings.
#[async_trait]
pub trait Vectors {
    /// Stores vectors of one model, all or none. A key that is there already keeps its vector.
    async fn put_vectors(&self, model: &str, vectors: Vec<StoredVector>) -> Result<(), StoreError>;

    /// The stored vectors among those asked for, in any order; missing ones are left out.
    async fn vectors(
        &self,
        model: &str,
        texts: &[TextHash],
    ) -> Result<Vec<StoredVector>, StoreError>;

    /// Every vector of a model: what a process reads once when it starts.
    async fn all_vectors(&self, model: &str) -> Result<Vec<StoredVector>, StoreError>;

    /// Deletes the vectors of a model whose text is not in `keep` (sorted); returns how many.
    async fn retain_vectors(&self, model: &str, keep: &[TextHash]) -> Result<u64, StoreError>;
}
