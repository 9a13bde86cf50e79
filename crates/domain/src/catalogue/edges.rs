//! Nodes and edges of the expert graph in a view: a tenant's documents over the global ones. [`crate::expert_graph`]
//! interprets them.

use std::collections::BTreeSet;

use charter_contract::catalogue::graph::{GraphEdge, GraphNode, NodeType};

use super::{Layer, ResolvedDocument, View, WinningLayer};

/// The direction in which an edge is followed.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the source to the target.
    Out,
    /// From the target to the source.
    In,
}

impl View {
    /// Returns the edges at one end of a node, ordered by id, without shadowed ones.
    #[must_use]
    pub fn edges_at(&self, node: &str, direction: Direction) -> Vec<ResolvedDocument<GraphEdge>> {
        let at = |layer: &Layer| {
            let lookup = layer.lookup();
            match direction {
                Direction::Out => lookup.edges_from(node),
                Direction::In => lookup.edges_to(node),
            }
            .to_vec()
        };
        let own = at(&self.tenant).into_iter().map(|(id, entry)| {
            let won = match self.global.edges.contains_key(&id) {
                true => WinningLayer::TenantOverGlobal,
                false => WinningLayer::Tenant,
            };
            (id, ResolvedDocument { entry, won })
        });
        let shared = at(&self.global).into_iter();
        let shared = shared
            .filter(|(id, _)| !self.tenant.edges.contains_key(id))
            .map(|(id, entry)| {
                let won = WinningLayer::Global;
                (id, ResolvedDocument { entry, won })
            });
        let mut edges: Vec<(String, ResolvedDocument<GraphEdge>)> = own.chain(shared).collect();
        edges.sort_by(|(a, _), (b, _)| a.cmp(b));
        edges.into_iter().map(|(_, found)| found).collect()
    }

    /// Returns the nodes of a type, ordered by id, without shadowed ones.
    #[must_use]
    pub fn nodes_of(&self, of_type: NodeType) -> Vec<ResolvedDocument<GraphNode>> {
        let own = self.tenant.lookup().nodes_of(of_type).iter();
        let ids: BTreeSet<&String> = own.chain(self.global.lookup().nodes_of(of_type)).collect();
        // A shadowed node and the node that shadows it may have different types.
        ids.into_iter()
            .filter_map(|id| self.node(id))
            .filter(|found| found.document().node_type == of_type)
            .collect()
    }
}
