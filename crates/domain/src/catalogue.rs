//! The catalogue in memory: one global layer and one small layer per tenant, combined in a view.
//!
//! A snapshot is immutable. It always contains the six seeded domains and the built-in tools. A tenant's document
//! shadows the global one of the same id (B000-1), and a view's results name the layer that won. Does not know where
//! documents are stored.

mod conditions;
mod edges;
mod layer;
mod layered;
mod lookup;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use charter_contract::catalogue::agent::AgentManifest;
use charter_contract::catalogue::domain::Domain;
use charter_contract::catalogue::graph::{GraphEdge, GraphNode};
use charter_contract::catalogue::guardrail::{Guardrail, GuardrailScope};
use charter_contract::catalogue::lens::DomainLens;
use charter_contract::catalogue::mission_type::MissionType;
use charter_contract::catalogue::playbook::Playbook;
use charter_contract::catalogue::policy::Policy;
use charter_contract::catalogue::prompt::PromptTemplate;
use charter_contract::catalogue::schedule::Schedule;
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::template::Template;
use charter_contract::catalogue::tool::Tool;
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::catalogue::{Document, DocumentKind};
use charter_contract::ids::{PackageName, TenantId};
use charter_contract::scope::Scope;
use schemars::JsonSchema;

use crate::glob;

pub use conditions::Conditions;
pub use edges::Direction;
pub use layer::Layer;
pub use layered::Layered;

/// The package version that put a document in force.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The scope in which the package is registered.
    pub scope: Scope,
    /// The package.
    pub package: PackageName,
    /// Its version.
    pub version: String,
}

/// The package name of the six seeded domains, the built-in tools and the tools of MCP servers. Other packages may
/// replace the domains, but not the tools.
pub const BUILT_IN: &str = "charter";

/// A document in force with its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct CatalogueEntry<T> {
    /// The document.
    pub document: T,
    /// The package version that put the document in force.
    pub origin: Arc<Origin>,
    /// `sha256:…` of its canonical JSON.
    pub content_hash: String,
}

/// The documents of one kind in a layer, by id.
type DocumentsById<T> = BTreeMap<String, Arc<CatalogueEntry<T>>>;

/// The complete catalogue at one revision.
#[derive(Debug, Default, Clone)]
pub struct Snapshot {
    /// The layer that every tenant sees.
    pub global: Arc<Layer>,
    /// The documents that each tenant adds or overrides.
    pub tenants: BTreeMap<TenantId, Arc<Layer>>,
}

impl Snapshot {
    /// Returns the catalogue as one tenant sees it.
    #[must_use]
    pub fn view(&self, tenant: &TenantId) -> View {
        View {
            global: Arc::clone(&self.global),
            tenant: self.tenants.get(tenant).map(Arc::clone).unwrap_or_default(),
        }
    }

    /// Returns a view of the global layer alone, which applies to every tenant.
    #[must_use]
    pub fn global_view(&self) -> View {
        View {
            global: Arc::clone(&self.global),
            tenant: Arc::default(),
        }
    }
}

/// The layer in which a document was found, and the relation to the other layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, JsonSchema)]
#[schemars(rename = "WinningLayer")]
#[serde(rename_all = "snake_case")]
pub enum WinningLayer {
    /// Only the tenant's layer has it.
    Tenant,
    /// Only the global layer has it.
    Global,
    /// The tenant's document shadows a global one of the same id.
    TenantOverGlobal,
}

impl WinningLayer {
    /// Returns whether the tenant's own document won.
    #[must_use]
    pub fn is_tenant(self) -> bool {
        match self {
            Self::Tenant | Self::TenantOverGlobal => true,
            Self::Global => false,
        }
    }
}

/// A document as resolved by a view.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedDocument<T> {
    /// The document.
    pub entry: Arc<CatalogueEntry<T>>,
    /// The layer that won.
    pub won: WinningLayer,
}

impl<T> ResolvedDocument<T> {
    /// The document itself.
    #[must_use]
    pub fn document(&self) -> &T {
        &self.entry.document
    }
}

/// One tenant's view: its own layer over the global layer.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// The global layer.
    pub global: Arc<Layer>,
    /// The tenant's own layer.
    pub tenant: Arc<Layer>,
}

macro_rules! shelf_access {
    ($one:ident, $all:ident, $shelf:ident, $document:ty, $noun:literal) => {
        #[doc = concat!("The ", $noun, " of this id; the tenant's before the global one.")]
        #[must_use]
        pub fn $one(&self, id: &str) -> Option<ResolvedDocument<$document>> {
            find(&self.tenant.$shelf, &self.global.$shelf, id)
        }

        #[doc = concat!("Every ", $noun, " in view, by id, shadowed ones left out.")]
        pub fn $all(&self) -> impl Iterator<Item = ResolvedDocument<$document>> + '_ {
            merged(&self.tenant.$shelf, &self.global.$shelf)
        }
    };
}

impl View {
    shelf_access!(skill, skills, skills, Skill, "skill");
    shelf_access!(tool, tools, tools, Tool, "tool");
    shelf_access!(lens, lenses, lenses, DomainLens, "domain lens");
    shelf_access!(template, templates, templates, Template, "template");
    shelf_access!(playbook, playbooks, playbooks, Playbook, "playbook");
    shelf_access!(agent, agents, agents, AgentManifest, "agent");
    shelf_access!(node, nodes, nodes, GraphNode, "expert graph node");
    shelf_access!(edge, edges, edges, GraphEdge, "expert graph edge");
    shelf_access!(domain, domains, domains, Domain, "domain");
    shelf_access!(
        mission_type,
        mission_types,
        mission_types,
        MissionType,
        "kind of missions"
    );
    shelf_access!(
        prompt_template,
        prompt_templates,
        prompts,
        PromptTemplate,
        "prompt template"
    );
    shelf_access!(schedule, schedules, schedules, Schedule, "schedule");

    /// Returns a document's status, if the document exists.
    #[must_use]
    pub fn status(&self, kind: DocumentKind, id: &str) -> Option<Status> {
        let own = self.tenant.status(kind, id);
        own.or_else(|| self.global.status(kind, id))
    }

    /// The ids of one kind in both layers, in order.
    #[must_use]
    pub fn ids(&self, kind: DocumentKind) -> Vec<&str> {
        let ids: BTreeSet<&str> = self
            .tenant
            .ids(kind)
            .into_iter()
            .chain(self.global.ids(kind))
            .collect();
        ids.into_iter().collect()
    }

    /// Returns a view in which these documents replace those that the package has in force.
    #[must_use]
    pub fn with_package(
        &self,
        origin: &Arc<Origin>,
        documents: impl IntoIterator<Item = (Document, String)>,
    ) -> Self {
        let mut after = self.clone();
        let layer = Arc::make_mut(match origin.scope {
            Scope::Global => &mut after.global,
            Scope::Tenant(_) => &mut after.tenant,
        });
        layer.remove_package(&origin.package);
        for (document, content_hash) in documents {
            layer.insert(document, Arc::clone(origin), content_hash);
        }
        after
    }

    /// Returns the active guardrails of one scope level whose globs may cover `target`, ordered by id, with their
    /// expressions. A tenant adds guardrails and never replaces global ones (ruling 5). Guardrails of equal ids are
    /// therefore both returned, the tenant's first.
    #[must_use]
    pub fn guardrails_near(
        &self,
        scope: GuardrailScope,
        target: &str,
    ) -> Vec<(ResolvedDocument<Guardrail>, Arc<Conditions>)> {
        let layers = [
            (&self.tenant, WinningLayer::Tenant),
            (&self.global, WinningLayer::Global),
        ];
        let mut near: Vec<(ResolvedDocument<Guardrail>, Arc<Conditions>)> = layers
            .into_iter()
            .flat_map(|(layer, won)| {
                let near = layer.lookup().guardrails_near(scope, target);
                near.map(move |(entry, conditions)| {
                    let entry = Arc::clone(entry);
                    (ResolvedDocument { entry, won }, Arc::clone(conditions))
                })
            })
            .collect();
        near.sort_by_key(|(found, _)| found.entry.document.guardrail_id.clone());
        near
    }

    /// Returns the active policies that govern a tool, ordered by id: first the tenant's, then the global ones. As with
    /// guardrails, a tenant's policies do not replace global ones.
    #[must_use]
    pub fn policies_over(&self, tool: &str) -> [Vec<Arc<CatalogueEntry<Policy>>>; 2] {
        [&self.tenant, &self.global].map(|layer| {
            let near = layer.lookup().policies_near(tool).into_iter();
            let covers = |entry: &&Arc<CatalogueEntry<Policy>>| {
                let mut globs = entry.document.governs.iter();
                globs.any(|glob| glob::covers(glob.as_ref(), tool))
            };
            near.filter(covers).map(Arc::clone).collect()
        })
    }

    /// Returns the view without the policies of other packages.
    #[must_use]
    pub fn with_policies_of(&self, package: &PackageName) -> Self {
        let mut alone = self.clone();
        for layer in [&mut alone.tenant, &mut alone.global] {
            Arc::make_mut(layer).keep_policies_of(package);
        }
        alone
    }

    /// Returns the agents that list a skill, ordered by id. A validated catalogue has at most one (ruling 8).
    #[must_use]
    pub fn owners_of(&self, skill: &str) -> Vec<ResolvedDocument<AgentManifest>> {
        let lists = |agent: &ResolvedDocument<AgentManifest>| {
            let refs = &agent.document().skill_refs;
            refs.iter().any(|reference| reference.as_ref() == skill)
        };
        let own = self.tenant.lookup().owners_of(skill);
        let global = self.global.lookup().owners_of(skill);
        let ids: BTreeSet<&str> = own.chain(global).collect();
        // A shadowed agent and the agent that shadows it may list different skills.
        ids.into_iter()
            .filter_map(|id| self.agent(id))
            .filter(lists)
            .collect()
    }

    /// Returns the agent that owns a skill or playbook. A skill belongs to the agent that lists it, or else to the
    /// agent within whose boundary it was generated. A playbook belongs only to the latter.
    #[must_use]
    pub fn owner_of(&self, id: &str) -> Option<ResolvedDocument<AgentManifest>> {
        let listing = self.owners_of(id).into_iter().next();
        listing.or_else(|| {
            let skill = self.skill(id);
            let agent = match &skill {
                Some(skill) => skill.document().grounding_agent.clone(),
                None => self.playbook(id)?.document().grounding_agent.clone(),
            };
            self.agent(agent?.as_ref())
        })
    }
}

fn find<T>(
    tenant: &DocumentsById<T>,
    global: &DocumentsById<T>,
    id: &str,
) -> Option<ResolvedDocument<T>> {
    let (entry, won) = match (tenant.get(id), global.get(id)) {
        (Some(own), Some(_)) => (own, WinningLayer::TenantOverGlobal),
        (Some(own), None) => (own, WinningLayer::Tenant),
        (None, Some(shared)) => (shared, WinningLayer::Global),
        (None, None) => return None,
    };
    Some(ResolvedDocument {
        entry: Arc::clone(entry),
        won,
    })
}

fn merged<'a, T>(
    tenant: &'a DocumentsById<T>,
    global: &'a DocumentsById<T>,
) -> impl Iterator<Item = ResolvedDocument<T>> + 'a {
    let ids: BTreeSet<&'a String> = tenant.keys().chain(global.keys()).collect();
    ids.into_iter()
        .filter_map(move |id| find(tenant, global, id))
}

#[cfg(test)]
pub(crate) mod tests;
