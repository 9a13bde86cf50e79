//! One layer: the documents in force in one scope, by kind and id.

use std::sync::{Arc, OnceLock};

use charter_contract::catalogue::agent::AgentManifest;
use charter_contract::catalogue::domain::Domain;
use charter_contract::catalogue::graph::{GraphEdge, GraphNode};
use charter_contract::catalogue::guardrail::Guardrail;
use charter_contract::catalogue::heading::{Headed, Heading};
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
use charter_contract::ids::PackageName;

use super::lookup::{IndexedShelves, Lookup};
use super::{CatalogueEntry, DocumentsById, Origin};

/// Evaluates an expression on the map of a kind.
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
            DocumentKind::Policy => on_shelf!(@ $layer.policies, $shelf, $found),
            DocumentKind::MissionType => on_shelf!(@ $layer.mission_types, $shelf, $found),
            DocumentKind::PromptTemplate => on_shelf!(@ $layer.prompts, $shelf, $found),
            DocumentKind::Schedule => on_shelf!(@ $layer.schedules, $shelf, $found),
            DocumentKind::TagRecord | DocumentKind::Evidence => $none,
        }
    };
    (@ $field:expr, $shelf:ident, $found:expr) => {{
        let $shelf = &$field;
        $found
    }};
}

/// All documents in force in one scope, by kind and id.
#[derive(Debug, Default, Clone)]
pub struct Layer {
    /// Skills by id.
    pub skills: DocumentsById<Skill>,
    /// Tools by id.
    pub tools: DocumentsById<Tool>,
    /// Guardrails by id.
    pub guardrails: DocumentsById<Guardrail>,
    /// Domain lenses by id.
    pub lenses: DocumentsById<DomainLens>,
    /// Templates by id.
    pub templates: DocumentsById<Template>,
    /// Playbooks by id.
    pub playbooks: DocumentsById<Playbook>,
    /// Agents by id.
    pub agents: DocumentsById<AgentManifest>,
    /// Expert graph nodes by id.
    pub nodes: DocumentsById<GraphNode>,
    /// Expert graph edges by `from type to`.
    pub edges: DocumentsById<GraphEdge>,
    /// Domains by id.
    pub domains: DocumentsById<Domain>,
    /// Policies by id.
    pub policies: DocumentsById<Policy>,
    /// Kinds of missions by id.
    pub mission_types: DocumentsById<MissionType>,
    /// Prompt templates by id.
    pub prompts: DocumentsById<PromptTemplate>,
    /// Schedules and triggers by id.
    pub schedules: DocumentsById<Schedule>,
    /// Built on first use, and discarded on every change.
    lookup: OnceLock<Arc<Lookup>>,
}

impl Layer {
    /// Adds a document, or replaces one of the same kind and id.
    pub fn insert(&mut self, document: Document, origin: Arc<Origin>, content_hash: String) {
        self.lookup = OnceLock::new();
        let id = document.id().to_string();
        macro_rules! shelve {
            ($shelf:ident, $document:expr) => {{
                let entry = CatalogueEntry {
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
            Document::Policy(document) => shelve!(policies, document),
            Document::MissionType(document) => shelve!(mission_types, document),
            Document::PromptTemplate(document) => shelve!(prompts, document),
            Document::Schedule(document) => shelve!(schedules, document),
        }
    }

    /// Returns the indexes that every request uses.
    pub(super) fn lookup(&self) -> &Lookup {
        self.lookup.get_or_init(|| {
            Arc::new(Lookup::build(&IndexedShelves {
                guardrails: &self.guardrails,
                policies: &self.policies,
                edges: &self.edges,
                nodes: &self.nodes,
                agents: &self.agents,
            }))
        })
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

    /// Returns the ids of one kind, in order. Tags and evidence are not part of the catalogue.
    #[must_use]
    pub fn ids(&self, kind: DocumentKind) -> Vec<&str> {
        on_shelf!(
            self,
            kind,
            |shelf| shelf.keys().map(String::as_str).collect(),
            Vec::new()
        )
    }

    /// Returns the package version that put a document in force, if the document exists.
    #[must_use]
    pub fn origin(&self, kind: DocumentKind, id: &str) -> Option<&Arc<Origin>> {
        on_shelf!(
            self,
            kind,
            |shelf| shelf.get(id).map(|entry| &entry.origin),
            None
        )
    }

    /// Returns a document's content hash, if the document exists.
    #[must_use]
    pub fn content_hash(&self, kind: DocumentKind, id: &str) -> Option<&str> {
        on_shelf!(
            self,
            kind,
            |shelf| shelf.get(id).map(|entry| entry.content_hash.as_str()),
            None
        )
    }

    /// Returns a document's status, if the document exists.
    #[must_use]
    pub fn status(&self, kind: DocumentKind, id: &str) -> Option<Status> {
        on_shelf!(
            self,
            kind,
            |shelf| shelf.get(id).map(|entry| entry.document.status),
            None
        )
    }

    /// Returns a document's heading for listings, if the document exists.
    #[must_use]
    pub fn heading(&self, kind: DocumentKind, id: &str) -> Option<Heading<'_>> {
        on_shelf!(
            self,
            kind,
            |shelf| shelf.get(id).map(|entry| entry.document.heading()),
            None
        )
    }

    /// Returns a document, if it exists.
    #[must_use]
    pub fn document(&self, kind: DocumentKind, id: &str) -> Option<Document> {
        on_shelf!(
            self,
            kind,
            |shelf| shelf.get(id).map(|entry| entry.document.clone().into()),
            None
        )
    }

    /// Returns every document with its origin, ordered by kind and id.
    pub fn documents(&self) -> impl Iterator<Item = (Arc<Origin>, Document)> + '_ {
        DocumentKind::ALL.iter().flat_map(move |kind| {
            self.ids(*kind).into_iter().filter_map(move |id| {
                let origin = self.origin(*kind, id)?;
                Some((Arc::clone(origin), self.document(*kind, id)?))
            })
        })
    }

    pub(super) fn keep_policies_of(&mut self, package: &PackageName) {
        self.lookup = OnceLock::new();
        self.policies
            .retain(|_, entry| entry.origin.package == *package);
    }

    /// Removes a package's documents.
    pub fn remove_package(&mut self, package: &PackageName) {
        self.lookup = OnceLock::new();
        macro_rules! purge {
            ($($shelf:ident),+) => {
                $( self.$shelf.retain(|_, entry| entry.origin.package != *package); )+
            };
        }
        purge!(
            skills,
            tools,
            guardrails,
            lenses,
            templates,
            playbooks,
            agents,
            nodes,
            edges,
            domains,
            policies,
            mission_types,
            prompts,
            schedules
        );
    }
}
