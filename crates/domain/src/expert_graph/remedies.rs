//! Finds risks without a remediation.

use charter_contract::catalogue::graph::{EdgeType, NodeType};
use charter_contract::catalogue::vocabulary::Severity;
use charter_contract::ids::{DomainId, GraphNodeId};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Bounded, Direction, ExpertGraph, MAX_FOUND};

/// A risk without a remediation.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OpenRisk {
    /// The risk.
    pub id: GraphNodeId,
    /// Its domain.
    pub domain: Option<DomainId>,
    /// The severity.
    pub severity: Option<Severity>,
    /// The categories that it belongs to, nearest first.
    pub categories: Vec<GraphNodeId>,
}

impl ExpertGraph<'_> {
    /// Returns the risks, of one domain or of all, without a remediation, in descending order of severity.
    ///
    /// A remediation of a category counts for the risks in it. A category counts as addressed when a risk in it is: its
    /// other risks are listed separately.
    #[must_use]
    pub fn unremediated(&self, domain: Option<&DomainId>) -> Bounded<OpenRisk> {
        let risks = self.nodes_of(NodeType::Risk);
        let risks =
            risks.filter(|risk| domain.is_none() || risk.document().domain.as_ref() == domain);
        let mut open: Vec<OpenRisk> = risks
            .filter_map(|risk| {
                let risk = risk.document();
                let up = self.reached(&risk.id, Direction::Out, &[EdgeType::IsA]);
                let down = self.reached(&risk.id, Direction::In, &[EdgeType::IsA]);
                let near = up.iter().chain(&down).map(|near| &near.node.id);
                if near.chain([&risk.id]).any(|member| self.has_remedy(member)) {
                    return None;
                }
                Some(OpenRisk {
                    id: risk.id.clone(),
                    domain: risk.domain.clone(),
                    severity: risk.severity,
                    categories: up.into_iter().map(|near| near.node.id).collect(),
                })
            })
            .collect();
        open.sort_by(|a, b| {
            let key = |risk: &OpenRisk| (risk.severity.is_none(), risk.severity);
            (key(a), &a.id).cmp(&(key(b), &b.id))
        });
        Bounded::truncated(open, MAX_FOUND)
    }

    fn has_remedy(&self, risk: &GraphNodeId) -> bool {
        let links = self.links(risk, Direction::Out);
        links.iter().any(|link| link.edge == EdgeType::RemediatedBy)
    }
}
