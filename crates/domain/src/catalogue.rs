//! The catalogue in memory: one global layer, one small layer per tenant, read together as a view.
//!
//! A snapshot is immutable. The six seeded domains are always there. A tenant's document shadows the global one of the same id (B000-1),
//! and what a view answers says which layer won. Knows nothing of where documents are stored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use charter_contract::catalogue::agent::AgentManifest;
use charter_contract::catalogue::domain::Domain;
use charter_contract::catalogue::graph::{GraphEdge, GraphNode};
use charter_contract::catalogue::guardrail::Guardrail;
use charter_contract::catalogue::lens::DomainLens;
use charter_contract::catalogue::playbook::Playbook;
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::template::Template;
use charter_contract::catalogue::tool::Tool;
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::catalogue::{Document, DocumentKind};
use charter_contract::ids::{PackageName, TenantId};
use charter_contract::scope::Scope;

/// The package version that put a document in force.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// Where the package is registered.
    pub scope: Scope,
    /// The package.
    pub package: PackageName,
    /// Its version.
    pub version: String,
}

/// The package that the six seeded domains count as. Any other may describe them anew.
pub const BUILT_IN: &str = "charter";

/// A document in force with its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry<T> {
    /// The document.
    pub document: T,
    /// Who put it there.
    pub origin: Arc<Origin>,
    /// `sha256:…` of its canonical JSON.
    pub content_hash: String,
}

/// Evaluates an expression on the shelf of a kind.
macro_rules! on_shelf {
    ($layer:expr, $kind:expr, |$shelf:ident| $found:expr, $none:expr) => {
        match $kind {
            DocumentKind::Skill => on_shelf!(@ $layer.skills, $shelf, $found),
            DocumentKind::Tool => on_shelf!(@ $layer.tools, $shelf, $found),
            DocumentKind::Guardrail => on_shelf!(@ $layer.guardrails, $shelf, $found),
            DocumentKind::DomainLens => on_shelf!(@ $layer.lenses, $shelf, $found),
            DocumentKind::Template => on_shelf!(@ $layer.templates, $shelf, $found),
            DocumentKind::Playbook => on_shelf!(@ $layer.playbooks, $shelf, $found),
            DocumentKind::Agent => on_shelf!(@ $layer.agents, $shelf, $found),
            DocumentKind::GraphNode => on_shelf!(@ $layer.nodes, $shelf, $found),
            DocumentKind::GraphEdge => on_shelf!(@ $layer.edges, $shelf, $found),
            DocumentKind::Domain => on_shelf!(@ $layer.domains, $shelf, $found),
            DocumentKind::TagRecord | DocumentKind::Evidence => $none,
        }
    };
    (@ $field:expr, $shelf:ident, $found:expr) => {{
        let $shelf = &$field;
        $found
    }};
}

type Shelf<T> = BTreeMap<String, Arc<Entry<T>>>;

/// All documents in force in one scope, by kind and id.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Layer {
    /// Skills by id.
    pub skills: Shelf<Skill>,
    /// Tools by id.
    pub tools: Shelf<Tool>,
    /// Guardrails by id.
    pub guardrails: Shelf<Guardrail>,
    /// Domain lenses by id.
    pub lenses: Shelf<DomainLens>,
    /// Templates by id.
    pub templates: Shelf<Template>,
    /// Playbooks by id.
    pub playbooks: Shelf<Playbook>,
    /// Agents by id.
    pub agents: Shelf<AgentManifest>,
    /// Expert graph nodes by id.
    pub nodes: Shelf<GraphNode>,
    /// Expert graph edges by `from type to`.
    pub edges: Shelf<GraphEdge>,
    /// Domains by id.
    pub domains: Shelf<Domain>,
}

impl Layer {
    /// Adds a document, in place of one of the same kind and id.
    pub fn insert(&mut self, document: Document, origin: Arc<Origin>, content_hash: String) {
        let id = document.id().to_string();
        macro_rules! shelve {
            ($shelf:ident, $document:expr) => {{
                let entry = Entry {
                    document: $document,
                    origin,
                    content_hash,
                };
                self.$shelf.insert(id, Arc::new(entry));
            }};
        }
        match document {
            Document::Skill(document) => shelve!(skills, document),
            Document::Tool(document) => shelve!(tools, document),
            Document::Guardrail(document) => shelve!(guardrails, document),
            Document::DomainLens(document) => shelve!(lenses, document),
            Document::Template(document) => shelve!(templates, document),
            Document::Playbook(document) => shelve!(playbooks, document),
            Document::Agent(document) => shelve!(agents, document),
            Document::GraphNode(document) => shelve!(nodes, document),
            Document::GraphEdge(document) => shelve!(edges, document),
            Document::Domain(document) => shelve!(domains, document),
        }
    }

    /// Number of documents of all kinds.
    #[must_use]
    pub fn len(&self) -> usize {
        DocumentKind::ALL
            .iter()
            .map(|kind| self.ids(*kind).len())
            .sum()
    }

    /// Whether there is no document at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ids of one kind, in order. Tags and evidence are no part of the catalogue.
    #[must_use]
    pub fn ids(&self, kind: DocumentKind) -> Vec<&str> {
        on_shelf!(
            self,
            kind,
            |shelf| shelf.keys().map(String::as_str).collect(),
            Vec::new()
        )
    }

    /// Who put a document in force, if it is there.
    #[must_use]
    pub fn origin(&self, kind: DocumentKind, id: &str) -> Option<&Arc<Origin>> {
        on_shelf!(
            self,
            kind,
            |shelf| shelf.get(id).map(|entry| &entry.origin),
            None
        )
    }

    /// A document's content hash, if it is there.
    #[must_use]
    pub fn content_hash(&self, kind: DocumentKind, id: &str) -> Option<&str> {
        on_shelf!(
            self,
            kind,
            |shelf| shelf.get(id).map(|entry| entry.content_hash.as_str()),
            None
        )
    }

    /// A document, if it is there.
    #[must_use]
    pub fn document(&self, kind: DocumentKind, id: &str) -> Option<Document> {
        on_shelf!(
            self,
            kind,
            |shelf| shelf.get(id).map(|entry| entry.document.clone().into()),
            None
        )
    }

    /// Every document with its origin, by kind and id.
    pub fn documents(&self) -> impl Iterator<Item = (Arc<Origin>, Document)> + '_ {
        DocumentKind::ALL.iter().flat_map(move |kind| {
            self.ids(*kind).into_iter().filter_map(move |id| {
                let origin = self.origin(*kind, id)?;
                Some((Arc::clone(origin), self.document(*kind, id)?))
            })
        })
    }

    /// Takes a package's documents out.
    pub fn remove_package(&mut self, package: &PackageName) {
        macro_rules! purge {
            ($($shelf:ident),+) => {
                $( self.$shelf.retain(|_, entry| entry.origin.package != *package); )+
            };
        }
        purge!(
            skills, tools, guardrails, lenses, templates, playbooks, agents, nodes, edges, domains
        );
    }
}

/// The whole catalogue at one revision.
#[derive(Debug, Default, Clone)]
pub struct Snapshot {
    /// What everybody sees.
    pub global: Arc<Layer>,
    /// What each tenant adds and overrides.
    pub tenants: BTreeMap<TenantId, Arc<Layer>>,
}

impl Snapshot {
    /// The catalogue as one tenant sees it.
    #[must_use]
    pub fn view(&self, tenant: &TenantId) -> View {
        View {
            global: Arc::clone(&self.global),
            tenant: self.tenants.get(tenant).map(Arc::clone).unwrap_or_default(),
        }
    }

    /// The global layer alone: what holds for every tenant.
    #[must_use]
    pub fn global_view(&self) -> View {
        View {
            global: Arc::clone(&self.global),
            tenant: Arc::default(),
        }
    }
}

/// Which layer a document was found in, and what that means for the other layer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Won {
    /// Only the tenant has it.
    Tenant,
    /// Only the global layer has it.
    Global,
    /// The tenant's shadows a global one of the same id.
    TenantOverGlobal,
}

impl Won {
    /// Whether the tenant's own document answered.
    #[must_use]
    pub fn is_tenant(self) -> bool {
        match self {
            Self::Tenant | Self::TenantOverGlobal => true,
            Self::Global => false,
        }
    }
}

/// A document as a view answers it.
#[derive(Debug, Clone, PartialEq)]
pub struct Found<T> {
    /// The document.
    pub entry: Arc<Entry<T>>,
    /// Why this one.
    pub won: Won,
}

impl<T> Found<T> {
    /// The document itself.
    #[must_use]
    pub fn document(&self) -> &T {
        &self.entry.document
    }
}

/// One tenant's view: its own layer over the global one.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// The global layer.
    pub global: Arc<Layer>,
    /// The tenant's own.
    pub tenant: Arc<Layer>,
}

macro_rules! shelf_access {
    ($one:ident, $all:ident, $shelf:ident, $document:ty, $noun:literal) => {
        #[doc = concat!("The ", $noun, " of this id; the tenant's before the global one.")]
        #[must_use]
        pub fn $one(&self, id: &str) -> Option<Found<$document>> {
            find(&self.tenant.$shelf, &self.global.$shelf, id)
        }

        #[doc = concat!("Every ", $noun, " in view, by id, shadowed ones left out.")]
        pub fn $all(&self) -> impl Iterator<Item = Found<$document>> + '_ {
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

    /// Whether a document is there, and offered.
    #[must_use]
    pub fn status(&self, kind: DocumentKind, id: &str) -> Option<Status> {
        let own = self.tenant.document(kind, id);
        own.or_else(|| self.global.document(kind, id))
            .map(|document| document.status())
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

    /// The same view with one package's documents in place of what it has in force.
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

    /// Every guardrail of both layers: a tenant adds to the global ones and never replaces them
    /// (ruling 5), so equal ids both stand.
    pub fn guardrails(&self) -> impl Iterator<Item = Found<Guardrail>> + '_ {
        let own = self
            .tenant
            .guardrails
            .values()
            .map(|entry| (entry, Won::Tenant));
        let global = self
            .global
            .guardrails
            .values()
            .map(|entry| (entry, Won::Global));
        own.chain(global).map(|(entry, won)| Found {
            entry: Arc::clone(entry),
            won,
        })
    }

    /// The agent that lists a skill, if any (ruling 8: at most one does).
    #[must_use]
    pub fn owner_of(&self, skill: &str) -> Option<Found<AgentManifest>> {
        self.agents().find(|agent| {
            let refs = &agent.document().skill_refs;
            refs.iter().any(|reference| reference.as_ref() == skill)
        })
    }
}

fn find<T>(tenant: &Shelf<T>, global: &Shelf<T>, id: &str) -> Option<Found<T>> {
    let (entry, won) = match (tenant.get(id), global.get(id)) {
        (Some(own), Some(_)) => (own, Won::TenantOverGlobal),
        (Some(own), None) => (own, Won::Tenant),
        (None, Some(shared)) => (shared, Won::Global),
        (None, None) => return None,
    };
    Some(Found {
        entry: Arc::clone(entry),
        won,
    })
}

fn merged<'a, T>(
    tenant: &'a Shelf<T>,
    global: &'a Shelf<T>,
) -> impl Iterator<Item = Found<T>> + 'a {
    let ids: BTreeSet<&'a String> = tenant.keys().chain(global.keys()).collect();
    ids.into_iter()
        .filter_map(move |id| find(tenant, global, id))
}
