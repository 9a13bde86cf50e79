//! Vectors of texts: read from storage, and made for texts that have none. One vector serves every document and scope
//! that has its text.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use charter_contract::error_code::ErrorCode;
use charter_domain::catalogue::Layer;
use charter_search::embed::{Embedder, EmbeddingModel, Vector};
use charter_store::SharedStore;
use charter_store::vector::{StoredVector, TextHash};

use super::index::{IndexSet, VectorsByText, text_hash, texts_of};
use crate::EngineError;

/// From this many texts on, all vectors of the model are read in one scan.
const SCAN_FROM: usize = 1_000;

/// Texts embedded by one call.
const EMBED_BATCH: usize = 256;

/// Vectors of texts: those of storage, and new ones of the model in use. Without a model there are none.
pub(crate) struct TextVectors {
    pub(super) store: SharedStore,
    pub(super) embedder: Option<Arc<dyn Embedder>>,
}

impl TextVectors {
    pub(crate) fn new(store: SharedStore, embedder: Option<Arc<dyn Embedder>>) -> Self {
        Self { store, embedder }
    }

    /// Returns the current embedding model, if there is one.
    pub(crate) fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.embedder.as_ref()
    }

    /// Gets the vectors of texts and embeds those that storage lacks. Empty without an embedder.
    pub(crate) async fn vectors_of(
        &self,
        texts: Vec<String>,
    ) -> Result<VectorsByText, EngineError> {
        if self.embedder.is_none() {
            return Ok(VectorsByText::default());
        }
        let wanted: Vec<TextHash> = texts.iter().map(|text| text_hash(text)).collect();
        let known = self.stored_vectors(&wanted).await?;
        if wanted.iter().all(|text| known.contains_key(text)) {
            return Ok(known);
        }
        self.with_missing(known, texts).await
    }

    /// Embeds and stores the texts that storage has no vector for, and adds their vectors.
    pub(super) async fn with_missing(
        &self,
        mut vectors: VectorsByText,
        texts: Vec<String>,
    ) -> Result<VectorsByText, EngineError> {
        let fresh = self.embed_missing(texts).await?;
        tracing::info!(texts = fresh.len(), "embedding texts that had no vector");
        vectors.extend(fresh.clone());
        self.store_vectors(fresh).await?;
        Ok(vectors)
    }

    /// Reads the stored vectors of texts; the result may contain others too.
    pub(crate) async fn stored_vectors(
        &self,
        wanted: &[TextHash],
    ) -> Result<VectorsByText, EngineError> {
        let name = self.model_name();
        let stored = if wanted.len() >= SCAN_FROM {
            self.store.all_vectors(&name).await?
        } else {
            self.store.vectors(&name, wanted).await?
        };
        let mut vectors = VectorsByText::with_capacity(stored.len());
        for vector in stored {
            let parsed = Vector::from_bytes(&vector.bytes)
                .map_err(|error| EngineError::internal("reading a stored vector", error))?;
            vectors.insert(vector.text, parsed);
        }
        Ok(vectors)
    }

    /// Vectors for those texts that the store has none for (B000-9).
    pub(crate) async fn embed_missing(
        &self,
        texts: Vec<String>,
    ) -> Result<HashMap<TextHash, Vector>, EngineError> {
        let Some(embedder) = self.embedder.as_ref() else {
            return Ok(HashMap::new());
        };
        let mut wanted: BTreeMap<TextHash, String> = texts
            .into_iter()
            .map(|text| (text_hash(&text), text))
            .collect();
        let hashes: Vec<TextHash> = wanted.keys().copied().collect();
        for known in self.store.vectors(&self.model_name(), &hashes).await? {
            wanted.remove(&known.text);
        }
        let mut fresh = HashMap::with_capacity(wanted.len());
        let missing: Vec<(TextHash, String)> = wanted.into_iter().collect();
        for batch in missing.chunks(EMBED_BATCH) {
            let texts = batch.iter().map(|(_, text)| text.clone()).collect();
            let vectors = embedder.embed(texts).await.map_err(|error| {
                EngineError::new(ErrorCode::Unavailable, "texts could not be embedded")
                    .caused_by(error)
            })?;
            fresh.extend(batch.iter().map(|(hash, _)| *hash).zip(vectors));
        }
        Ok(fresh)
    }

    /// Stores vectors for later uses of their texts; returns their number.
    pub(crate) async fn store_vectors(
        &self,
        vectors: HashMap<TextHash, Vector>,
    ) -> Result<usize, EngineError> {
        let stored: Vec<StoredVector> = vectors
            .into_iter()
            .map(|(text, vector)| StoredVector {
                text,
                bytes: vector.to_bytes(),
            })
            .collect();
        let count = stored.len();
        self.store.put_vectors(&self.model_name(), stored).await?;
        Ok(count)
    }

    /// Builds the indexes of a layer, from stored vectors.
    pub(crate) async fn index(&self, layer: &Arc<Layer>) -> Result<IndexSet, EngineError> {
        let model = self
            .embedder
            .as_ref()
            .map(|embedder| embedder.model().clone());
        let vectors = match &model {
            Some(model) => self.layer_vectors(layer, model).await?,
            None => VectorsByText::default(),
        };
        let layer = Arc::clone(layer);
        let building =
            tokio::task::spawn_blocking(move || IndexSet::build(&layer, model.as_ref(), &vectors));
        building
            .await
            .map_err(|error| EngineError::internal("indexing the catalogue", error))?
            .map_err(|error| EngineError::internal("indexing the catalogue", error))
    }

    /// Returns the vectors of a layer's texts. Single texts without one (after an upgrade that embeds other fields) are
    /// embedded now. A catalogue without any vectors belongs to another model and is refused until it is re-indexed
    /// (ruling 4).
    async fn layer_vectors(
        &self,
        layer: &Layer,
        model: &EmbeddingModel,
    ) -> Result<VectorsByText, EngineError> {
        let texts = texts_of(layer);
        let mut wanted: Vec<TextHash> = texts.iter().map(|text| text_hash(text)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let vectors = self.stored_vectors(&wanted).await?;
        let known = |text: &TextHash| vectors.contains_key(text);
        if wanted.iter().all(known) {
            return Ok(vectors);
        }
        if !wanted.iter().any(known) {
            let message =
                format!("the catalogue has no vectors of the model {model}; run `charter reindex`");
            return Err(EngineError::new(ErrorCode::ModelMismatch, message));
        }
        self.with_missing(vectors, texts).await
    }

    /// Returns the model's name in the keys of calibrations and vectors.
    pub(crate) fn model_name(&self) -> String {
        self.embedder.as_ref().map_or_else(
            || "words".to_owned(),
            |embedder| embedder.model().to_string(),
        )
    }
}
