//! The expert graph's edges and nodes as a view sees them: a tenant's over the global ones. What they
//! mean together is [`crate::expert_graph`]'s business.

use std::collections::BTreeSet;

use charter_contract::catalogue::graph::{GraphEdge, GraphNode, NodeType};

use super::{Layer, ResolvedDocument, View, WinningLayer};

/// Which way an edge is followed.
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
    /// From where it leaves to where it leads.
    Out,
    /// From where it leads back to where it leaves.
    In,
}

impl View {
    /// The edges that touch a node on one side, in order of their ids, shadowed ones left out.
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

    /// The nodes of a type, in order of their ids, shadowed ones left out.
    #[must_use]
    pub fn nodes_of(&self, of_type: NodeType) -> Vec<ResolvedDocument<GraphNode>> {
        let own = self.tenant.lookup().nodes_of(of_type).iter();
        let ids: BTreeSet<&String> = own.chain(self.global.lookup().nodes_of(of_type)).collect();
        // What the tenant shadows may be of another type than what shadows it.
        ids.into_iter()
            .filter_map(|id| self.node(id))
            .filter(|found| found.document().node_type == of_type)
            .collect()
    }
}
