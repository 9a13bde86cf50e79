//! Finds simple paths from a node to a target, shortest first.

use std::collections::BTreeMap;

use charter_contract::catalogue::graph::{EdgeType, NodeType};
use charter_contract::ids::GraphNodeId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bounded, Depth, Direction, ExpertGraph, Link, MAX_FOUND};

/// The maximum number of path prefixes that one search visits.
const MAX_TRIED: usize = 50_000;

/// The target of a search for paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// Any node of a type.
    Type(NodeType),
    /// One node.
    Node(GraphNodeId),
}

/// A search for paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathQuery {
    /// The first node.
    pub from: GraphNodeId,
    /// The target.
    pub to: Target,
    /// The direction in which every edge is followed.
    pub direction: Direction,
    /// The maximum length.
    pub depth: Depth,
    /// The maximum number of results, at most [`MAX_FOUND`].
    pub limit: usize,
}

/// A simple path: no node occurs twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "GraphPath")]
pub struct Path {
    /// The nodes, from the first to the last.
    pub nodes: Vec<GraphNodeId>,
    /// The edges between the nodes; one fewer than nodes.
    pub edges: Vec<EdgeType>,
}

/// Paths, and whether there are more.
pub type Paths = Bounded<Path>;

impl ExpertGraph<'_> {
    /// Returns the simple paths from a node to a target, shortest first. Paths of one length are ordered by the types
    /// of their edges and the ids of their nodes, step by step. A path may continue through one target to another.
    ///
    /// First computes the distance of every reachable node from a target. A path is extended only if it can still reach
    /// a target within the depth, so that dead ends cost nothing.
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

    /// Returns the reachable part of the graph, with each node's distance from a target.
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
        // Each round finds the nodes that are one edge further from a target.
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

/// The part of the graph that a search may visit.
struct Map {
    links: BTreeMap<GraphNodeId, Vec<Link>>,
    /// The distance in edges from a node to the nearest target; absent if no target is reachable.
    left: BTreeMap<GraphNodeId, usize>,
}

impl Map {
    /// Returns the path with each possible next edge: those that can still reach a target within `left` more edges, or
    /// pass through one.
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
