//! The skills that this process serves, in memory: one graph and one index by scope. Single writes change them in
//! place, under one lock that readers share.
//!
//! Must not know storage, and holds no instruction.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use charter_contract::ids::TenantId;
use charter_contract::link_graph::SkillGrants;
use charter_contract::scope::Scope;
use charter_domain::link_graph::{LinkGraph, Reach, SkillNode, SkillPosition, SkillsView};
use charter_search::SlotIndex;
use charter_search::embed::{EmbeddingModel, Vector, VectorError};
use charter_store::agent_skills::{SkillsRevision, VectorOrigin};
use quick_cache::sync::Cache;
use tokio::sync::Mutex;

use crate::Caller;

/// Callers whose reach is cached.
const KEPT_REACHES: usize = 512;

/// The skills of all scopes, with the reach of callers.
#[derive(Debug)]
pub(crate) struct SkillIndexes {
    state: RwLock<Indexes>,
    reaches: Cache<(TenantId, SkillGrants), Arc<Access>>,
    /// Held while a write is decided and applied.
    pub(super) writing: Mutex<()>,
}

impl Default for SkillIndexes {
    fn default() -> Self {
        Self {
            state: RwLock::default(),
            reaches: Cache::new(KEPT_REACHES),
            writing: Mutex::default(),
        }
    }
}

/// One state of the skills.
#[derive(Debug, Default)]
pub(crate) struct Indexes {
    pub(super) revision: SkillsRevision,
    /// Whether storage has the model of the vectors.
    pub(super) model_is_stored: bool,
    pub(super) model: Option<EmbeddingModel>,
    kept: KeptVectors,
    global: ScopeIndex,
    tenants: BTreeMap<TenantId, ScopeIndex>,
}

/// Where vectors are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum KeptVectors {
    /// In this process.
    #[default]
    Here,
    /// In storage and on a search node.
    Elsewhere,
}

/// The skills of one scope.
#[derive(Debug)]
pub(crate) struct ScopeIndex {
    pub(super) graph: LinkGraph,
    pub(super) slots: SlotIndex,
    kept: KeptVectors,
    facts: Vec<Facts>,
}

/// Whether a skill has files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum SkillFiles {
    /// It has an instruction alone.
    #[default]
    Absent,
    /// It has at least one.
    Present,
}

impl From<bool> for SkillFiles {
    fn from(has_files: bool) -> Self {
        if has_files {
            Self::Present
        } else {
            Self::Absent
        }
    }
}

/// Further facts about a skill for writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Facts {
    pub(super) vector: Option<VectorOrigin>,
    pub(super) files: SkillFiles,
}

impl Default for ScopeIndex {
    fn default() -> Self {
        Self::new(None, KeptVectors::Here)
    }
}

impl ScopeIndex {
    pub(super) fn new(model: Option<EmbeddingModel>, kept: KeptVectors) -> Self {
        let model = match kept {
            KeptVectors::Here => model,
            KeptVectors::Elsewhere => None,
        };
        Self {
            graph: LinkGraph::default(),
            slots: SlotIndex::new(model),
            kept,
            facts: Vec::new(),
        }
    }

    pub(super) fn facts(&self, id: &charter_contract::ids::SkillId) -> Facts {
        let slot = self.graph.slot(id);
        slot.and_then(|slot| self.facts.get(slot).copied())
            .unwrap_or_default()
    }

    /// Writes a skill. If the summary is unchanged, the vector may be left out: it stays.
    pub(super) fn upsert(
        &mut self,
        node: SkillNode,
        vector: NewVector,
        files: SkillFiles,
    ) -> Result<(), VectorError> {
        let text = format!("{} {}", node.id, node.summary);
        let slot = self.graph.insert_or_replace(node);
        if self.facts.len() <= slot {
            self.facts.resize(slot + 1, Facts::default());
        }
        self.facts[slot].files = files;
        match vector {
            NewVector::Same => Ok(()),
            NewVector::None => {
                self.facts[slot].vector = None;
                self.slots.upsert(slot, &text, None)
            }
            NewVector::This(vector, origin) => {
                self.facts[slot].vector = Some(origin);
                let vector = match self.kept {
                    KeptVectors::Here => Some(&vector),
                    KeptVectors::Elsewhere => None,
                };
                self.slots.upsert(slot, &text, vector)
            }
        }
    }

    pub(super) fn remove(&mut self, id: &charter_contract::ids::SkillId) {
        if let Some(slot) = self.graph.remove(id) {
            self.slots.clear(slot);
            self.facts[slot] = Facts::default();
        }
    }
}

/// The vector of a written skill.
#[derive(Debug, Clone)]
pub(super) enum NewVector {
    /// The present one; id and summary are the same.
    Same,
    /// None: there is no model.
    None,
    /// This one.
    This(Vector, VectorOrigin),
}

impl Indexes {
    pub(super) fn new(model: Option<EmbeddingModel>, kept: KeptVectors) -> Self {
        Self {
            global: ScopeIndex::new(model.clone(), kept),
            model,
            kept,
            ..Self::default()
        }
    }

    pub(super) fn global(&self) -> &ScopeIndex {
        &self.global
    }

    pub(super) fn own(&self, tenant: &TenantId) -> Option<&ScopeIndex> {
        self.tenants.get(tenant)
    }

    pub(super) fn scope(&self, scope: &Scope) -> Option<&ScopeIndex> {
        match scope {
            Scope::Global => Some(&self.global),
            Scope::Tenant(tenant) => self.own(tenant),
        }
    }

    pub(super) fn scope_mut(&mut self, scope: &Scope) -> &mut ScopeIndex {
        match scope {
            Scope::Global => &mut self.global,
            Scope::Tenant(tenant) => {
                let (model, kept) = (&self.model, self.kept);
                let own = self.tenants.entry(tenant.clone());
                own.or_insert_with(|| ScopeIndex::new(model.clone(), kept))
            }
        }
    }

    /// Returns the skills that are visible to a tenant.
    pub(super) fn view(&self, tenant: &TenantId) -> SkillsView<'_> {
        SkillsView {
            own: self.own(tenant).map(|own| &own.graph),
            global: &self.global.graph,
        }
    }

    /// Returns the skills that are visible to the readers of a scope.
    pub(super) fn view_of(&self, scope: &Scope) -> SkillsView<'_> {
        SkillsView {
            own: scope
                .tenant()
                .and_then(|t| self.own(t))
                .map(|own| &own.graph),
            global: &self.global.graph,
        }
    }
}

/// A caller's reach at one revision.
#[derive(Debug)]
pub(crate) struct Access {
    revision: SkillsRevision,
    pub(super) reach: Reach,
    roots: OnceLock<Vec<SkillPosition>>,
    by_id: OnceLock<Vec<SkillPosition>>,
}

impl Access {
    /// Returns the skills within reach, by id.
    pub(super) fn by_id(&self, view: &SkillsView<'_>) -> &[SkillPosition] {
        self.by_id.get_or_init(|| {
            let nodes = self.reach.places();
            let nodes = nodes.filter_map(|place| Some((&view.node(place)?.id, place)));
            let mut reached: Vec<_> = nodes.collect();
            reached.sort_unstable_by(|a, b| a.0.cmp(b.0));
            reached.into_iter().map(|(_, place)| place).collect()
        })
    }

    /// Returns the skills without a parent within reach, by id.
    pub(super) fn roots(&self, view: &SkillsView<'_>) -> &[SkillPosition] {
        self.roots.get_or_init(|| {
            let nodes = self.reach.places();
            let nodes = nodes.filter_map(|place| Some((view.node(place)?, place)));
            let mut roots: Vec<(&SkillNode, SkillPosition)> = nodes
                .filter(|(node, _)| {
                    let mut parents = view.parents(&node.id);
                    !parents.any(|(parent, _)| self.reach.contains(parent))
                })
                .collect();
            roots.sort_unstable_by(|a, b| a.0.id.cmp(&b.0.id));
            roots.into_iter().map(|(_, place)| place).collect()
        })
    }
}

impl SkillIndexes {
    /// Reads the present state and the caller's reach in it.
    pub(super) fn read<T>(
        &self,
        caller: &Caller,
        answer: impl FnOnce(&Indexes, &Access) -> T,
    ) -> T {
        let indexes = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let access = self.access(&indexes, caller);
        answer(&indexes, &access)
    }

    /// Reads the present state for a write.
    pub(super) fn look<T>(&self, look: impl FnOnce(&Indexes) -> T) -> T {
        look(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the served revision.
    pub(crate) fn revision(&self) -> SkillsRevision {
        self.look(|indexes| indexes.revision)
    }

    /// Changes the present state.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Indexes) -> T) -> T {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the caller's reach, computed once for each revision.
    fn access(&self, indexes: &Indexes, caller: &Caller) -> Arc<Access> {
        let key = (caller.tenant.clone(), caller.agent_skills.clone());
        if let Some(known) = self.reaches.get(&key)
            && known.revision == indexes.revision
        {
            return known;
        }
        let access = Arc::new(Access {
            revision: indexes.revision,
            reach: indexes.view(&caller.tenant).reach(&caller.agent_skills),
            roots: OnceLock::new(),
            by_id: OnceLock::new(),
        });
        self.reaches.insert(key, Arc::clone(&access));
        access
    }
}
