//! What memories are searched in: one index of words and vectors for each tenant that was asked
//! about, in this process.
//!
//! Storage tells what changed since a revision, so an index follows writes of any process and a write
//! waits for no index. What was there at the first question is one large index; what came since is a
//! small one over it, made anew with each change; when the small one has grown, everything is read
//! again. An exact scan of 100,000 vectors takes milliseconds in memory, and a filter costs a look at
//! each entry; full-text search in the database would do the words alone, and give scores that depend
//! on memories which the caller may not see.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use charter_contract::agentic::memory::{Importance, MemoryEntry, MemoryState, Visibility};
use charter_contract::ids::{MemoryId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_search::embed::{EmbeddingModel, Vector};
use charter_search::{
    Allowed, EmbeddedQuery, IndexSettings, Layer, Layers, RouteEntry, RouteIndex, RouteSettings,
    RouteText, Scope, VectorRole, search,
};
use charter_store::memory::{MemoryChange, MemoryVector, MemoryVersion};
use quick_cache::sync::Cache;
use tokio::sync::RwLock;

use crate::{Engine, EngineError};

/// Tenants whose indexes are kept; the one that was not asked about for longest goes first.
const KEPT_TENANTS: usize = 32;
/// Memories that are read from storage at once.
const PORTION: usize = 2_000;
/// Changes after which everything is read again.
const MAX_RECENT: usize = 1_000;

/// The indexes of this process.
#[derive(Debug)]
pub(crate) struct MemoryIndexes(Cache<TenantId, Arc<RwLock<MemoryIndex>>>);

impl Default for MemoryIndexes {
    fn default() -> Self {
        Self(Cache::new(KEPT_TENANTS))
    }
}

/// What filters ask of a version.
#[derive(Debug, Clone)]
pub(super) struct Indexed {
    pub(super) memory: MemoryId,
    pub(super) version: u64,
    pub(super) state: MemoryState,
    pub(super) owner: UserId,
    pub(super) author: UserId,
    pub(super) visibility: Visibility,
    pub(super) tags: Vec<String>,
    pub(super) changed_at: Timestamp,
    pub(super) importance: Option<Importance>,
    pub(super) expires_at: Option<Timestamp>,
}

/// A hit with what it was ranked by.
#[derive(Debug)]
pub(super) struct Hit {
    pub(super) indexed: Indexed,
    pub(super) fused: f32,
    pub(super) lexical: f32,
    pub(super) cosine: Option<f32>,
}

/// One tenant's memories.
#[derive(Debug)]
pub(crate) struct MemoryIndex {
    revision: u64,
    indexed: HashMap<String, Indexed>,
    base: Arc<RouteIndex>,
    recent: BTreeMap<String, RouteEntry>,
    /// Changes taken in since the base was built.
    taken_in: usize,
    layers: Layers,
}

/// The text that stands for a memory in the embedding model.
pub(super) fn embedded_text(entry: &MemoryEntry) -> String {
    format!("{}\n{}", entry.title, entry.content)
}

/// The names of a memory's entries: of its version in force, and of its proposed one.
fn names(memory: &MemoryId) -> [String; 2] {
    [memory.to_string(), format!("{memory} proposed")]
}

impl Engine {
    /// The tenant's index as of now.
    pub(super) async fn memory_index(
        &self,
        tenant: &TenantId,
    ) -> Result<Arc<RwLock<MemoryIndex>>, EngineError> {
        let indexes = &self.memory_indexes().0;
        let made: Result<_, EngineError> =
            indexes.get_or_insert_with(tenant, || Ok(Arc::new(RwLock::new(MemoryIndex::empty()?))));
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
        if index.revision > 0 {
            let changes = self.changes(tenant, index.revision, MAX_RECENT).await?;
            if index.taken_in + changes.len() < MAX_RECENT {
                return index.take_in(changes, model.as_ref());
            }
        }
        let everything = self.changes(tenant, 0, usize::MAX).await?;
        let build = move || MemoryIndex::of(everything, model.as_ref());
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
    fn empty() -> Result<Self, EngineError> {
        Self::of(Vec::new(), None)
    }

    fn of(changes: Vec<MemoryChange>, model: Option<&EmbeddingModel>) -> Result<Self, EngineError> {
        let mut entries = Vec::with_capacity(changes.len());
        let mut indexed = HashMap::with_capacity(changes.len());
        let revision = changes.last().map_or(0, |change| change.revision);
        for change in changes {
            for (entry, version) in searchable(change, model)? {
                indexed.insert(entry.id.clone(), version);
                entries.push(entry);
            }
        }
        let base = Arc::new(built(entries, model)?);
        Ok(Self {
            revision,
            indexed,
            layers: stacked(None, &base),
            base,
            recent: BTreeMap::new(),
            taken_in: 0,
        })
    }

    fn take_in(
        &mut self,
        changes: Vec<MemoryChange>,
        model: Option<&EmbeddingModel>,
    ) -> Result<(), EngineError> {
        self.taken_in += changes.len();
        for change in changes {
            self.revision = change.revision;
            for name in names(&change.record.memory_id) {
                self.indexed.remove(&name);
                self.recent.remove(&name);
            }
            for (entry, version) in searchable(change, model)? {
                self.indexed.insert(entry.id.clone(), version);
                self.recent.insert(entry.id.clone(), entry);
            }
        }
        // What is in the base and no more indexed is let through by no search.
        let recent = built(self.recent.values().cloned().collect(), model)?;
        self.layers = stacked(Some(recent), &self.base);
        Ok(())
    }

    /// The best of what a filter lets through. Nothing else is scored or counted.
    pub(super) fn search(
        &self,
        query: &EmbeddedQuery,
        lets: &dyn Fn(&Indexed) -> bool,
        limit: usize,
    ) -> Result<Vec<Hit>, EngineError> {
        let allowed = |_: Scope, id: &str| self.indexed.get(id).is_some_and(lets);
        let settings = RouteSettings::default();
        let found = search(
            &self.layers,
            query,
            Allowed::Where(&allowed),
            &settings,
            limit,
        );
        let found = found.map_err(crate::routing::refused)?.into_iter();
        let hits = found.filter_map(|hit| {
            Some(Hit {
                indexed: self.indexed.get(&hit.id)?.clone(),
                fused: hit.fused,
                lexical: hit.lexical,
                cosine: hit.cosine,
            })
        });
        Ok(hits.collect())
    }

    /// What a filter lets through, changed last first.
    pub(super) fn newest(&self, lets: &dyn Fn(&Indexed) -> bool, limit: usize) -> Vec<Hit> {
        let mut found: Vec<&Indexed> = self.indexed.values().filter(|one| lets(one)).collect();
        let key = |one: &Indexed| (std::cmp::Reverse(one.changed_at), one.memory.clone());
        found.sort_by_cached_key(|one| key(one));
        let hits = found.into_iter().take(limit).map(|indexed| Hit {
            indexed: indexed.clone(),
            fused: 0.0,
            lexical: 0.0,
            cosine: None,
        });
        hits.collect()
    }
}

/// What came since over what was there. The two scopes only say which goes before which.
fn stacked(recent: Option<RouteIndex>, base: &Arc<RouteIndex>) -> Layers {
    let recent = recent.map(|index| Layer {
        scope: Scope::Tenant,
        index: Arc::new(index),
    });
    let base = Layer {
        scope: Scope::Global,
        index: Arc::clone(base),
    };
    Layers::new(recent.into_iter().chain([base]).collect())
}

fn built(
    entries: Vec<RouteEntry>,
    model: Option<&EmbeddingModel>,
) -> Result<RouteIndex, EngineError> {
    RouteIndex::build(entries, model.cloned(), &IndexSettings::default())
        .map_err(|error| EngineError::internal("indexing memories", error))
}

/// The entries of a memory as it now is.
fn searchable(
    change: MemoryChange,
    model: Option<&EmbeddingModel>,
) -> Result<Vec<(RouteEntry, Indexed)>, EngineError> {
    let record = change.record;
    let [in_force, proposed] = names(&record.memory_id);
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
        let indexed = Indexed {
            memory: record.memory_id.clone(),
            version: version.version,
            state,
            owner: record.user_id.clone(),
            author,
            visibility: record.visibility,
            tags: entry.tags.as_slice().to_vec(),
            changed_at: version.at,
            importance: entry.metadata.as_ref().and_then(|of| of.importance),
            expires_at: record.expires_at,
        };
        let id = match state {
            MemoryState::Accepted => in_force.clone(),
            MemoryState::Proposed | MemoryState::Superseded | MemoryState::Rejected => {
                proposed.clone()
            }
        };
        let text = RouteText {
            name: entry.title,
            group: entry.tags.as_slice().join(" "),
            description: entry.content,
            ..RouteText::default()
        };
        let vectors = vector
            .as_ref()
            .map(|vector| usable(vector, model))
            .transpose()?;
        let vectors = vectors.flatten().into_iter();
        let vectors = vectors.map(|vector| (VectorRole::Description, vector));
        let vectors = vectors.collect();
        found.push((RouteEntry { id, text, vectors }, indexed));
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
