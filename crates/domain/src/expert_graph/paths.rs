//! Simple paths from a node to what is asked for, shortest first.

use std::collections::BTreeMap;

use charter_contract::catalogue::graph::{EdgeType, NodeType};
use charter_contract::ids::GraphNodeId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bounded, Depth, Direction, ExpertGraph, Link, MAX_FOUND};

/// Most beginnings of paths that one search looks at.
const MAX_TRIED: usize = 50_000;

/// Where paths are to end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// At any node of a type.
    Type(NodeType),
    /// At one node.
    Node(GraphNodeId),
}

/// Which paths are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathQuery {
    /// Where they begin.
    pub from: GraphNodeId,
    /// Where they end.
    pub to: Target,
    /// Which way every edge is followed.
    pub direction: Direction,
    /// How long they may be.
    pub depth: Depth,
    /// How many are returned, at most [`MAX_FOUND`].
    pub limit: usize,
}

/// A path that visits no node twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "GraphPath")]
pub struct Path {
    /// The nodes, from the first to the last.
    pub nodes: Vec<GraphNodeId>,
    /// The edges between them, one fewer.
    pub edges: Vec<EdgeType>,
}

/// Paths, and whether there were more.
pub type Paths = Bounded<Path>;

impl ExpertGraph<'_> {
    /// The simple paths from a node to a target: shortest first, those of one length in order of
    /// their edges' types and nodes' ids, step by step. A path goes on through a target to the next.
    ///
    /// A path is begun only where it can still end in time: how far every node in reach is from a
    /// target is found first, so that dead ends cost nothing.
    #[must_use]
    pub fn paths(&self, wanted: &PathQuery) -> Paths {
        let map = self.map(wanted);
        let limit = wanted.limit.clamp(1, MAX_FOUND);
        let mut found = Vec::new();
        let mut tried = 0;
        let mut level = vec![Path {
            nodes: vec![wanted.from.clone()],
            edges: Vec::new(),
        }];
        for left in (0..wanted.depth.edges()).rev() {
            let mut next = Vec::new();
            for path in level {
                for longer in map.extensions(&path, left) {
                    tried += 1;
                    if tried > MAX_TRIED || found.len() > limit {
                        found.truncate(limit);
                        let truncated = true;
                        return Bounded { found, truncated };
                    }
                    let last = longer.nodes.last();
                    if last.is_some_and(|last| map.left.get(last) == Some(&0)) {
                        found.push(longer.clone());
                    }
                    next.push(longer);
                }
            }
            level = next;
        }
        Bounded::truncated(found, limit)
    }

    /// Everything within reach, and how far each node of it is from a target.
    fn map(&self, wanted: &PathQuery) -> Map {
        let mut links: BTreeMap<GraphNodeId, Vec<Link>> = BTreeMap::new();
        let mut level = vec![wanted.from.clone()];
        for _ in 0..wanted.depth.edges() {
            let mut next = Vec::new();
            for node in level {
                if links.contains_key(&node) {
                    continue;
                }
                let out = self.links(&node, wanted.direction);
                next.extend(out.iter().map(|link| link.to.clone()));
                links.insert(node, out);
            }
            level = next;
        }
        let seen = links.values().flatten().map(|link| &link.to);
        let seen = seen.filter(|node| **node != wanted.from);
        let targets = seen.filter(|node| self.is_target(node, &wanted.to));
        let mut left: BTreeMap<GraphNodeId, usize> =
            targets.map(|node| (node.clone(), 0)).collect();
        // Each round lengthens the ways back by one edge.
        for round in 1..=wanted.depth.edges() {
            let nearer: Vec<GraphNodeId> = links
                .iter()
                .filter(|(node, _)| !left.contains_key(*node))
                .filter(|(_, out)| out.iter().any(|link| left.contains_key(&link.to)))
                .map(|(node, _)| node.clone())
                .collect();
            left.extend(nearer.into_iter().map(|node| (node, round)));
        }
        Map { links, left }
    }

    fn is_target(&self, node: &GraphNodeId, target: &Target) -> bool {
        match target {
            Target::Node(wanted) => node == wanted,
            Target::Type(wanted) => self
                .node(node)
                .is_some_and(|found| found.document().node_type == *wanted),
        }
    }
}

/// What a search for paths may walk over.
struct Map {
    links: BTreeMap<GraphNodeId, Vec<Link>>,
    /// Edges from a node to the nearest target; absent where there is none in reach.
    left: BTreeMap<GraphNodeId, usize>,
}

impl Map {
    /// The path with one more edge, each way that can still reach a target over `left` more, or goes
    /// on beyond one.
    fn extensions(&self, path: &Path, left: usize) -> Vec<Path> {
        let links = path.nodes.last().and_then(|last| self.links.get(last));
        let links = links.into_iter().flatten();
        let open = links.filter(|link| {
            let near = self.left.get(&link.to).is_some_and(|away| *away <= left);
            near && !path.nodes.contains(&link.to)
        });
        open.map(|link| {
            let mut longer = path.clone();
            longer.nodes.push(link.to.clone());
            longer.edges.push(link.edge);
            longer
        })
        .collect()
    }
}
