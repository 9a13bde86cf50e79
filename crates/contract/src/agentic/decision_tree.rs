//! Decision trees: questions, tool calls and outcomes. Seed 003 names this contract without specifying it: the form is
//! this project's. Branches may share nodes; paths have no cycles.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::dependency::{Node, cycle};
use crate::ids::{ToolDefinitionId, TreeId, TreeNodeId};
use crate::list::MAX_LIST;
use crate::parameter::{Parameter, check_parameters};
use crate::schema::SchemaName;
use crate::text::{Text, Version};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(DecisionTree, TreeNode, Branch);

/// A decision tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct DecisionTree {
    /// Id of the tree.
    pub id: TreeId,
    /// Name of the tree.
    pub name: Text,
    /// Description of what the tree decides.
    #[serde(default)]
    pub description: String,
    /// Version of the tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Creation time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Input parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Parameter>,
    /// Id of the node where execution starts.
    pub root: TreeNodeId,
    /// Nodes of the tree; at least one.
    #[schemars(length(min = 1, max = MAX_LIST))]
    #[serde(deserialize_with = "crate::list::one_or_more")]
    pub nodes: Vec<TreeNode>,
    /// Additional free-form data.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// One node of a decision tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    deny_unknown_fields,
    remote = "Self"
)]
pub enum TreeNode {
    /// Follows the first branch whose expression is true, otherwise `otherwise`.
    Decision {
        /// Id of the node, unique within the tree.
        id: TreeNodeId,
        /// Question that the node decides.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<Text>,
        /// Branches, in evaluation order.
        branches: Vec<Branch>,
        /// Next node when no branch matches.
        otherwise: TreeNodeId,
    },
    /// Calls a tool, then continues with another node.
    Action {
        /// Id of the node, unique within the tree.
        id: TreeNodeId,
        /// Tool to call.
        tool: ToolDefinitionId,
        /// Arguments of the tool.
        #[serde(default)]
        parameters: Map<String, Value>,
        /// Next node on success.
        next: TreeNodeId,
        /// Next node on failure; when absent, a failure fails the tree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_failure: Option<TreeNodeId>,
    },
    /// Ends the tree.
    Outcome {
        /// Id of the node, unique within the tree.
        id: TreeNodeId,
        /// Result of the decision.
        result: Text,
        /// Additional details.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        details: Map<String, Value>,
    },
}

/// A branch of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Branch {
    /// CEL expression.
    pub when: Text,
    /// Next node when the expression is true.
    pub next: TreeNodeId,
}

impl TreeNode {
    /// Id of the node, unique within the tree.
    #[must_use]
    pub const fn id(&self) -> &TreeNodeId {
        match self {
            Self::Decision { id, .. } | Self::Action { id, .. } | Self::Outcome { id, .. } => id,
        }
    }

    /// Lists the nodes that this node leads to, each with the field that names it.
    fn targets(&self) -> Vec<(String, &TreeNodeId)> {
        match self {
            Self::Decision {
                branches,
                otherwise,
                ..
            } => branches
                .iter()
                .enumerate()
                .map(|(at, branch)| (format!("branches/{at}/next"), &branch.next))
                .chain([("otherwise".to_owned(), otherwise)])
                .collect(),
            Self::Action {
                next, on_failure, ..
            } => [("next".to_owned(), next)]
                .into_iter()
                .chain(on_failure.iter().map(|id| ("on_failure".to_owned(), id)))
                .collect(),
            Self::Outcome { .. } => Vec::new(),
        }
    }
}

impl DecisionTree {
    /// Warns about nodes that no path from the root reaches; they are kept.
    fn warn_unreachable(&self, places: &BTreeMap<&TreeNodeId, usize>, report: &mut Report) {
        let mut reached = BTreeSet::new();
        let mut open = vec![&self.root];
        while let Some(id) = open.pop() {
            let Some(at) = places.get(id).filter(|at| !reached.contains(*at)) else {
                continue;
            };
            reached.insert(*at);
            open.extend(self.nodes[*at].targets().into_iter().map(|(_, id)| id));
        }
        for (at, node) in self
            .nodes
            .iter()
            .enumerate()
            .filter(|(at, _)| !reached.contains(at))
        {
            let message = format!("no path from the root reaches `{}`", node.id());
            report.warn(format!("/nodes/{at}"), "unreachable", message);
        }
    }
}

impl Contract for DecisionTree {
    const NAME: SchemaName = SchemaName::DecisionTree;

    fn check(&self, report: &mut Report) {
        check_parameters(&self.inputs, "/inputs", report);
        let mut places = BTreeMap::new();
        for (at, node) in self.nodes.iter().enumerate() {
            if places.contains_key(node.id()) {
                let message = format!("the node `{}` is defined twice", node.id());
                report.meaning(format!("/nodes/{at}/id"), "unique", message);
            } else {
                places.insert(node.id(), at);
            }
        }
        if !places.contains_key(&self.root) {
            let message = format!("`{}` is not a node here", self.root);
            report.meaning("/root", "dependency", message);
        }
        for (at, node) in self.nodes.iter().enumerate() {
            for (place, target) in node.targets() {
                if !places.contains_key(target) {
                    let message = format!(
                        "`{}` leads to `{target}`, which is not a node here",
                        node.id()
                    );
                    report.meaning(format!("/nodes/{at}/{place}"), "dependency", message);
                }
            }
        }
        let nodes: Vec<Node<'_>> = self
            .nodes
            .iter()
            .map(|node| Node {
                name: node.id().as_str(),
                needs: node
                    .targets()
                    .into_iter()
                    .map(|(_, id)| id.as_str())
                    .collect(),
            })
            .collect();
        if let Some(path) = cycle(&nodes) {
            let message = format!("the tree has a cycle: {}", path.join(" → "));
            report.meaning("/nodes", "cycle", message);
        }
        self.warn_unreachable(&places, report);
    }
}
