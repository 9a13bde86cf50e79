//! Who needs whom: the graph over documents that [`needs`] draws, as one tenant's view shows it.
//!
//! It is walked both ways, from what a document cannot do without to what cannot do without it. A walk is bounded
//! in depth and in what it returns, safe on cycles, and gives the same answer in the same order each time.

use std::collections::{HashMap, HashSet, VecDeque};

use charter_contract::catalogue::DocumentKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Layer, View};
use crate::expert_graph::Depth;
use crate::package::needs;

/// Most documents that a walk returns.
pub const MAX_NODES: usize = 1_000;

/// Most references that a walk returns.
pub const MAX_EDGES: usize = 10_000;

/// A document by its kind and id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct DocumentRef {
    /// Which collection.
    pub kind: DocumentKind,
    /// The id.
    pub id: String,
}

/// Which way a walk goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DependencySide")]
#[serde(rename_all = "snake_case")]
pub enum DependencySide {
    /// To what a document cannot do without.
    Needs,
    /// To what cannot do without it.
    NeededBy,
}

impl DependencySide {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Needs, Self::NeededBy];
}

/// A document that a walk came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReachedDocument {
    /// Which.
    pub document: DocumentRef,
    /// On which side of where the walk began.
    pub side: DependencySide,
    /// How many references away it is, by the shortest way.
    pub distance: usize,
}

/// One document's reference to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Dependency {
    /// Which needs the other.
    pub from: DocumentRef,
    /// Which is needed.
    pub to: DocumentRef,
    /// Where the reference stands in the document that needs the other.
    pub pointer: String,
}

/// What a walk found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dependencies {
    /// The documents that it came to, those on one side together and nearest first.
    pub nodes: Vec<ReachedDocument>,
    /// The references that it followed.
    pub edges: Vec<Dependency>,
    /// Whether the rest was left out.
    pub truncated: bool,
}

/// A layer's references, by the document that they lead to.
#[derive(Debug, Default)]
pub struct Dependents(HashMap<DocumentRef, Vec<(DocumentRef, String)>>);

impl Dependents {
    /// Those of all documents of a layer.
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

/// The graph that a view shows.
#[derive(Debug, Clone, Copy)]
pub struct DependencyGraph<'v> {
    /// The documents.
    pub view: &'v View,
    /// What the tenant's own layer refers to.
    pub tenant: &'v Dependents,
    /// What the global layer refers to.
    pub global: &'v Dependents,
}

impl DependencyGraph<'_> {
    /// What is within `depth` references of a document on some sides of it, each document once.
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

    /// The references on one side of a document.
    fn edges(&self, here: &DocumentRef, side: DependencySide) -> Vec<Dependency> {
        match side {
            DependencySide::Needs => self.needs(here),
            DependencySide::NeededBy => self.needed_by(here),
        }
    }

    /// What the document in force refers to, in the order of its fields.
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
            // Two of one id that both count may say the same.
            if seen.insert((dependency.to.clone(), dependency.pointer.clone())) {
                found.push(dependency);
            }
        }
        found
    }

    /// The references of documents in force to one, by their kinds and ids.
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
        // Stable: the references of one document stay in the order of its fields.
        found.sort_by(|a, b| a.from.cmp(&b.from));
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests;
