//! Vectors of everyday topics for comparison with questions: made once for each model, and stored beside those of the
//! catalogue.

use charter_domain::intent::EVERYDAY_TOPICS;
use charter_search::embed::Vector;
use charter_store::vector::TextHash;

use super::RoutingService;
use crate::EngineError;
use crate::catalogue::live::text_hash;

impl RoutingService {
    /// Returns the vectors of everyday topics; none without an embedder.
    ///
    /// # Errors
    /// `unavailable` if they cannot be embedded; errors of storage.
    pub(crate) async fn everyday_topics(&self) -> Result<&[Vector], EngineError> {
        if self.vectors.embedder().is_none() {
            return Ok(&[]);
        }
        let made = self.topics.get_or_try_init(|| self.make_topics());
        made.await.map(Vec::as_slice)
    }

    async fn make_topics(&self) -> Result<Vec<Vector>, EngineError> {
        let texts: Vec<String> = EVERYDAY_TOPICS
            .iter()
            .map(|topic| (*topic).to_owned())
            .collect();
        let hashes: Vec<TextHash> = texts.iter().map(|text| text_hash(text)).collect();
        let mut vectors = Vec::with_capacity(texts.len());
        for stored in self
            .store
            .vectors(&self.vectors.model_name(), &hashes)
            .await?
        {
            let vector = Vector::from_bytes(&stored.bytes)
                .map_err(|error| EngineError::internal("reading a stored vector", error))?;
            vectors.push(vector);
        }
        let fresh = self.vectors.embed_missing(texts).await?;
        vectors.extend(fresh.values().cloned());
        // If they cannot be stored, they are made again at the next start.
        if !fresh.is_empty()
            && let Err(error) = self.vectors.store_vectors(fresh).await
        {
            tracing::warn!(error = %error, "the vectors of everyday topics could not be stored");
        }
        Ok(vectors)
    }
}
