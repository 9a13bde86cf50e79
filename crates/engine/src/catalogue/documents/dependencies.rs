//! The dependencies and dependents of a document: what breaks if it changes.

use charter_contract::catalogue::DocumentKind;
use charter_domain::dependencies::{Dependency, DependencyGraph, DependencySide, DocumentRef};
use charter_domain::expert_graph::Depth;
use schemars::JsonSchema;
use serde::Serialize;

use super::DocumentService;
use super::DocumentSummary;
use super::list::unseen;
use crate::{Caller, EngineError};

/// The documents around one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DocumentDependencies {
    /// The requested document.
    pub root: DocumentSummary,
    /// Its dependencies, then its dependents, nearest first; at most 1,000.
    pub nodes: Vec<DependencyNode>,
    /// The references between them; at most 10,000.
    pub edges: Vec<Dependency>,
    /// Whether the rest was left out.
    pub truncated: bool,
}

/// A document reached from another.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DependencyNode {
    /// Its kind.
    pub kind: DocumentKind,
    /// Its id.
    pub id: String,
    /// Whether it is a dependency or a dependent of the root.
    pub side: DependencySide,
    /// Its distance in references, by the shortest path.
    pub distance: usize,
    /// The document; null if it does not exist.
    pub document: Option<DocumentSummary>,
}

impl DocumentService {
    /// Returns the dependencies and dependents of a document that is visible to the caller, up to `depth` references
    /// away. References are those that registration checks; applicable guardrails and policies are resolved instead.
    ///
    /// # Errors
    /// `not_found`.
    pub fn document_dependencies(
        &self,
        caller: &Caller,
        (kind, id): (DocumentKind, &str),
        side: Option<DependencySide>,
        depth: Option<Depth>,
    ) -> Result<DocumentDependencies, EngineError> {
        let live = self.catalogue.live();
        let view = live.view(&caller.tenant);
        let root = DocumentSummary::of(&view, kind, id);
        let root = root.filter(|_| self.is_reached(caller, kind, id));
        let root = root.ok_or_else(|| unseen(&view, kind, id))?;
        let [tenant, global] = live.dependents(&caller.tenant);
        let graph = DependencyGraph {
            view: &view,
            tenant: &tenant,
            global: &global,
        };
        let sides = match &side {
            Some(side) => std::slice::from_ref(side),
            None => DependencySide::ALL.as_slice(),
        };
        let name = DocumentRef {
            kind,
            id: id.to_owned(),
        };
        let found = graph.around(&name, sides, depth.unwrap_or(Depth::MOST));
        let nodes = found.nodes.into_iter().map(|reached| {
            let DocumentRef { kind, id } = reached.document;
            DependencyNode {
                kind,
                document: DocumentSummary::of(&view, kind, &id),
                id,
                side: reached.side,
                distance: reached.distance,
            }
        });
        Ok(DocumentDependencies {
            root,
            nodes: nodes.collect(),
            edges: found.edges,
            truncated: found.truncated,
        })
    }
}
