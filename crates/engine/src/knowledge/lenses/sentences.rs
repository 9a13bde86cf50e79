//! Similarity of single sentences and a question: a passage is too long for its vector to show whether one line of it
//! answers. Vectors of sentences are made at first use, and cached.

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::error_code::ErrorCode;
use charter_search::EmbeddedQuery;
use charter_search::embed::Vector;
use charter_store::vector::TextHash;
use quick_cache::sync::Cache;

use super::LensService;
use crate::EngineError;
use crate::catalogue::live::text_hash;

/// Maximum vectors in the cache.
const KEPT: usize = 16_384;
/// Texts that are embedded by one call.
const BATCH: usize = 64;

/// Vectors of sentences, by the hash of their text.
pub(crate) struct SentenceVectors(Cache<TextHash, Arc<Vector>>);

impl Default for SentenceVectors {
    fn default() -> Self {
        Self(Cache::new(KEPT))
    }
}

impl LensService {
    /// Returns the similarity of each text and the question, as a cosine; `None` without an embedder.
    ///
    /// # Errors
    /// `unavailable` if a text cannot be embedded.
    pub(crate) async fn likeness_of(
        &self,
        query: &EmbeddedQuery,
        texts: &[String],
    ) -> Result<Option<Vec<f32>>, EngineError> {
        let (Some(embedder), Some(asked)) = (self.vectors.embedder(), query.vector()) else {
            return Ok(None);
        };
        let hashes: Vec<TextHash> = texts.iter().map(|text| text_hash(text)).collect();
        let mut missing: BTreeMap<TextHash, &String> = BTreeMap::new();
        let mut known: BTreeMap<TextHash, Arc<Vector>> = BTreeMap::new();
        for (hash, text) in hashes.iter().zip(texts) {
            match self.sentences.0.get(hash) {
                Some(vector) => known.insert(*hash, vector).map(drop),
                None => missing.insert(*hash, text).map(drop),
            };
        }
        let missing: Vec<(TextHash, &String)> = missing.into_iter().collect();
        for batch in missing.chunks(BATCH) {
            let texts = batch.iter().map(|(_, text)| (*text).clone()).collect();
            let vectors = embedder.embed(texts).await.map_err(|error| {
                let message = "sentences of the reference library could not be embedded";
                EngineError::new(ErrorCode::Unavailable, message).caused_by(error)
            })?;
            for ((hash, _), vector) in batch.iter().zip(vectors) {
                let vector = Arc::new(vector);
                self.sentences.0.insert(*hash, Arc::clone(&vector));
                known.insert(*hash, vector);
            }
        }
        let cosine = |hash: &TextHash| {
            let vector = known
                .get(hash)
                .filter(|vector| vector.dims() == asked.dims());
            vector.map_or(0.0, |vector| vector.dot(asked))
        };
        Ok(Some(hashes.iter().map(cosine).collect()))
    }
}
