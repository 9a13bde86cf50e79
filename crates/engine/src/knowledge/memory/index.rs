//! The search index of memories if storage does not search vectors: one index of words and vectors for each tenant with
//! searches, in this process.
//!
//! Storage lists the changes since a revision, so an index follows writes of any process; nothing is written to it. A
//! version uses the next slot, so slots are in the order of revisions, and an index that followed has the same hits as
//! a fresh one. If many slots are empty, or many changes come at once, everything is read again. A search scores only
//! the slots that match a filter. Full-text search in the database would cover only the words, and its scores would
//! depend on memories that are not visible to the caller.

use std::collections::HashMap;
use std::sync::Arc;

use charter_contract::agentic::memory::{Importance, MemoryEntry, MemoryState, Visibility};
use charter_contract::ids::{MemoryId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_search::embed::{EmbeddingModel, Vector};
use charter_search::{
    EmbeddedQuery, RouteSettings, SlotHit, SlotIndex, SlotLayer, Statement, discover, likeness,
    rank_nearest,
};
use charter_store::memory::{MemoryChange, MemoryVector, MemoryVersion, NearMemory};
use fixedbitset::FixedBitSet;
use quick_cache::sync::Cache;
use tokio::sync::RwLock;

use super::MemoryService;
use super::similar::SimilarMemories;
use crate::EngineError;

/// Maximum tenants whose indexes are cached; the least recently used is evicted.
const KEPT_TENANTS: usize = 32;
/// Memories that are read from storage at once.
const PORTION: usize = 2_000;
/// The best hits of a search that are compared with the returned ones.
pub(super) const COMPARED: usize = 50;
/// Maximum characters of a memory that are compared with another's.
const COMPARED_CHARACTERS: usize = 1_000;
/// Number of changes at once that causes a full read, and number of tolerated empty slots.
const MAX_RECENT: usize = 1_000;

/// The indexes of this process.
#[derive(Debug)]
pub(crate) struct MemoryIndexes(Cache<TenantId, Arc<RwLock<MemoryIndex>>>);

impl Default for MemoryIndexes {
    fn default() -> Self {
        Self(Cache::new(KEPT_TENANTS))
    }
}

impl MemoryIndexes {
    /// Removes a tenant's index after an erasure of its data.
    pub(crate) fn forget(&self, tenant: &TenantId) {
        self.0.remove(tenant);
    }
}

/// The filterable data of a version.
#[derive(Debug, Clone)]
pub(super) struct Indexed {
    pub(super) memory: MemoryId,
    pub(super) version: u64,
    pub(super) title: String,
    /// The beginning of its content.
    pub(super) beginning: String,
    pub(super) state: MemoryState,
    pub(super) owner: UserId,
    pub(super) author: UserId,
    pub(super) visibility: Visibility,
    pub(super) tags: Vec<String>,
    pub(super) changed_at: Timestamp,
    pub(super) importance: Option<Importance>,
    pub(super) expires_at: Option<Timestamp>,
}

impl Indexed {
    pub(super) fn statement(&self) -> Statement {
        Statement::new(&self.title, &self.beginning)
    }
}

/// A hit with its scores, and the best hits that resemble it.
#[derive(Debug)]
pub(super) struct Hit {
    pub(super) indexed: Indexed,
    /// Its slot in its index.
    pub(super) slot: usize,
    /// Absent if the query has no text.
    pub(super) score: Option<f32>,
    pub(super) fused: f32,
    pub(super) lexical: f32,
    pub(super) cosine: Option<f32>,
    pub(super) alike: SimilarMemories,
}

impl Hit {
    fn new(indexed: Indexed, hit: &SlotHit) -> Self {
        Self {
            indexed,
            slot: hit.slot,
            score: Some(hit.relevance),
            fused: hit.fused,
            lexical: hit.lexical,
            cosine: hit.cosine,
            alike: SimilarMemories::default(),
        }
    }
}

/// One tenant's memories.
#[derive(Debug)]
pub(crate) struct MemoryIndex {
    revision: u64,
    slots: SlotIndex,
    /// The content of each slot.
    indexed: Vec<Option<Indexed>>,
    /// The slots of each memory: of its version in force, and of its proposed one.
    places: HashMap<MemoryId, Vec<usize>>,
}

/// Returns the text that represents a memory in the embedding model.
pub(super) fn embedded_text(entry: &MemoryEntry) -> String {
    format!("{}\n{}", entry.title, entry.content)
}

impl MemoryService {
    /// Returns the tenant's index, brought up to date.
    pub(super) async fn memory_index(
        &self,
        tenant: &TenantId,
    ) -> Result<Arc<RwLock<MemoryIndex>>, EngineError> {
        let indexes = &self.indexes.0;
        let empty = || Ok(Arc::new(RwLock::new(MemoryIndex::new(None))));
        let made: Result<_, EngineError> = indexes.get_or_insert_with(tenant, empty);
        let index = made?;
        let known = index.read().await.revision;
        if !self
            .store
            .memory_changes(tenant, known, 1)
            .await?
            .is_empty()
        {
            let mut writing = index.write().await;
            self.follow(tenant, &mut writing).await?;
        }
        Ok(index)
    }

    /// Applies the changes since the last query.
    async fn follow(&self, tenant: &TenantId, index: &mut MemoryIndex) -> Result<(), EngineError> {
        let model = self
            .vectors
            .embedder()
            .map(|embedder| embedder.model().clone());
        if index.revision > 0 && !index.is_sparse() {
            let changes = self.changes(tenant, index.revision, MAX_RECENT).await?;
            if changes.len() < MAX_RECENT {
                return index.take_in(changes, model.as_ref());
            }
        }
        let everything = self.changes(tenant, 0, usize::MAX).await?;
        let build = move || {
            let mut index = MemoryIndex::new(model.clone());
            index.take_in(everything, model.as_ref()).map(|()| index)
        };
        *index = tokio::task::spawn_blocking(build)
            .await
            .map_err(|error| EngineError::internal("indexing memories", error))??;
        Ok(())
    }

    /// Returns the changes after a revision, at least `most` of them if there are more.
    async fn changes(
        &self,
        tenant: &TenantId,
        after: u64,
        most: usize,
    ) -> Result<Vec<MemoryChange>, EngineError> {
        let mut changes: Vec<MemoryChange> = Vec::new();
        while changes.len() < most {
            let last = changes.last().map_or(after, |change| change.revision);
            let portion = self.store.memory_changes(tenant, last, PORTION).await?;
            if portion.is_empty() {
                break;
            }
            changes.extend(portion);
        }
        Ok(changes)
    }
}

impl MemoryIndex {
    fn new(model: Option<EmbeddingModel>) -> Self {
        Self {
            revision: 0,
            slots: SlotIndex::new(model),
            indexed: Vec::new(),
            places: HashMap::new(),
        }
    }

    /// Returns whether more slots are empty than needed.
    fn is_sparse(&self) -> bool {
        self.indexed.len() > 3 * self.places.len() + MAX_RECENT
    }

    fn take_in(
        &mut self,
        changes: Vec<MemoryChange>,
        model: Option<&EmbeddingModel>,
    ) -> Result<(), EngineError> {
        for change in changes {
            self.revision = change.revision;
            let memory = change.record.memory_id.clone();
            for slot in self.places.remove(&memory).unwrap_or_default() {
                self.indexed[slot] = None;
                self.slots.clear(slot);
            }
            for found in searchable(change, model)? {
                let slot = self.indexed.len();
                let put = self
                    .slots
                    .upsert(slot, &found.text, found.vector.as_ref())
                    .map_err(|error| EngineError::internal("indexing memories", error));
                put?;
                self.indexed.push(Some(found.indexed));
                self.places.entry(memory.clone()).or_default().push(slot);
            }
        }
        Ok(())
    }

    /// Returns the best hits that match a filter. Nothing else is scored or counted.
    pub(super) fn search(
        &self,
        query: &EmbeddedQuery,
        lets: &dyn Fn(&Indexed) -> bool,
        limit: usize,
    ) -> Result<Vec<Hit>, EngineError> {
        let slots = self.indexed.iter().enumerate();
        let visible: FixedBitSet = slots
            .filter(|(_, indexed)| indexed.as_ref().is_some_and(lets))
            .map(|(slot, _)| slot)
            .collect();
        let layer = SlotLayer {
            index: &self.slots,
            visible: &visible,
        };
        let found = discover(&[layer], query, &RouteSettings::default(), limit);
        let found = found.map_err(EngineError::from)?;
        let hits = found
            .iter()
            .filter_map(|hit| Some(Hit::new(self.indexed.get(hit.slot)?.clone()?, hit)));
        Ok(hits.collect())
    }

    /// Returns the first `limit` hits of a search in this index, marked with those of all hits that resemble them.
    pub(super) fn mark(&self, hits: Vec<Hit>, limit: usize) -> Vec<Hit> {
        mark(hits, limit, |one, other| {
            self.slots.cosine(one.slot, other.slot)
        })
    }

    /// Returns the matching memories, most recently changed first.
    pub(super) fn newest(&self, lets: &dyn Fn(&Indexed) -> bool, limit: usize) -> Vec<Hit> {
        let slots = self.indexed.iter().enumerate();
        let mut found: Vec<(usize, &Indexed)> = slots
            .filter_map(|(slot, one)| Some((slot, one.as_ref().filter(|one| lets(one))?)))
            .collect();
        let key = |one: &Indexed| (std::cmp::Reverse(one.changed_at), one.memory.clone());
        found.sort_by_cached_key(|(_, one)| key(one));
        let newest = found.into_iter().take(limit);
        let hits = newest.map(|(slot, indexed)| Hit {
            indexed: indexed.clone(),
            slot,
            score: None,
            fused: 0.0,
            lexical: 0.0,
            cosine: None,
            alike: SimilarMemories::default(),
        });
        hits.collect()
    }
}

/// The first `limit` hits, each with those of all that are like it. `cosine` compares two, where it can.
pub(super) fn mark(
    mut hits: Vec<Hit>,
    limit: usize,
    cosine: impl Fn(&Hit, &Hit) -> Option<f32>,
) -> Vec<Hit> {
    let statements: Vec<Statement> = hits.iter().map(|hit| hit.indexed.statement()).collect();
    let like = |hit: &Hit, said: &Statement| {
        let mut alike = SimilarMemories::default();
        for (other, of_other) in hits.iter().zip(&statements) {
            if other.indexed.memory == hit.indexed.memory {
                continue;
            }
            if let Some(like) = likeness(said, of_other, cosine(hit, other)) {
                alike.add(like, &other.indexed.memory);
            }
        }
        alike
    };
    let shown = hits.iter().zip(&statements).take(limit);
    let marks: Vec<SimilarMemories> = shown.map(|(hit, said)| like(hit, said)).collect();
    hits.truncate(limit);
    for (hit, alike) in hits.iter_mut().zip(marks) {
        hit.alike = alike;
    }
    hits
}

/// Ranks memories that storage found by their vectors: also by words, as a search in this index does.
pub(super) fn rank(
    near: Vec<NearMemory>,
    query: &EmbeddedQuery,
    lets: &dyn Fn(&Indexed) -> bool,
    limit: usize,
) -> Result<Vec<Hit>, EngineError> {
    let mut slots = SlotIndex::new(None);
    let mut indexed: Vec<Indexed> = Vec::with_capacity(near.len());
    let mut cosines = Vec::with_capacity(near.len());
    for memory in near {
        for found in searchable(memory.change, None)? {
            // Storage is trusted only for the similarity of a memory.
            if !lets(&found.indexed) {
                continue;
            }
            let slot = indexed.len();
            slots
                .upsert(slot, &found.text, None)
                .map_err(|error| EngineError::internal("indexing memories", error))?;
            indexed.push(found.indexed);
            cosines.push((slot, memory.cosine));
        }
    }
    let settings = RouteSettings::default();
    let found = rank_nearest(&[(&slots, cosines)], query, &settings, limit);
    let hits = found
        .iter()
        .filter_map(|hit| Some(Hit::new(indexed.get(hit.slot)?.clone(), hit)));
    Ok(hits.collect())
}

/// A searchable version.
struct Searchable {
    text: String,
    vector: Option<Vector>,
    indexed: Indexed,
}

/// Returns the searchable versions of a memory in its present state.
fn searchable(
    change: MemoryChange,
    model: Option<&EmbeddingModel>,
) -> Result<Vec<Searchable>, EngineError> {
    let record = change.record;
    let mut found = Vec::with_capacity(change.versions.len());
    for (version, vector) in change.versions {
        let MemoryVersion {
            state,
            author,
            entry: Some(entry),
            ..
        } = version
        else {
            continue;
        };
        let tags = entry.tags.as_slice();
        let text = format!("{}\n{}\n{}", entry.title, tags.join(" "), entry.content);
        let indexed = Indexed {
            memory: record.memory_id.clone(),
            version: version.version,
            beginning: entry.content.chars().take(COMPARED_CHARACTERS).collect(),
            state,
            owner: record.user_id.clone(),
            author,
            visibility: record.visibility,
            tags: tags.to_vec(),
            changed_at: version.at,
            importance: entry.metadata.as_ref().and_then(|of| of.importance),
            expires_at: record.expires_at,
            title: entry.title,
        };
        let vector = vector.as_ref().map(|vector| usable(vector, model));
        let vector = vector.transpose()?.flatten();
        found.push(Searchable {
            text,
            vector,
            indexed,
        });
    }
    Ok(found)
}

/// Returns the vector, unless another model made it: such a memory is found by its words until the next `charter
/// reindex` (ruling 4).
fn usable(
    vector: &MemoryVector,
    model: Option<&EmbeddingModel>,
) -> Result<Option<Vector>, EngineError> {
    if model.is_none_or(|model| model.to_string() != vector.model) {
        return Ok(None);
    }
    Vector::from_bytes(&vector.bytes)
        .map(Some)
        .map_err(|error| EngineError::internal("reading a stored vector", error))
}
