//! Finds the graph's nodes that are related to a finding.
//!
//! A finding names a rule and a resource type. A risk matches the rule if its id equals the rule's id; a resource type
//! matches the node with its id. Ids must be equal (ruling 16).

use charter_contract::catalogue::graph::{EdgeType, NodeType};
use charter_contract::finding::{ExpertContext, Finding};
use charter_contract::ids::{DomainId, GraphNodeId};

use super::{Direction, ExpertGraph};

/// The maximum number of nodes of one type that a finding receives.
const MAX_RELATED: usize = 20;

impl ExpertGraph<'_> {
    /// Returns the controls, risks and remediations that are related to a finding of a skill of `domain`; `None` if
    /// there are none. Only controls of the skill's domain count: a cost finding about a volume is not related to a
    /// security control.
    #[must_use]
    pub fn related(&self, finding: &Finding, domain: &DomainId) -> Option<ExpertContext> {
        let node = |id: &str, of_type: NodeType| {
            let id = GraphNodeId::parse(id).ok()?;
            let found = self.node(&id)?;
            (found.document().node_type == of_type).then_some(id)
        };
        let mut risks: Vec<GraphNodeId> = node(finding.rule_id.as_ref(), NodeType::Risk)
            .into_iter()
            .collect();
        let categories = risks
            .iter()
            .flat_map(|risk| self.reached(risk, Direction::Out, &[EdgeType::IsA]));
        let categories: Vec<GraphNodeId> = categories.map(|near| near.node.id).collect();
        risks.extend(categories);
        let mut remediations: Vec<GraphNodeId> = Vec::new();
        for risk in &risks {
            let links = self.links(risk, Direction::Out).into_iter();
            let remedies = links.filter(|link| link.edge == EdgeType::RemediatedBy);
            for remedy in remedies.map(|link| link.to) {
                if !remediations.contains(&remedy) {
                    remediations.push(remedy);
                }
            }
        }
        let resource_type = node(finding.resource_type.as_ref(), NodeType::ResourceType);
        let back = [
            EdgeType::CollectedVia,
            EdgeType::EvidencedBy,
            EdgeType::Requires,
        ];
        let mut controls: Vec<GraphNodeId> = resource_type
            .iter()
            .flat_map(|id| self.reached(id, Direction::In, &back))
            .filter(|near| near.node.node_type == NodeType::Control)
            .filter(|near| near.node.domain.as_ref() == Some(domain))
            .map(|near| near.node.id)
            .collect();
        controls.sort();
        for ids in [&mut controls, &mut risks, &mut remediations] {
            ids.truncate(MAX_RELATED);
        }
        let context = ExpertContext {
            controls,
            risks,
            remediations,
        };
        (!context.is_empty()).then_some(context)
    }
}
