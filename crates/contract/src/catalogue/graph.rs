//! Nodes and edges of the domain expert graph (seed 000 §2.12). The ends of an edge are checked where the whole graph
//! is known.

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

/// A node of the expert graph. Its type decides which optional fields are required.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct GraphNode {
    /// Id of the node, matched exactly (ruling 16): `soc2.cc6.1`.
    pub id: GraphNodeId,
    /// Type of the node.
    #[serde(rename = "type")]
    pub node_type: NodeType,
    /// Domain of the node; required for every type except `ResourceType`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainId>,
    /// Control: compliance framework, e.g. `SOC2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework: Option<Text>,
    /// Control: title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text>,
    /// Requirement: text of the requirement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text>,
    /// EvidenceType: collection method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection_method: Option<Text>,
    /// ResourceType: cloud provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Label>,
    /// ResourceType: service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Label>,
    /// Risk: severity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// Remediation: approach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approach: Option<Text>,
    /// Tenant of the node; absent for a global node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Whether the node is in force (this project, for nodes).
    #[serde(default)]
    pub status: Status,
    /// Version of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Time of the first registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Time of the last registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

string_enum! {
    /// Type of a node (000 §2.12). A category of risks is a `Risk` (ruling 16).
    pub enum NodeType {
        /// A control of a framework.
        Control = "Control",
        /// A requirement of a control.
        Requirement = "Requirement",
        /// Evidence that satisfies a requirement.
        EvidenceType = "EvidenceType",
        /// A source of evidence.
        ResourceType = "ResourceType",
        /// A risk, or a category of risks.
        Risk = "Risk",
        /// A measure against a risk.
        Remediation = "Remediation",
    }
}

/// An edge of the expert graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct GraphEdge {
    /// Id of the source node.
    pub from: GraphNodeId,
    /// Type of the edge.
    #[serde(rename = "type")]
    pub edge_type: EdgeType,
    /// Id of the target node.
    pub to: GraphNodeId,
    /// Domain of the edge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainId>,
    /// Tenant of the edge; absent for a global edge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Whether the edge is in force (this project, for edges).
    #[serde(default)]
    pub status: Status,
    /// Version of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Time of the first registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Time of the last registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

string_enum! {
    /// Type of an edge (000 §2.12).
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
    /// Returns the node types of its source and target.
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

    // Requires the fields of the node's type (000 §2.12, "Key fields").
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
    /// Returns `from:type:to`. Ids contain no colon, so it identifies one edge.
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
