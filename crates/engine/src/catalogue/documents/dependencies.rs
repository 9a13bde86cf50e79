//! What a document needs, and what needs it: what breaks if it changes.

use charter_contract::catalogue::DocumentKind;
use charter_domain::dependencies::{Dependency, DependencyGraph, DependencySide, DocumentName};
use charter_domain::expert_graph::Depth;
use schemars::JsonSchema;
use serde::Serialize;

use super::DocumentSummary;
use super::list::unseen;
use crate::{Caller, Engine, EngineError};

/// The documents around one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DocumentDependencies {
    /// The document that was asked for.
    pub root: DocumentSummary,
    /// What it needs, then what needs it, nearest first; at most 1,000.
    pub nodes: Vec<DependencyNode>,
    /// Which of them refers to which; at most 10,000.
    pub edges: Vec<Dependency>,
    /// Whether the rest was left out.
    pub truncated: bool,
}

/// A document that another one leads to.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DependencyNode {
    /// Its kind.
    pub kind: DocumentKind,
    /// Its id.
    pub id: String,
    /// Whether the root needs it, or it needs the root.
    pub side: DependencySide,
    /// How many references away it is, by the shortest way.
    pub distance: usize,
    /// The document; null where there is none.
    pub document: Option<DocumentSummary>,
}

impl Engine {
    /// What a document that the caller sees needs, and what needs it, up to `depth` references away. A reference is
    /// what registration checks; which guardrails and policies bear on something is resolved.
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
        let live = self.live();
        let view = live.view(&caller.tenant);
        let root = DocumentSummary::of(&view, kind, id).ok_or_else(|| unseen(&view, kind, id))?;
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
        let name = DocumentName {
            kind,
            id: id.to_owned(),
        };
        let found = graph.around(&name, sides, depth.unwrap_or(Depth::MOST));
        let nodes = found.nodes.into_iter().map(|reached| {
            let DocumentName { kind, id } = reached.document;
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
