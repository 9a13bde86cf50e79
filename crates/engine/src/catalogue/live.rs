//! The catalogue that this process serves: an immutable snapshot with its routing indexes, swapped
//! whole when a registration changes it.
//!
//! Reads take the present snapshot and never wait. A reload parses and indexes only the scopes
//! whose documents changed, and embeds nothing: vectors come from the store (B000-9).

mod follow_imports;
mod index;
mod load;
mod mode;
mod other_names;
mod overlay;
mod query;
mod scope_state;
mod service;
mod vectors;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use charter_contract::catalogue::vocabulary::Tier;
use charter_contract::ids::TenantId;
use charter_domain::catalogue::{Snapshot, View};
use charter_domain::dependencies::Dependents;
use charter_domain::identifiers::Identifiers;
use charter_domain::policy::PolicySet;
use charter_domain::tier;
use charter_search::{Layer, Layers, RouteIndex, RouteSettings, Scope};
use charter_store::catalogue::CatalogueRevision;

use self::scope_state::ScopeState;
use super::lens_index::LensIndexCache;

pub(crate) use index::{IndexSet, actions, entry_id, offered, parse_entry_id, text_hash, texts_of};
pub(crate) use load::parse_document;
pub use mode::Mode;
pub(crate) use other_names::OtherNames;
use overlay::{Exemplified, Overlay};
pub(crate) use service::CatalogueService;
pub(crate) use vectors::TextVectors;

/// One revision of the catalogue, ready to serve.
#[derive(Debug, Default)]
pub struct LiveCatalogue {
    /// Which revision.
    pub revision: CatalogueRevision,
    /// The documents.
    pub snapshot: Snapshot,
    /// Weights and thresholds in force.
    pub settings: RouteSettings,
    /// The indexes of lenses.
    pub(crate) lenses: LensIndexCache,
    global: TierStacks,
    tenants: BTreeMap<TenantId, TierStacks>,
    policies: Policies,
    scopes: BTreeMap<Option<TenantId>, ScopeState>,
    /// Entries extended by accepted route examples, by tenant.
    overlays: BTreeMap<TenantId, Overlay>,
}

impl LiveCatalogue {
    /// The catalogue as one tenant sees it.
    #[must_use]
    pub fn view(&self, tenant: &TenantId) -> View {
        self.snapshot.view(tenant)
    }

    /// The policies in force for one tenant: the global ones and its own. Compiled on the first
    /// question about this revision.
    #[must_use]
    pub fn policies(&self, tenant: &TenantId) -> Arc<PolicySet> {
        let compiled = match self.policies.tenants.get(tenant) {
            Some(own) => own.get_or_init(|| Arc::new(PolicySet::compile(self.view(tenant)))),
            None => {
                let compile = || Arc::new(PolicySet::compile(self.snapshot.global_view()));
                self.policies.global.get_or_init(compile)
            }
        };
        Arc::clone(compiled)
    }

    /// Number of documents in force, over all scopes.
    #[must_use]
    pub fn documents(&self) -> usize {
        let tenants = self.snapshot.tenants.values().map(|layer| layer.len());
        self.snapshot.global.len() + tenants.sum::<usize>()
    }

    /// The indexes that one tenant's requests on a tier are routed over, without entries that the tier does not reach.
    pub(crate) fn stacked(&self, tenant: &TenantId, tier: Tier) -> Arc<Stacked> {
        let stacks = self.tenants.get(tenant).unwrap_or(&self.global);
        stacks.on(tier, || self.view(tenant))
    }

    /// How the identifiers look that a tenant's skills and playbooks take.
    pub(crate) fn identifiers(&self, tenant: &TenantId) -> Arc<Identifiers> {
        let stacks = self.tenants.get(tenant).unwrap_or(&self.global);
        let read = || Arc::new(identifiers(&self.view(tenant)));
        Arc::clone(stacks.identifiers.get_or_init(read))
    }

    /// The names of a tenant's tools, agents and kinds of missions.
    pub(crate) fn other_names(&self, tenant: &TenantId) -> Arc<OtherNames> {
        let stacks = self.tenants.get(tenant).unwrap_or(&self.global);
        let read = || Arc::new(OtherNames::from_view(&self.view(tenant)));
        Arc::clone(stacks.other_names.get_or_init(read))
    }

    /// The dependents of documents in a tenant's layer and in the global one. They are computed once for each revision.
    pub(crate) fn dependents(&self, tenant: &TenantId) -> [Arc<Dependents>; 2] {
        [Some(tenant.clone()), None].map(|scope| {
            let state = self.scopes.get(&scope);
            state.map(ScopeState::dependents).unwrap_or_default()
        })
    }

    /// The entries that a tenant's accepted route examples extend.
    pub(crate) fn exemplified(&self, tenant: &TenantId) -> Exemplified {
        let overlay = self.overlays.get(tenant);
        overlay.map_or_else(Exemplified::default, |overlay| overlay.entries.clone())
    }

    /// The global indexes, for stacking another layer over them.
    pub(crate) fn global_indexes(&self) -> Option<&IndexSet> {
        self.scopes.get(&None).map(|state| &state.indexes)
    }
}

/// The shapes that parameters of active skills and playbooks declare.
pub(crate) fn identifiers(view: &View) -> Identifiers {
    let skills: Vec<_> = view.skills().collect();
    let playbooks: Vec<_> = view.playbooks().collect();
    let of_skills = skills.iter().map(|found| {
        let skill = found.document();
        (&skill.domain, skill.parameters.as_slice())
    });
    let of_playbooks = playbooks.iter().flat_map(|found| {
        let playbook = found.document();
        let lists = [
            &playbook.mandatory_parameters,
            &playbook.optional_parameters,
        ];
        lists.map(|parameters| (&playbook.domain, parameters.as_slice()))
    });
    Identifiers::from_parameters(of_skills.chain(of_playbooks))
}

/// The compiled policies of tenants with documents of their own, and of all other tenants.
#[derive(Debug, Default)]
struct Policies {
    global: OnceLock<Arc<PolicySet>>,
    tenants: BTreeMap<TenantId, OnceLock<Arc<PolicySet>>>,
}

impl Policies {
    /// Nothing compiled yet, for a snapshot with these tenants.
    fn for_snapshot(snapshot: &Snapshot) -> Self {
        let tenants = snapshot.tenants.keys().cloned();
        Self {
            global: OnceLock::new(),
            tenants: tenants.map(|tenant| (tenant, OnceLock::new())).collect(),
        }
    }
}

/// A tenant's indexes over the global ones, for each tier without the entries that it does not reach.
#[derive(Debug, Default)]
struct TierStacks {
    whole: Arc<Stacked>,
    /// Read on the first question about this revision.
    identifiers: OnceLock<Arc<Identifiers>>,
    /// Read on the first question about this revision.
    other_names: OnceLock<Arc<OtherNames>>,
    /// Made on the first question about this revision.
    by_tier: OnceLock<BTreeMap<Tier, Arc<Stacked>>>,
}

impl TierStacks {
    fn new(whole: Stacked) -> Self {
        Self {
            whole: Arc::new(whole),
            identifiers: OnceLock::new(),
            other_names: OnceLock::new(),
            by_tier: OnceLock::new(),
        }
    }

    fn on(&self, tier: Tier, view: impl FnOnce() -> View) -> Arc<Stacked> {
        let by_tier = self.by_tier.get_or_init(|| self.split(&view()));
        by_tier.get(&tier).cloned().unwrap_or_default()
    }

    fn split(&self, view: &View) -> BTreeMap<Tier, Arc<Stacked>> {
        let limited = tier::limited(view);
        let on = |tier: Tier| {
            let above = limited.iter().filter(|(.., served)| !served.reaches(tier));
            let above: Vec<String> = above.map(|(kind, id, _)| entry_id(*kind, id)).collect();
            if above.is_empty() {
                return Arc::clone(&self.whole);
            }
            Arc::new(self.whole.without(&above))
        };
        Tier::ALL.iter().map(|tier| (*tier, on(*tier))).collect()
    }
}

/// A tenant's indexes over the global ones.
#[derive(Debug)]
pub(crate) struct Stacked {
    pub(crate) actions: Layers,
    pub(crate) agents: Layers,
}

impl Default for Stacked {
    fn default() -> Self {
        Self {
            actions: Layers::new(Vec::new()),
            agents: Layers::new(Vec::new()),
        }
    }
}

impl Stacked {
    /// Entries of the overlay precede the entries that they extend, in the same scope.
    pub(crate) fn new(
        tenant: Option<&IndexSet>,
        overlay: Option<&Overlay>,
        global: &IndexSet,
    ) -> Self {
        let layer = |scope: Scope, index: &Arc<RouteIndex>| Layer {
            scope,
            index: Arc::clone(index),
        };
        let actions = [
            overlay.map(|overlay| layer(Scope::Tenant, &overlay.tenant)),
            tenant.map(|set| layer(Scope::Tenant, &set.actions)),
            overlay.map(|overlay| layer(Scope::Global, &overlay.global)),
            Some(layer(Scope::Global, &global.actions)),
        ];
        let agents = [
            tenant.map(|set| layer(Scope::Tenant, &set.agents)),
            Some(layer(Scope::Global, &global.agents)),
        ];
        let stack = |layers: Vec<Layer>| {
            let withdrawn = tenant.iter().flat_map(|set| set.withdrawn.iter());
            Layers::new(layers).hiding(withdrawn.map(String::as_str))
        };
        Self {
            actions: stack(actions.into_iter().flatten().collect()),
            agents: stack(agents.into_iter().flatten().collect()),
        }
    }

    /// The same without these entries, in every layer.
    pub(crate) fn without(&self, entries: &[String]) -> Self {
        let hiding = |layers: &Layers| {
            let entries = entries.iter().map(String::as_str);
            layers.clone().hiding(entries)
        };
        Self {
            actions: hiding(&self.actions),
            agents: hiding(&self.agents),
        }
    }
}
