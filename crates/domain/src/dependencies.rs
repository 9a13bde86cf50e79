//! The dependency graph of documents, as one tenant's view shows it. [`needs`] lists the references of a document.
//!
//! A walk follows references in both directions: to the documents that a document requires, and to those that require
//! it. It is bounded in depth and in the size of its result, is safe on cycles, and is deterministic.

use std::collections::{HashMap, HashSet, VecDeque};

use charter_contract::catalogue::DocumentKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Layer, View};
use crate::expert_graph::Depth;
use crate::package::needs;

/// The maximum number of documents that a walk returns.
pub const MAX_NODES: usize = 1_000;

/// The maximum number of references that a walk returns.
pub const MAX_EDGES: usize = 10_000;

/// The kind and id of a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct DocumentRef {
    /// The kind.
    pub kind: DocumentKind,
    /// The id.
    pub id: String,
}

/// The direction of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DependencySide")]
#[serde(rename_all = "snake_case")]
pub enum DependencySide {
    /// To the documents that a document requires.
    Needs,
    /// To the documents that require it.
    NeededBy,
}

impl DependencySide {
    /// Both directions.
    pub const ALL: [Self; 2] = [Self::Needs, Self::NeededBy];
}

/// A document that a walk reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReachedDocument {
    /// The document.
    pub document: DocumentRef,
    /// The direction of the walk that reached it.
    pub side: DependencySide,
    /// The number of references on the shortest path to it.
    pub distance: usize,
}

/// One document's reference to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Dependency {
    /// The document that has the reference.
    pub from: DocumentRef,
    /// The document that it refers to.
    pub to: DocumentRef,
    /// The JSON pointer of the reference in the referring document.
    pub pointer: String,
}

/// The result of a walk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dependencies {
    /// The documents that the walk reached, grouped by direction, nearest first.
    pub nodes: Vec<ReachedDocument>,
    /// The references that the walk followed.
    pub edges: Vec<Dependency>,
    /// Whether the result was truncated.
    pub truncated: bool,
}

/// A layer's references, by target document.
#[derive(Debug, Default)]
pub struct Dependents(HashMap<DocumentRef, Vec<(DocumentRef, String)>>);

impl Dependents {
    /// Collects the references of all documents of a layer.
    #[must_use]
    pub fn from_layer(layer: &Layer) -> Self {
        let mut dependents = Self::default();
        for (_, document) in layer.documents() {
            let from = DocumentRef {
                kind: document.kind(),
                id: document.id().into_owned(),
            };
            for need in needs(&document) {
                let to = DocumentRef {
                    kind: need.kind,
                    id: need.id,
                };
                let on = dependents.0.entry(to).or_default();
                on.push((from.clone(), need.pointer));
            }
        }
        dependents
    }

    fn on(&self, document: &DocumentRef) -> &[(DocumentRef, String)] {
        self.0.get(document).map_or(&[], Vec::as_slice)
    }
}

/// The dependency graph of a view.
#[derive(Debug, Clone, Copy)]
pub struct DependencyGraph<'v> {
    /// The documents.
    pub view: &'v View,
    /// The references of the tenant's own layer.
    pub tenant: &'v Dependents,
    /// The references of the global layer.
    pub global: &'v Dependents,
}

impl DependencyGraph<'_> {
    /// Returns the documents within `depth` references of a document in some directions, without duplicates.
    #[must_use]
    pub fn around(
        &self,
        root: &DocumentRef,
        sides: &[DependencySide],
        depth: Depth,
    ) -> Dependencies {
        let mut found = Dependencies::default();
        let mut seen = HashSet::from([root.clone()]);
        for side in sides {
            self.follow(root, *side, depth, &mut seen, &mut found);
        }
        found
    }

    fn follow(
        &self,
        root: &DocumentRef,
        side: DependencySide,
        depth: Depth,
        seen: &mut HashSet<DocumentRef>,
        found: &mut Dependencies,
    ) {
        let mut queue = VecDeque::from([(root.clone(), 0)]);
        while let Some((here, distance)) = queue.pop_front() {
            if distance == depth.edges() {
                return;
            }
            for edge in self.edges(&here, side) {
                let far = match side {
                    DependencySide::Needs => &edge.to,
                    DependencySide::NeededBy => &edge.from,
                };
                let is_new = !seen.contains(far);
                if found.edges.len() == MAX_EDGES || (is_new && found.nodes.len() == MAX_NODES) {
                    found.truncated = true;
                    return;
                }
                if is_new {
                    seen.insert(far.clone());
                    queue.push_back((far.clone(), distance + 1));
                    found.nodes.push(ReachedDocument {
                        document: far.clone(),
                        side,
                        distance: distance + 1,
                    });
                }
                found.edges.push(edge);
            }
        }
    }

    /// Returns the references of a document in one direction.
    fn edges(&self, here: &DocumentRef, side: DependencySide) -> Vec<Dependency> {
        match side {
            DependencySide::Needs => self.needs(here),
            DependencySide::NeededBy => self.needed_by(here),
        }
    }

    /// Returns the references of the documents in force, in the order of their fields.
    fn needs(&self, from: &DocumentRef) -> Vec<Dependency> {
        let layered = self.view.layered(from.kind, &from.id).into_iter();
        let in_force = layered.filter(|layered| layered.in_force);
        let mut found: Vec<Dependency> = Vec::new();
        let mut seen = HashSet::new();
        for need in in_force.flat_map(|layered| needs(&layered.document)) {
            let dependency = Dependency {
                from: from.clone(),
                to: DocumentRef {
                    kind: need.kind,
                    id: need.id,
                },
                pointer: need.pointer,
            };
            // Two documents of one id that both apply may have equal references.
            if seen.insert((dependency.to.clone(), dependency.pointer.clone())) {
                found.push(dependency);
            }
        }
        found
    }

    /// Returns the references to a document from documents in force, ordered by kind and id.
    fn needed_by(&self, to: &DocumentRef) -> Vec<Dependency> {
        let own = self.tenant.on(to).iter();
        let shared = self.global.on(to).iter();
        let shared = shared.filter(|(from, _)| !self.view.shadows(from.kind, &from.id));
        let mut found: Vec<Dependency> = own
            .chain(shared)
            .map(|(from, pointer)| Dependency {
                from: from.clone(),
                to: to.clone(),
                pointer: pointer.clone(),
            })
            .collect();
        // The sort is stable: the references of one document stay in the order of its fields.
        found.sort_by(|a, b| a.from.cmp(&b.from));
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests;
