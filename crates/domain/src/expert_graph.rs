//! Walking the domain expert graph (seed 000 §2.12, B000-17).
//!
//! What a walk sees is one tenant's view: active nodes, and active edges between active nodes of the
//! types that the edge's meaning asks for. Anything else is passed over: registration refuses it, yet
//! a tenant's node may shadow a global one with another type. Every walk is bounded in depth and in
//! what it returns, safe on cycles, and gives the same answer in the same order each time. Knows
//! nothing of tiers: who may walk is the engine's business.

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

/// Most edges that any walk follows one after another.
pub const MAX_DEPTH: u8 = 10;
/// Most nodes, paths or risks that a walk returns.
pub const MAX_FOUND: usize = 1_000;

/// How many edges a walk may follow one after another: 1 to [`MAX_DEPTH`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "u8", into = "u8")]
#[schemars(!try_from, !into)]
pub struct Depth(#[schemars(range(min = 1, max = MAX_DEPTH))] u8);

/// A depth outside 1 to [`MAX_DEPTH`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a walk follows 1 to 10 consecutive edges, not {0}")]
pub struct NotADepth(u8);

impl Depth {
    /// To the nodes next to it.
    pub const ONE: Self = Self(1);
    /// As far as a walk may go.
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

/// A node that a walk came to.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Neighbour {
    /// How many edges away it is, by the shortest way.
    pub distance: usize,
    /// The node before it on that way.
    pub from: GraphNodeId,
    /// The edge between the two.
    pub edge: EdgeType,
    /// Which way that edge was followed.
    pub direction: Direction,
    /// The node.
    pub node: GraphNode,
    /// The layer that it comes from.
    pub layer: WinningLayer,
}

/// What a walk found, and whether there was more than it may return.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Bounded{T}")]
pub struct Bounded<T> {
    /// What it found, in order.
    pub found: Vec<T>,
    /// Whether the rest was left out.
    pub truncated: bool,
}

impl<T> Bounded<T> {
    fn truncated(mut found: Vec<T>, limit: usize) -> Self {
        let truncated = found.len() > limit;
        found.truncate(limit);
        Self { found, truncated }
    }
}

/// One edge as a walk follows it.
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
    /// The graph that a view shows.
    #[must_use]
    pub fn from_view(view: &'v View) -> Self {
        Self { view }
    }

    /// An active node.
    #[must_use]
    pub fn node(&self, id: &GraphNodeId) -> Option<ResolvedDocument<GraphNode>> {
        let found = self.view.node(id.as_ref());
        found.filter(|found| found.document().status == Status::Active)
    }

    /// All active nodes, by type and id.
    #[must_use]
    pub fn nodes(&self) -> Vec<ResolvedDocument<GraphNode>> {
        let types = NodeType::ALL.iter();
        types.flat_map(|of_type| self.nodes_of(*of_type)).collect()
    }

    /// The active nodes of a type, in order of their ids.
    fn nodes_of(&self, of_type: NodeType) -> impl Iterator<Item = ResolvedDocument<GraphNode>> {
        let nodes = self.view.nodes_of(of_type).into_iter();
        nodes.filter(|found| found.document().status == Status::Active)
    }

    /// The edges of one node that may be followed, in order of type and far end.
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

    /// The nodes within `depth` edges of a node, each once by its shortest way, nearest first; those
    /// at one distance in the order in which the walk comes to them. No types of edges stand for all.
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

    /// Every node that edges of these types lead to, however far within [`MAX_DEPTH`].
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
