//! The indexes of lenses in memory, ready to be searched: part of the live catalogue, made of what
//! is stored, never embedded again.

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::ids::LensId;
use charter_contract::scope::Scope;
use charter_search::embed::{EmbeddingModel, Vector};
use charter_search::{Passage, PassageIndex};
use charter_store::lens::{LensChunk, LensGeneration};

use super::cut::{Place, Position};
use super::index::Indexed;
use crate::{Engine, EngineError};

/// Where a lens is registered, and which it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LensKey {
    pub(crate) scope: Scope,
    pub(crate) lens: LensId,
}

/// Every index of one revision of the catalogue.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shelf(BTreeMap<LensKey, Arc<Shelved>>);

/// One index.
#[derive(Debug)]
pub(crate) struct Shelved {
    pub(crate) generation: LensGeneration,
    pub(crate) indexed: Indexed,
    pub(super) passages: Arc<Passages>,
}

/// The passages of an index, and the way to find them.
#[derive(Debug)]
pub(super) struct Passages {
    pub(super) chunks: Vec<Chunk>,
    pub(super) index: Arc<PassageIndex>,
    /// The model that the vectors are compared by.
    model: Option<EmbeddingModel>,
}

#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) text: String,
    pub(super) position: Position,
}

impl Shelf {
    /// The index of a lens.
    pub(crate) fn of(&self, key: &LensKey) -> Option<Arc<Shelved>> {
        self.0.get(key).cloned()
    }
}

impl Engine {
    /// The indexes as they are stored; those that did not change since `before` are taken over.
    pub(crate) async fn load_shelf(&self, before: &Shelf) -> Result<Shelf, EngineError> {
        let model = self.embedder().map(|embedder| embedder.model().clone());
        let mut shelf = BTreeMap::new();
        for record in self.store().lens_indexes().await? {
            let indexed: Indexed = serde_json::from_str(&record.body)
                .map_err(|error| EngineError::internal("reading the index of a lens", error))?;
            let key = LensKey {
                scope: record.scope,
                lens: record.lens_id,
            };
            let same = before.of(&key).filter(|shelved| {
                shelved.generation == record.generation && shelved.passages.model == model
            });
            let passages = match same {
                Some(same) => Arc::clone(&same.passages),
                None => {
                    let chunks = self.store().lens_chunks(record.generation).await?;
                    let name = model.as_ref().map(ToString::to_string);
                    if indexed.model != name {
                        tracing::warn!(
                            lens = %key.lens,
                            "a lens was indexed with another model: its words alone are compared; run `charter lens reindex`"
                        );
                    }
                    let comparable = model.clone().filter(|_| indexed.model == name);
                    let mut built = build(chunks, comparable).await?;
                    built.model.clone_from(&model);
                    Arc::new(built)
                }
            };
            let shelved = Shelved {
                generation: record.generation,
                indexed,
                passages,
            };
            shelf.insert(key, Arc::new(shelved));
        }
        Ok(Shelf(shelf))
    }
}

async fn build(
    chunks: Vec<LensChunk>,
    model: Option<EmbeddingModel>,
) -> Result<Passages, EngineError> {
    let building = tokio::task::spawn_blocking(move || {
        let mut texts = Vec::with_capacity(chunks.len());
        let mut passages = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let place: Place = serde_json::from_str(&chunk.place)
                .map_err(|error| EngineError::internal("reading a passage's place", error))?;
            let vectors = match &model {
                Some(model) => vectors(&chunk.vectors, model.dims)?,
                None => Vec::new(),
            };
            passages.push(Passage {
                headings: place.position.headings.join(" "),
                text: chunk.text.clone(),
                vectors,
            });
            texts.push(Chunk {
                text: chunk.text,
                position: place.position,
            });
        }
        let index = PassageIndex::build(&passages, model)
            .map_err(|error| EngineError::internal("indexing passages", error))?;
        Ok(Passages {
            chunks: texts,
            index: Arc::new(index),
            model: None,
        })
    });
    building
        .await
        .map_err(|error| EngineError::internal("indexing passages", error))?
}

/// The vectors of a stored chunk, one after the other.
fn vectors(bytes: &[u8], dims: usize) -> Result<Vec<Vector>, EngineError> {
    let vector = |bytes| {
        Vector::from_bytes(bytes)
            .map_err(|error| EngineError::internal("reading a passage's vector", error))
    };
    bytes.chunks(dims * size_of::<f32>()).map(vector).collect()
}
