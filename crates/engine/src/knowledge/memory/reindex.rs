//! Embeds memories again after a change of the model.

use charter_contract::error_code::ErrorCode;
use charter_store::memory::MemoryVector;

use super::MemoryService;
use super::index::embedded_text;
use crate::EngineError;

/// Memories that are embedded at once.
const BATCH: usize = 256;

impl MemoryService {
    /// Embeds every memory that has no vector of the current model; returns how many.
    pub(crate) async fn reindex(&self) -> Result<usize, EngineError> {
        let Some(embedder) = self.vectors.embedder() else {
            return Ok(0);
        };
        let model = embedder.model().to_string();
        let mut embedded = 0;
        loop {
            let missing = self.store.memories_without_vector(&model, BATCH).await?;
            let entries = missing
                .into_iter()
                .filter_map(|(tenant, version)| Some((tenant, version.version, version.entry?)));
            let entries: Vec<_> = entries.collect();
            if entries.is_empty() {
                return Ok(embedded);
            }
            let texts = entries.iter().map(|(.., entry)| embedded_text(entry));
            let vectors = embedder.embed(texts.collect()).await.map_err(|error| {
                EngineError::new(ErrorCode::Unavailable, "memories could not be embedded")
                    .caused_by(error)
            })?;
            let stored: Vec<_> = entries
                .into_iter()
                .zip(vectors)
                .map(|((tenant, version, entry), vector)| {
                    let vector = MemoryVector {
                        model: model.clone(),
                        bytes: vector.to_bytes(),
                    };
                    (tenant, entry.id, version, vector)
                })
                .collect();
            embedded += stored.len();
            self.store.put_memory_vectors(&stored).await?;
        }
    }
}
