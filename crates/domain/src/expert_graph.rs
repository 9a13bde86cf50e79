//! Walks the domain expert graph (seed 000 §2.12, B000-17).
//!
//! A walk sees one tenant's view: active nodes, and active edges between active nodes of the types that the edge's type
//! requires. Other edges are ignored: registration rejects them, but a tenant's node may shadow a global one with
//! another type. Every walk is bounded in depth and in the size of its result, is safe on cycles, and is deterministic.
//! Must not know tiers: the engine decides which callers may walk.

mod coverage;
mod named;
mod paths;
mod related;
mod remedies;

use std::collections::{BTreeSet, VecDeque};

use charter_contract::catalogue::graph::{EdgeType, GraphNode, NodeType};
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::ids::GraphNodeId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::catalogue::Direction;
use crate::catalogue::{ResolvedDocument, View, WinningLayer};

pub use coverage::{ControlCoverage, ControlStatus, Coverage, CoveringAction, ResourceCoverage};
pub use named::{is_named, text_of};
pub use paths::{Path, PathQuery, Paths, Target};
pub use remedies::OpenRisk;

/// The maximum number of edges in any path of a walk.
pub const MAX_DEPTH: u8 = 10;
/// The maximum number of nodes, paths or risks that a walk returns.
pub const MAX_FOUND: usize = 1_000;

/// The maximum path length of a walk, in edges: 1 to [`MAX_DEPTH`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "u8", into = "u8")]
#[schemars(!try_from, !into)]
pub struct Depth(#[schemars(range(min = 1, max = MAX_DEPTH))] u8);

/// A depth outside 1 to [`MAX_DEPTH`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a walk follows 1 to 10 consecutive edges, not {0}")]
pub struct NotADepth(u8);

impl Depth {
    /// The adjacent nodes only.
    pub const ONE: Self = Self(1);
    /// The maximum depth.
    pub const MOST: Self = Self(MAX_DEPTH);

    pub(crate) fn edges(self) -> usize {
        usize::from(self.0)
    }
}

impl TryFrom<u8> for Depth {
    type Error = NotADepth;

    fn try_from(edges: u8) -> Result<Self, NotADepth> {
        match edges {
            1..=MAX_DEPTH => Ok(Self(edges)),
            other => Err(NotADepth(other)),
        }
    }
}

impl From<Depth> for u8 {
    fn from(depth: Depth) -> Self {
        depth.0
    }
}

/// A node that a walk reached.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Neighbour {
    /// The number of edges on the shortest path.
    pub distance: usize,
    /// The previous node on that path.
    pub from: GraphNodeId,
    /// The edge between the two.
    pub edge: EdgeType,
    /// The direction in which that edge was followed.
    pub direction: Direction,
    /// The node.
    pub node: GraphNode,
    /// The layer in which the node was found.
    pub layer: WinningLayer,
}

/// The result of a walk, and whether it was truncated.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Bounded{T}")]
pub struct Bounded<T> {
    /// The results, in order.
    pub found: Vec<T>,
    /// Whether further results were left out.
    pub truncated: bool,
}

impl<T> Bounded<T> {
    fn truncated(mut found: Vec<T>, limit: usize) -> Self {
        let truncated = found.len() > limit;
        found.truncate(limit);
        Self { found, truncated }
    }
}

/// One edge, in the direction of the walk.
#[derive(Debug, Clone)]
struct Link {
    edge: EdgeType,
    direction: Direction,
    to: GraphNodeId,
}

/// The expert graph of one view.
#[derive(Debug, Clone)]
pub struct ExpertGraph<'v> {
    view: &'v View,
}

impl<'v> ExpertGraph<'v> {
    /// Creates the graph of a view.
    #[must_use]
    pub fn from_view(view: &'v View) -> Self {
        Self { view }
    }

    /// Returns a node, if it is active.
    #[must_use]
    pub fn node(&self, id: &GraphNodeId) -> Option<ResolvedDocument<GraphNode>> {
        let found = self.view.node(id.as_ref());
        found.filter(|found| found.document().status == Status::Active)
    }

    /// Returns all active nodes, ordered by type and id.
    #[must_use]
    pub fn nodes(&self) -> Vec<ResolvedDocument<GraphNode>> {
        let types = NodeType::ALL.iter();
        types.flat_map(|of_type| self.nodes_of(*of_type)).collect()
    }

    /// Returns the active nodes of a type, ordered by id.
    fn nodes_of(&self, of_type: NodeType) -> impl Iterator<Item = ResolvedDocument<GraphNode>> {
        let nodes = self.view.nodes_of(of_type).into_iter();
        nodes.filter(|found| found.document().status == Status::Active)
    }

    /// Returns the valid edges of one node, ordered by type and far end.
    fn links(&self, node: &GraphNodeId, direction: Direction) -> Vec<Link> {
        let edges = self.view.edges_at(node.as_ref(), direction).into_iter();
        let mut links: Vec<Link> = edges
            .filter_map(|found| {
                let edge = found.document();
                let ends = [&edge.from, &edge.to].map(|end| self.node(end));
                let [Some(from), Some(to)] = ends else {
                    return None;
                };
                let types = (from.document().node_type, to.document().node_type);
                let fits = edge.status == Status::Active && types == edge.edge_type.endpoints();
                let far = match direction {
                    Direction::Out => &edge.to,
                    Direction::In => &edge.from,
                };
                fits.then(|| Link {
                    edge: edge.edge_type,
                    direction,
                    to: far.clone(),
                })
            })
            .collect();
        links.sort_by(|a, b| (a.edge, &a.to).cmp(&(b.edge, &b.to)));
        links
    }

    /// Returns the nodes within `depth` edges of a node, each with its shortest path, nearest first. Nodes at the same
    /// distance keep the order of the walk. An empty list of edge types means all types.
    #[must_use]
    pub fn neighbours(
        &self,
        node: &GraphNodeId,
        directions: &[Direction],
        edges: &[EdgeType],
        depth: Depth,
    ) -> Bounded<Neighbour> {
        let mut seen = BTreeSet::from([node.clone()]);
        let mut queue = VecDeque::from([(node.clone(), 0)]);
        let mut found = Vec::new();
        while let Some((from, distance)) = queue.pop_front() {
            if distance == depth.edges() || found.len() > MAX_FOUND {
                break;
            }
            let links = directions.iter().flat_map(|way| self.links(&from, *way));
            for link in links.filter(|link| edges.is_empty() || edges.contains(&link.edge)) {
                if !seen.insert(link.to.clone()) {
                    continue;
                }
                let Some(far) = self.node(&link.to) else {
                    continue;
                };
                queue.push_back((link.to, distance + 1));
                found.push(Neighbour {
                    distance: distance + 1,
                    from: from.clone(),
                    edge: link.edge,
                    direction: link.direction,
                    node: far.document().clone(),
                    layer: far.won,
                });
            }
        }
        Bounded::truncated(found, MAX_FOUND)
    }

    /// Returns every node that edges of these types lead to within [`MAX_DEPTH`].
    fn reached(
        &self,
        node: &GraphNodeId,
        direction: Direction,
        edges: &[EdgeType],
    ) -> Vec<Neighbour> {
        self.neighbours(node, &[direction], edges, Depth::MOST)
            .found
    }
}

#[cfg(test)]
mod tests;
