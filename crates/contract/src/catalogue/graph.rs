//! Nodes and edges of the domain expert graph (seed 000 §2.12). Whether both ends
//! of an edge exist is checked where the whole graph is known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::vocabulary::{Severity, Status};
use crate::ids::{DomainId, GraphNodeId, Label, TenantId};
use crate::schema::SchemaName;
use crate::text::{Text, Version};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(GraphNode, GraphEdge);

/// A node. Which of the optional fields it must have depends on its type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct GraphNode {
    /// Its id, exact (ruling 16): `soc2.cc6.1`.
    pub id: GraphNodeId,
    /// Its type.
    #[serde(rename = "type")]
    pub node_type: NodeType,
    /// The domain it belongs to; every type but `ResourceType` names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainId>,
    /// Control: the framework, e.g. `SOC2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework: Option<Text>,
    /// Control: its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text>,
    /// Requirement: what is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text>,
    /// EvidenceType: how it is collected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection_method: Option<Text>,
    /// ResourceType: who provides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Label>,
    /// ResourceType: the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Label>,
    /// Risk: how bad it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// Remediation: how it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approach: Option<Text>,
    /// Its tenant; absent for a global node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Whether it is in force (this project, for nodes).
    #[serde(default)]
    pub status: Status,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// When it was first registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it was last registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

string_enum! {
    /// Types of nodes (000 §2.12). A category of risks is a `Risk` (ruling 16).
    pub enum NodeType {
        /// A control of a framework.
        Control = "Control",
        /// What a control demands.
        Requirement = "Requirement",
        /// What satisfies a requirement.
        EvidenceType = "EvidenceType",
        /// Where evidence is collected from.
        ResourceType = "ResourceType",
        /// A risk, or a category of risks.
        Risk = "Risk",
        /// What addresses a risk.
        Remediation = "Remediation",
    }
}

/// An edge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct GraphEdge {
    /// The node it leaves.
    pub from: GraphNodeId,
    /// Its type.
    #[serde(rename = "type")]
    pub edge_type: EdgeType,
    /// The node it reaches.
    pub to: GraphNodeId,
    /// The domain it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainId>,
    /// Its tenant; absent for a global edge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Whether it is in force (this project, for edges).
    #[serde(default)]
    pub status: Status,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// When it was first registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it was last registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

string_enum! {
    /// Types of edges (000 §2.12).
    pub enum EdgeType {
        /// A control demands a requirement.
        Requires = "requires",
        /// A requirement is satisfied by evidence.
        EvidencedBy = "evidenced_by",
        /// Evidence is collected from a resource type.
        CollectedVia = "collected_via",
        /// A risk belongs to a category.
        IsA = "is_a",
        /// A risk is addressed by a remediation.
        RemediatedBy = "remediated_by",
    }
}

impl EdgeType {
    /// The types of the nodes it goes from and to.
    #[must_use]
    pub const fn endpoints(self) -> (NodeType, NodeType) {
        match self {
            Self::Requires => (NodeType::Control, NodeType::Requirement),
            Self::EvidencedBy => (NodeType::Requirement, NodeType::EvidenceType),
            Self::CollectedVia => (NodeType::EvidenceType, NodeType::ResourceType),
            Self::IsA => (NodeType::Risk, NodeType::Risk),
            Self::RemediatedBy => (NodeType::Risk, NodeType::Remediation),
        }
    }
}

impl Contract for GraphNode {
    const NAME: SchemaName = SchemaName::GraphNode;

    // The fields of its type are there (000 §2.12, "Key fields").
    fn check(&self, report: &mut Report) {
        let domain = ("domain", self.domain.is_some());
        let needed: &[(&str, bool)] = match self.node_type {
            NodeType::Control => &[
                domain,
                ("framework", self.framework.is_some()),
                ("title", self.title.is_some()),
            ],
            NodeType::Requirement => &[domain, ("description", self.description.is_some())],
            NodeType::EvidenceType => &[
                domain,
                ("collection_method", self.collection_method.is_some()),
            ],
            NodeType::ResourceType => &[
                ("provider", self.provider.is_some()),
                ("service", self.service.is_some()),
            ],
            NodeType::Risk => &[domain, ("severity", self.severity.is_some())],
            NodeType::Remediation => &[domain, ("approach", self.approach.is_some())],
        };
        for (name, present) in needed {
            if !present {
                let message = format!("a {} needs `{name}`", self.node_type);
                report.meaning(format!("/{name}"), "required", message);
            }
        }
    }
}

impl GraphEdge {
    /// `from:type:to`. Ids hold no colon, so it names exactly one edge.
    #[must_use]
    pub fn edge_id(&self) -> String {
        format!("{}:{}:{}", self.from, self.edge_type, self.to)
    }
}

impl Contract for GraphEdge {
    const NAME: SchemaName = SchemaName::GraphEdge;

    fn check(&self, report: &mut Report) {
        if self.from == self.to {
            let message = format!("`{}` points at itself", self.from);
            report.meaning("/to", "self", message);
        }
    }
}
