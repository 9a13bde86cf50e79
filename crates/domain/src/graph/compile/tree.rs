//! A decision tree (named in seed 003): decisions choose, actions call tools, outcomes conclude.
//!
//! Every node waits for all that lead to it and runs when one of them took the way to it. What no
//! path from the root reaches is left out: without anything before it, it would start at once.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::agentic::decision_tree::{DecisionTree, TreeNode};
use charter_contract::ids::{StepId, TreeNodeId};
use charter_contract::violation::Report;
use serde_json::{Map, Value, json};

use super::flow::{read, refuse};
use super::numbers;
use super::tools::{CallableTools, Calls};
use crate::graph::size::Size;
use crate::graph::{
    AfterFailure, Branch, Edge, EdgeCondition, Entry, GraphParts, Join, PlanSource, Step,
    StepAction, StepGraph,
};

/// Most branches of a tree: each has an expression to be read.
const MAX_BRANCHES: usize = 1_000;

/// The nodes of a tree as steps.
///
/// # Errors
/// Everything that is wrong; pointers lead into an object with `decision_tree`.
pub fn from_tree(tree: &DecisionTree, tools: &CallableTools<'_>) -> Result<StepGraph, Report> {
    let mut report = Report::new();
    if let Err(error) = Size::of_plan().add_steps(tree.nodes.len()) {
        refuse("/decision_tree/nodes", &error, &mut report);
        return Err(report);
    }
    let branches = tree.nodes.iter().map(|node| match node {
        TreeNode::Decision { branches, .. } => branches.len(),
        TreeNode::Action { .. } | TreeNode::Outcome { .. } => 0,
    });
    if branches.sum::<usize>() > MAX_BRANCHES {
        let message = format!("at most {MAX_BRANCHES} branches in all");
        report.meaning("/decision_tree/nodes", "maxItems", message);
        return Err(report);
    }
    let calls = Calls {
        tools,
        parameters: tree
            .inputs
            .iter()
            .map(|input| input.name.as_ref())
            .collect(),
        absent: BTreeSet::new(),
    };
    let ways = Ways::from_tree(tree);
    let steps: Vec<Step> = tree
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| ways.reached.contains(node.id()))
        .filter_map(|(at, node)| {
            let here = format!("/decision_tree/nodes/{at}");
            step(node, &here, &ways, &calls, &mut report)
        })
        .collect();
    if !report.violations.is_empty() {
        return Err(report);
    }
    let parts = GraphParts {
        steps,
        numbers: numbers(&tree.inputs),
        source: Some(PlanSource::DecisionTree(tree.id.clone())),
        ..GraphParts::default()
    };
    // `read` compiled the conditions of the branches.
    StepGraph::linked(parts).map_err(|error| {
        refuse("/decision_tree/nodes", &error, &mut report);
        report
    })
}

/// What leads where.
struct Ways<'t> {
    /// Nodes on a path from the root.
    reached: BTreeSet<&'t TreeNodeId>,
    /// For each node, what leads to it.
    into: BTreeMap<&'t TreeNodeId, Vec<(&'t TreeNodeId, EdgeCondition)>>,
}

impl<'t> Ways<'t> {
    fn from_tree(tree: &'t DecisionTree) -> Self {
        let nodes: BTreeMap<&TreeNodeId, &TreeNode> =
            tree.nodes.iter().map(|node| (node.id(), node)).collect();
        let mut ways = Self {
            reached: BTreeSet::new(),
            into: BTreeMap::new(),
        };
        let mut open = vec![&tree.root];
        while let Some(id) = open.pop() {
            if !ways.reached.insert(id) {
                continue;
            }
            for (next, on) in nodes.get(id).map(|node| leads(node)).unwrap_or_default() {
                let into = ways.into.entry(next).or_default();
                if !into.contains(&(id, on)) {
                    into.push((id, on));
                }
                open.push(next);
            }
        }
        ways
    }

    /// The nodes that may have run before a node does.
    fn before(&self, node: &'t TreeNodeId) -> BTreeSet<&'t TreeNodeId> {
        let mut before = BTreeSet::new();
        let mut open = vec![node];
        while let Some(id) = open.pop() {
            for (from, _) in self.into.get(id).into_iter().flatten() {
                if before.insert(*from) {
                    open.push(*from);
                }
            }
        }
        before
    }
}

/// The nodes that a node leads to, and what must become of it for that.
fn leads(node: &TreeNode) -> Vec<(&TreeNodeId, EdgeCondition)> {
    match node {
        TreeNode::Decision {
            branches,
            otherwise,
            ..
        } => branches
            .iter()
            .map(|branch| &branch.next)
            .chain([otherwise])
            .map(|next| (next, EdgeCondition::Chosen))
            .collect(),
        TreeNode::Action {
            next, on_failure, ..
        } => [(next, EdgeCondition::Success)]
            .into_iter()
            .chain(on_failure.iter().map(|next| (next, EdgeCondition::Failure)))
            .collect(),
        TreeNode::Outcome { .. } => Vec::new(),
    }
}

fn step<'t>(
    node: &'t TreeNode,
    here: &str,
    ways: &Ways<'t>,
    calls: &Calls<'_>,
    report: &mut Report,
) -> Option<Step> {
    let before = ways.before(node.id());
    let before: BTreeSet<&str> = before.into_iter().map(AsRef::as_ref).collect();
    let mut look = Look {
        before: &before,
        calls,
        report,
    };
    let (action, after_failure) = match node {
        TreeNode::Decision {
            branches,
            otherwise,
            ..
        } => {
            for (at, branch) in branches.iter().enumerate() {
                look.expression(branch.when.as_str(), &format!("{here}/branches/{at}/when"));
            }
            let branch = |branch: &charter_contract::agentic::decision_tree::Branch| Branch {
                when: branch.when.to_string(),
                next: StepId::from(&branch.next),
            };
            let action = StepAction::Choose {
                branches: branches.iter().map(branch).collect(),
                otherwise: StepId::from(otherwise),
            };
            (action, AfterFailure::Abort)
        }
        TreeNode::Action {
            tool,
            parameters,
            on_failure,
            ..
        } => {
            look.values(parameters, &format!("{here}/parameters"));
            let call = calls.call(tool.as_ref(), parameters, here, look.report)?;
            let after_failure = match on_failure {
                Some(_) => AfterFailure::Continue,
                None => AfterFailure::Abort,
            };
            (call.action, after_failure)
        }
        TreeNode::Outcome {
            result, details, ..
        } => {
            look.values(details, &format!("{here}/details"));
            let said = Map::from_iter([("result".to_owned(), json!(result))]);
            look.values(&said, here);
            let output = json!({"result": result, "details": details});
            (StepAction::Conclude { output }, AfterFailure::Abort)
        }
    };
    let edge = |(from, on): &(&TreeNodeId, EdgeCondition)| Edge {
        from: StepId::from(*from),
        on: *on,
    };
    let into = ways.into.get(node.id()).into_iter().flatten();
    Some(Step {
        entry: Entry {
            edges: into.map(edge).collect(),
            join: Join::Any,
            when: None,
        },
        ..Step::new(StepId::from(node.id()), action, after_failure)
    })
}

/// Looks whether what a node refers to may be there when it runs.
struct Look<'l> {
    before: &'l BTreeSet<&'l str>,
    calls: &'l Calls<'l>,
    report: &'l mut Report,
}

impl Look<'_> {
    fn values(&mut self, values: &Map<String, Value>, here: &str) {
        for (node, pointer) in self.calls.referred(values, here, self.report) {
            self.comes_before(&node, &pointer);
        }
    }

    fn expression(&mut self, expression: &str, pointer: &str) {
        for node in read(expression, pointer, self.calls, self.report) {
            self.comes_before(&node, pointer);
        }
    }

    fn comes_before(&mut self, node: &StepId, pointer: &str) {
        if !self.before.contains(node.as_ref() as &str) {
            let message = format!("no node `{node}` comes before this one");
            self.report.meaning(pointer, "reference", message);
        }
    }
}
