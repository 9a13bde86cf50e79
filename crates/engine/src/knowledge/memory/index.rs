//! What memories are searched in where storage searches no vectors: one index of words and vectors for each
//! tenant that was asked about, in this process.
//!
//! Storage tells what changed since a revision, so an index follows writes of any process; nothing is written
//! to it. A version takes the next slot, so that slots stand in the order of revisions
//! and an index that followed finds what a fresh one would; when many slots are empty, or much came at
//! once, everything is read again. A search looks at the slots that a filter lets through; full-text
//! search in the database would do the words alone, and give scores that depend on memories which the
//! caller may not see.

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

use super::similar::SimilarMemories;
use crate::{Engine, EngineError};

/// Tenants whose indexes are kept; the one that was not asked about for longest goes first.
const KEPT_TENANTS: usize = 32;
/// Memories that are read from storage at once.
const PORTION: usize = 2_000;
/// The best hits of a search that are compared with those that are returned.
pub(super) const COMPARED: usize = 50;
/// Most characters of a memory that are compared with another's.
const COMPARED_CHARACTERS: usize = 1_000;
/// Changes at once from which on everything is read again, and empty slots that do no harm.
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
    /// Forgets a tenant's index: everything of it was erased.
    pub(crate) fn forget(&self, tenant: &TenantId) {
        self.0.remove(tenant);
    }
}

/// What filters ask of a version.
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

/// A hit with what it was ranked by, and what of the best hits is like it.
#[derive(Debug)]
pub(super) struct Hit {
    pub(super) indexed: Indexed,
    /// Where it stands in the index that it is from.
    pub(super) slot: usize,
    /// Absent where nothing was asked in words.
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
    /// What stands in each slot.
    indexed: Vec<Option<Indexed>>,
    /// The slots of each memory: of its version in force, and of its proposed one.
    places: HashMap<MemoryId, Vec<usize>>,
}

/// The text that stands for a memory in the embedding model.
pub(super) fn embedded_text(entry: &MemoryEntry) -> String {
    format!("{}\n{}", entry.title, entry.content)
}

impl Engine {
    /// The tenant's index as of now.
    pub(super) async fn memory_index(
        &self,
        tenant: &TenantId,
    ) -> Result<Arc<RwLock<MemoryIndex>>, EngineError> {
        let indexes = &self.memory_indexes().0;
        let empty = || Ok(Arc::new(RwLock::new(MemoryIndex::new(None))));
        let made: Result<_, EngineError> = indexes.get_or_insert_with(tenant, empty);
        let index = made?;
        let known = index.read().await.revision;
        if !self
            .store()
            .memory_changes(tenant, known, 1)
            .await?
            .is_empty()
        {
            let mut writing = index.write().await;
            self.follow(tenant, &mut writing).await?;
        }
        Ok(index)
    }

    /// Takes in what changed since the index was last asked.
    async fn follow(&self, tenant: &TenantId, index: &mut MemoryIndex) -> Result<(), EngineError> {
        let model = self.embedder().map(|embedder| embedder.model().clone());
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

    /// What changed after a revision, at least `most` of it where there is more.
    async fn changes(
        &self,
        tenant: &TenantId,
        after: u64,
        most: usize,
    ) -> Result<Vec<MemoryChange>, EngineError> {
        let mut changes: Vec<MemoryChange> = Vec::new();
        while changes.len() < most {
            let last = changes.last().map_or(after, |change| change.revision);
            let portion = self.store().memory_changes(tenant, last, PORTION).await?;
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

    /// Whether more slots are empty than memories would need.
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

    /// The best of what a filter lets through. Nothing else is scored or counted.
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

    /// The first `limit` hits of a search here, marked with those of all that are like them.
    pub(super) fn mark(&self, hits: Vec<Hit>, limit: usize) -> Vec<Hit> {
        mark(hits, limit, |one, other| {
            self.slots.cosine(one.slot, other.slot)
        })
    }

    /// What a filter lets through, changed last first.
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

/// Ranks memories that storage found by their vectors: by words as well, as a search here does.
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
            // Storage is believed in how near a memory is, and in nothing else.
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

/// A version to be searched for.
struct Searchable {
    text: String,
    vector: Option<Vector>,
    indexed: Indexed,
}

/// The versions of a memory that can be found, as it now is.
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

/// The vector, unless another model made it: such a memory is found by its words until the next
/// `charter reindex` (ruling 4).
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
