//! The common graph of steps that every executable document compiles to: skill plans, playbooks, execution plans,
//! pipelines and decision trees.
//!
//! An existing graph is valid: ids are unique, referenced steps exist, there are no cycles, and every reversed step
//! exists. The graph defines the possible order of steps; the run machine decides when each step runs.

mod compile;
mod growth;
mod items;
mod known;
mod size;
mod source;
mod step;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use charter_contract::dependency::{self, Node};
use charter_contract::ids::{Label, StepId};
use charter_contract::parameter::ParameterType;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::expression::Condition;

pub use compile::{
    CallableTools, analysis_step, from_analysis, from_call, from_pipeline, from_plan,
    from_playbook, from_skill, from_tree, single_call, wired, with_analysis,
};
pub(crate) use compile::{contradicted, successes};
pub use growth::{AddedEdge, GraphAdditions};
pub use source::PlanSource;
pub use step::{
    AfterFailure, Arguments, Branch, Edge, EdgeCondition, Entry, Join, Retry, Step, StepAction,
    StepItem,
};

/// The reason why steps do not form a valid graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// There are no steps.
    #[error("the plan has no step")]
    Empty,
    /// A derived step id is invalid.
    #[error("`{0}` cannot be the id of a step: it is too long")]
    Name(String),
    /// More steps or dependencies than a plan or run may have.
    #[error("the plan has more than {most} {what} ({limit}): split it into two plans")]
    TooLarge {
        /// The counted things.
        what: &'static str,
        /// The maximum number.
        most: usize,
        /// The name of the limit.
        limit: &'static str,
    },
    /// Two steps share an id.
    #[error("the step id `{0}` is duplicated")]
    Duplicate(StepId),
    /// An edge from, a branch to, or a reversal of a missing step.
    #[error("the step `{step}` depends on `{missing}`, which does not exist")]
    Unknown {
        /// The step.
        step: StepId,
        /// The id of the missing step.
        missing: StepId,
    },
    /// Steps that wait for each other.
    #[error("the steps form a cycle: {}", path(.0))]
    Cycle(Vec<StepId>),
    /// A reversal with dependencies, or two reversals of one step.
    #[error(
        "`{0}` is not a valid reversal: it must have no dependencies and be the only reversal of its step"
    )]
    Reversal(StepId),
    /// A parameter with a malformed reference.
    #[error("the parameter `{parameter}` of the step `{step}`: {cause}")]
    Reference {
        /// The step.
        step: StepId,
        /// The parameter.
        parameter: String,
        /// The problem.
        cause: crate::reference::ReferenceError,
    },
    /// An expression that does not compile.
    #[error("the expression of the step `{step}`: {cause}")]
    Expression {
        /// The step.
        step: StepId,
        /// The problem.
        cause: crate::expression::ExpressionError,
    },
    /// The document lacks something that it refers to.
    #[error("the step `{step}`: {detail}")]
    Incomplete {
        /// The step.
        step: StepId,
        /// A description of the missing part.
        detail: String,
    },
}

fn path(steps: &[StepId]) -> String {
    let names: Vec<String> = steps.iter().map(ToString::to_string).collect();
    names.join(" → ")
}

/// The parts of a graph.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GraphParts {
    /// The steps in listed order; reversals among them.
    pub steps: Vec<Step>,
    /// Keys that some step's output must have for the run to be complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Label>,
    /// The time limit of the work in milliseconds, without the time that it waits for people; 0 means no limit.
    #[serde(default)]
    pub timeout_ms: u64,
    /// The token budget for models; 0 means no limit (B002-17).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub token_budget: u64,
    /// The declared types of numeric parameters, for expressions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub numbers: BTreeMap<Label, ParameterType>,
    /// The plan that replaces this one, once, when a required step fails (B003-8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Box<StepGraph>>,
    /// The source of the graph, if it is not a document of the catalogue. A fallback names the source that the run was
    /// started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<PlanSource>,
}

/// A valid graph of steps.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "GraphParts", into = "GraphParts")]
pub struct StepGraph {
    parts: GraphParts,
    places: HashMap<StepId, usize>,
    /// For each step, the steps with an edge from it, without duplicates.
    followers: Vec<Vec<usize>>,
    /// For each step, the step that reverses it.
    reversals: Vec<Option<usize>>,
}

impl PartialEq for StepGraph {
    fn eq(&self, other: &Self) -> bool {
        self.parts == other.parts
    }
}

impl StepGraph {
    /// Validates the parts and builds the graph.
    ///
    /// # Errors
    /// The first [`GraphError`] in the order empty, duplicate, unknown, reversal, cycle, expression.
    pub fn new(parts: GraphParts) -> Result<Self, GraphError> {
        let graph = Self::linked(parts)?;
        graph.steps().iter().try_for_each(check_expressions)?;
        Ok(graph)
    }

    /// Builds a graph without compiling its expressions. When a journal is read, an expression that no longer compiles
    /// fails its step, and the run can still be shown, aborted and exported. For a plan from a caller, the expressions
    /// were compiled when it was parsed.
    fn linked(parts: GraphParts) -> Result<Self, GraphError> {
        let steps = &parts.steps;
        if steps.iter().all(|step| step.reverses.is_some()) {
            return Err(GraphError::Empty);
        }
        let mut places = HashMap::with_capacity(steps.len());
        for (at, step) in steps.iter().enumerate() {
            if places.insert(step.id.clone(), at).is_some() {
                return Err(GraphError::Duplicate(step.id.clone()));
            }
        }
        let mut followers = vec![Vec::new(); steps.len()];
        for (at, step) in steps.iter().enumerate() {
            for from in named_by(step) {
                let missing = || GraphError::Unknown {
                    step: step.id.clone(),
                    missing: from.clone(),
                };
                places.get(from).ok_or_else(missing)?;
            }
            for source in sources(step) {
                followers[places[source]].push(at);
            }
        }
        let reversals = reversals(steps, &places)?;
        if let Some(cycle) = find_cycle(steps) {
            return Err(GraphError::Cycle(cycle));
        }
        Ok(Self {
            parts,
            places,
            followers,
            reversals,
        })
    }

    /// Returns the steps in listed order, including reversals.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.parts.steps
    }

    /// Returns the step with this id.
    #[must_use]
    pub fn step(&self, id: &StepId) -> Option<&Step> {
        self.place(id).map(|at| &self.parts.steps[at])
    }

    /// Returns a step's index in the list.
    #[must_use]
    pub fn place(&self, id: &StepId) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// Keys that some step's output must have for the run to be complete.
    #[must_use]
    pub fn evidence(&self) -> &[Label] {
        &self.parts.evidence
    }

    /// Returns the time limit of the work in milliseconds; 0 means no limit.
    #[must_use]
    pub fn timeout_ms(&self) -> u64 {
        self.parts.timeout_ms
    }

    /// Returns the token budget for models; 0 means no limit.
    #[must_use]
    pub fn token_budget(&self) -> u64 {
        self.parts.token_budget
    }

    /// The declared types of numeric parameters, for expressions.
    #[must_use]
    pub fn numbers(&self) -> &BTreeMap<Label, ParameterType> {
        &self.parts.numbers
    }

    /// Returns the plan that replaces this one, once, when a required step fails.
    #[must_use]
    pub fn fallback(&self) -> Option<&StepGraph> {
        self.parts.fallback.as_deref()
    }

    /// Returns the source of the graph, if it is not a document of the catalogue.
    #[must_use]
    pub fn source(&self) -> Option<&PlanSource> {
        self.parts.source.as_ref()
    }

    /// Returns every step of the graph and of its fallbacks.
    pub fn all_steps(&self) -> impl Iterator<Item = &Step> {
        let mut graph = Some(self);
        std::iter::from_fn(move || {
            let steps = graph?.steps();
            graph = graph.and_then(Self::fallback);
            Some(steps)
        })
        .flatten()
    }

    pub(crate) fn followers(&self, at: usize) -> &[usize] {
        &self.followers[at]
    }

    pub(crate) fn reversal_of(&self, at: usize) -> Option<usize> {
        self.reversals[at]
    }
}

impl TryFrom<GraphParts> for StepGraph {
    type Error = GraphError;

    fn try_from(parts: GraphParts) -> Result<Self, GraphError> {
        Self::linked(parts)
    }
}

impl From<StepGraph> for GraphParts {
    fn from(graph: StepGraph) -> Self {
        graph.parts
    }
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Returns the distinct steps that a step has edges from.
pub(crate) fn sources(step: &Step) -> BTreeSet<&StepId> {
    step.entry.edges.iter().map(|edge| &edge.from).collect()
}

/// Returns every other step that a step names.
fn named_by(step: &Step) -> impl Iterator<Item = &StepId> {
    let ways: Vec<&StepId> = match &step.action {
        StepAction::Choose {
            branches,
            otherwise,
        } => branches
            .iter()
            .map(|branch| &branch.next)
            .chain([otherwise])
            .collect(),
        StepAction::Call { .. } | StepAction::Conclude { .. } | StepAction::ForEach { .. } => {
            Vec::new()
        }
    };
    let edges = step.entry.edges.iter().map(|edge| &edge.from);
    edges
        .chain(&step.reverses)
        .chain(&step.unless_changed)
        .chain(ways)
}

fn reversals(
    steps: &[Step],
    places: &HashMap<StepId, usize>,
) -> Result<Vec<Option<usize>>, GraphError> {
    let mut reversals = vec![None; steps.len()];
    for (at, step) in steps.iter().enumerate() {
        let Some(reversed) = step.reverses.as_ref().map(|id| places[id]) else {
            continue;
        };
        let waits = !step.entry.edges.is_empty() || step.entry.when.is_some();
        if waits || steps[reversed].reverses.is_some() || reversals[reversed].is_some() {
            return Err(GraphError::Reversal(step.id.clone()));
        }
        reversals[reversed] = Some(at);
    }
    Ok(reversals)
}

/// Returns the steps of a cycle, with the first one repeated at the end.
fn find_cycle(steps: &[Step]) -> Option<Vec<StepId>> {
    let nodes: Vec<Node<'_>> = steps
        .iter()
        .map(|step| Node {
            name: step.id.as_ref(),
            needs: sources(step).into_iter().map(AsRef::as_ref).collect(),
        })
        .collect();
    let cycle = dependency::cycle(&nodes)?;
    let id = |name: &str| steps.iter().find(|step| step.id.as_ref() == name);
    let ids = cycle
        .into_iter()
        .filter_map(|name| Some(id(name)?.id.clone()));
    Some(ids.collect())
}

fn check_expressions(step: &Step) -> Result<(), GraphError> {
    let branches: &[Branch] = match &step.action {
        StepAction::Choose { branches, .. } => branches,
        StepAction::Call { .. } | StepAction::Conclude { .. } | StepAction::ForEach { .. } => &[],
    };
    let written = branches.iter().map(|branch| branch.when.as_str());
    for expression in written.chain(step.entry.when.as_deref()) {
        Condition::of_plan(expression).map_err(|cause| GraphError::Expression {
            step: step.id.clone(),
            cause,
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
