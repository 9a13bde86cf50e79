//! The searchable indexes of lenses in memory: part of the live catalogue, built from storage, never embedded again. If
//! storage compares vectors, only the words.

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::catalogue::lens::{DomainLens, LensSource};
use charter_contract::ids::LensId;
use charter_contract::json::decode_stored;
use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;
use charter_effects::Validators;
use charter_search::embed::{Embedder, EmbeddingModel, Vector};
use charter_search::{Passage, PassageIndex, WindowSettings};
use charter_store::SharedStore;
use charter_store::lens::{LensChunk, LensGeneration, LensText, NewLensIndex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::EngineError;

/// The scope and id of a lens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LensKey {
    pub(crate) scope: Scope,
    pub(crate) lens: LensId,
}

/// The stored part of an index beside its passages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct IndexMetadata {
    /// The fetched source.
    pub(crate) source: LensSource,
    pub(crate) content_hash: String,
    pub(crate) bytes: usize,
    pub(crate) chunks: usize,
    /// The model of the vectors; absent if there are none.
    pub(crate) model: Option<String>,
    pub(crate) windows: WindowSettings,
    /// The way of cutting when the index was made; indexes of older versions have none.
    #[serde(default)]
    pub(crate) cutting: u32,
    pub(crate) etag: Option<String>,
    pub(crate) last_modified: Option<String>,
    pub(crate) fetched_at: Timestamp,
    pub(crate) indexed_at: Timestamp,
    /// Doubts about the text; indexes of older versions have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notices: Vec<String>,
    /// Files of a folder that it does without.
    #[serde(default)]
    pub(crate) left_out: Vec<SkippedFile>,
}

/// A file of a folder that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SkippedLensFile")]
pub struct SkippedFile {
    /// Its path in the package.
    pub file: String,
    /// Why.
    pub reason: String,
}

impl IndexMetadata {
    pub(crate) fn validators(&self) -> Validators {
        Validators {
            etag: self.etag.clone(),
            last_modified: self.last_modified.clone(),
        }
    }

    /// The same index, whose source was looked at again.
    pub(crate) fn seen(&self, lens: &DomainLens, validators: Validators, at: Timestamp) -> Self {
        Self {
            source: lens.source.clone(),
            etag: validators.etag,
            last_modified: validators.last_modified,
            fetched_at: at,
            ..self.clone()
        }
    }

    /// With its passages, ready to be stored.
    pub(crate) fn stored(
        &self,
        lens_id: LensId,
        chunks: Vec<LensChunk>,
    ) -> Result<NewLensIndex, EngineError> {
        let body = serde_json::to_string(self)
            .map_err(|error| EngineError::internal("writing the index of a lens", error))?;
        Ok(NewLensIndex {
            lens_id,
            body,
            chunks,
        })
    }
}

/// The position of a passage in the source's extracted text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PassagePosition")]
pub struct Position {
    /// The file, where the source is a folder of the package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The first byte.
    pub start: usize,
    /// Behind the last byte.
    pub end: usize,
    /// The first character.
    pub start_char: usize,
    /// Behind the last character.
    pub end_char: usize,
    /// The headings that it begins under, the highest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headings: Vec<String>,
    /// The page that it begins on, where the source has pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// The sections and pages that begin inside of it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<PassageSection>,
}

/// A section or a page that begins inside of a passage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PassageSection {
    /// Its first byte, in the text that was extracted from the source.
    pub start: usize,
    /// Its headings, the highest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headings: Vec<String>,
    /// The page that it begins on, where the source has pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
}

impl Position {
    /// Every section of the passage: the one that it begins in, then those that begin inside of it. Each has its first
    /// byte in the passage.
    pub(crate) fn sections(&self) -> Vec<(usize, &[String], Option<u32>)> {
        let first = (0, self.headings.as_slice(), self.page);
        let inside = self.sections.iter().map(|section| {
            let at = section.start.saturating_sub(self.start);
            (at, section.headings.as_slice(), section.page)
        });
        std::iter::once(first).chain(inside).collect()
    }
}

/// The stored part of a passage beside its text and vectors.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PassageMetadata {
    pub(crate) position: Position,
    /// Beginning and end of each part that has a vector, in bytes of the passage.
    pub(crate) parts: Vec<(usize, usize)>,
}

/// Every index of one revision of the catalogue.
#[derive(Debug, Clone, Default)]
pub(crate) struct LensIndexCache(BTreeMap<LensKey, Arc<CachedLensIndex>>);

/// One index.
#[derive(Debug)]
pub(crate) struct CachedLensIndex {
    pub(crate) generation: LensGeneration,
    pub(crate) indexed: IndexMetadata,
    pub(crate) passages: Arc<Passages>,
}

/// The passages of an index, and their search index.
#[derive(Debug)]
pub(crate) struct Passages {
    pub(crate) index: Arc<PassageIndex>,
    pub(crate) held: PassageStorage,
    /// The current model when this was made.
    model: Option<EmbeddingModel>,
    /// Whether that model made the vectors.
    comparable: bool,
}

/// The holder of the texts and vectors of passages.
#[derive(Debug)]
pub(crate) enum PassageStorage {
    /// This process.
    Here(Vec<Chunk>),
    /// Storage, which is queried.
    InStorage,
}

/// The text of a passage, and its position.
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    pub(crate) text: String,
    pub(crate) position: Position,
}

impl Chunk {
    /// Reads a stored passage.
    pub(crate) fn from_stored(text: String, place: &str) -> Result<Self, EngineError> {
        let place: PassageMetadata = decode_stored(place)
            .map_err(|error| EngineError::internal("reading a passage's place", error))?;
        Ok(Self {
            text,
            position: place.position,
        })
    }
}

impl Passages {
    /// Returns whether their vectors can be compared with those of a model.
    pub(crate) fn is_comparable_with(&self, model: Option<&EmbeddingModel>) -> bool {
        self.comparable && model.is_some() && self.model.as_ref() == model
    }
}

impl LensIndexCache {
    /// Returns the index of a lens.
    pub(crate) fn of(&self, key: &LensKey) -> Option<Arc<CachedLensIndex>> {
        self.0.get(key).cloned()
    }
}

/// Loads the stored indexes; those unchanged since `before` are reused.
pub(crate) async fn load(
    store: &SharedStore,
    embedder: Option<&Arc<dyn Embedder>>,
    before: &LensIndexCache,
) -> Result<LensIndexCache, EngineError> {
    let model = embedder.map(|embedder| embedder.model().clone());
    let in_storage = store.searches_passages().await?;
    let mut shelf = BTreeMap::new();
    for record in store.lens_indexes().await? {
        let indexed: IndexMetadata = decode_stored(&record.body)
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
                let name = model.as_ref().map(ToString::to_string);
                if indexed.model != name {
                    tracing::warn!(
                        lens = %key.lens,
                        "a lens was indexed with another model, so only its words are compared; run `charter \
                         lens reindex`"
                    );
                }
                let comparable = model.is_some() && indexed.model == name;
                let (index, held) = match in_storage {
                    true => words_of(store, &key.scope, record.generation).await?,
                    false => {
                        let vectors = model.clone().filter(|_| comparable);
                        all_of(store, &key.scope, record.generation, vectors).await?
                    }
                };
                Arc::new(Passages {
                    index: Arc::new(index),
                    held,
                    model: model.clone(),
                    comparable,
                })
            }
        };
        let shelved = CachedLensIndex {
            generation: record.generation,
            indexed,
            passages,
        };
        shelf.insert(key, Arc::new(shelved));
    }
    Ok(LensIndexCache(shelf))
}

/// Builds an index with vectors and texts.
async fn all_of(
    store: &SharedStore,
    scope: &Scope,
    generation: LensGeneration,
    model: Option<EmbeddingModel>,
) -> Result<(PassageIndex, PassageStorage), EngineError> {
    let chunks = store.lens_chunks(scope, generation).await?;
    let build = move || {
        let mut texts = Vec::with_capacity(chunks.len());
        let mut passages = Vec::with_capacity(chunks.len());
        for LensChunk {
            text,
            place,
            vectors,
        } in chunks
        {
            let chunk = Chunk::from_stored(text, &place)?;
            let vectors = match &model {
                Some(_) => vectors
                    .iter()
                    .map(|bytes| vector(bytes))
                    .collect::<Result<_, _>>()?,
                None => Vec::new(),
            };
            passages.push(passage(&chunk, vectors));
            texts.push(chunk);
        }
        Ok((index(&passages, model)?, PassageStorage::Here(texts)))
    };
    built(build).await
}

/// Builds an index of words; storage has its texts and vectors.
async fn words_of(
    store: &SharedStore,
    scope: &Scope,
    generation: LensGeneration,
) -> Result<(PassageIndex, PassageStorage), EngineError> {
    let texts = store.lens_texts(scope, generation).await?;
    let build = move || {
        let passages = texts.into_iter().map(|LensText { text, place }| {
            let chunk = Chunk::from_stored(text, &place)?;
            Ok(passage(&chunk, Vec::new()))
        });
        let passages = passages.collect::<Result<Vec<_>, EngineError>>()?;
        Ok((index(&passages, None)?, PassageStorage::InStorage))
    };
    built(build).await
}

/// Builds an index away from the threads that serve requests.
async fn built(
    build: impl FnOnce() -> Result<(PassageIndex, PassageStorage), EngineError> + Send + 'static,
) -> Result<(PassageIndex, PassageStorage), EngineError> {
    tokio::task::spawn_blocking(build)
        .await
        .map_err(|error| EngineError::internal("indexing passages", error))?
}

fn passage(chunk: &Chunk, vectors: Vec<Vector>) -> Passage {
    Passage {
        headings: chunk.position.headings.join(" "),
        text: chunk.text.clone(),
        vectors,
    }
}

fn index(passages: &[Passage], model: Option<EmbeddingModel>) -> Result<PassageIndex, EngineError> {
    PassageIndex::build(passages, model)
        .map_err(|error| EngineError::internal("indexing passages", error))
}

fn vector(bytes: &[u8]) -> Result<Vector, EngineError> {
    Vector::from_bytes(bytes)
        .map_err(|error| EngineError::internal("reading a passage's vector", error))
}
