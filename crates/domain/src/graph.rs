//! The one graph of steps that everything compiles to which acts: skill plans now, and whatever
//! else runs later. A graph that exists is sound: ids are unique, dependencies known, no cycles.

mod compile;

use std::collections::BTreeSet;

use charter_contract::dependency::{self, Node};
use charter_contract::ids::{StepId, ToolId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use compile::from_skill;

/// What happens to the rest of a run when a step fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterFailure {
    /// Nothing that has not started starts any more; the run fails.
    Abort,
    /// Steps that depend on it are skipped; the others run.
    SkipDependants,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its id.
    pub id: StepId,
    /// The tool it calls.
    pub tool: ToolId,
    /// The tool's parameters, with references still in them.
    pub parameters: Map<String, Value>,
    /// Steps that must have succeeded first.
    pub depends_on: BTreeSet<StepId>,
    /// What a failure does.
    pub after_failure: AfterFailure,
    /// Limit of one attempt in milliseconds; 0 sets no limit of the step's own (B003-7).
    pub timeout_ms: u64,
    /// How long a result may be used again for the same call, in seconds; 0 for never.
    pub cache_ttl_seconds: u64,
}

/// Why steps do not make a graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// No step at all.
    #[error("there is no step")]
    Empty,
    /// Two steps share an id.
    #[error("the step id `{0}` stands twice")]
    Duplicate(StepId),
    /// A dependency on a step that is not there.
    #[error("the step `{step}` depends on `{missing}`, which does not exist")]
    Unknown {
        /// The step.
        step: StepId,
        /// What it names.
        missing: StepId,
    },
    /// Steps that wait for each other.
    #[error("the steps wait for each other: {}", path(.0))]
    Cycle(Vec<StepId>),
    /// A parameter refers to something in a form that cannot be read.
    #[error("the parameter `{parameter}` of the step `{step}`: {cause}")]
    Reference {
        /// The step.
        step: StepId,
        /// The parameter.
        parameter: String,
        /// What is wrong.
        cause: crate::reference::ReferenceError,
    },
}

fn path(steps: &[StepId]) -> String {
    let names: Vec<String> = steps.iter().map(ToString::to_string).collect();
    names.join(" → ")
}

/// A sound graph of steps, in the order in which they are listed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Step>", into = "Vec<Step>")]
pub struct StepGraph {
    steps: Vec<Step>,
}

impl StepGraph {
    /// Checks the steps and makes them a graph.
    ///
    /// # Errors
    /// The first [`GraphError`] in the order empty, duplicate, unknown, cycle.
    pub fn new(steps: Vec<Step>) -> Result<Self, GraphError> {
        if steps.is_empty() {
            return Err(GraphError::Empty);
        }
        let mut known = BTreeSet::new();
        for step in &steps {
            if !known.insert(&step.id) {
                return Err(GraphError::Duplicate(step.id.clone()));
            }
        }
        for step in &steps {
            if let Some(missing) = step.depends_on.iter().find(|id| !known.contains(id)) {
                return Err(GraphError::Unknown {
                    step: step.id.clone(),
                    missing: missing.clone(),
                });
            }
        }
        match find_cycle(&steps) {
            Some(cycle) => Err(GraphError::Cycle(cycle)),
            None => Ok(Self { steps }),
        }
    }

    /// The steps in listed order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The step of this id.
    #[must_use]
    pub fn step(&self, id: &StepId) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == *id)
    }

    /// Every step that waits for `id`, directly or through others.
    #[must_use]
    pub fn dependants(&self, id: &StepId) -> BTreeSet<StepId> {
        let mut reached = BTreeSet::new();
        let mut frontier = vec![id.clone()];
        while let Some(current) = frontier.pop() {
            for step in self
                .steps
                .iter()
                .filter(|s| s.depends_on.contains(&current))
            {
                if reached.insert(step.id.clone()) {
                    frontier.push(step.id.clone());
                }
            }
        }
        reached
    }
}

impl TryFrom<Vec<Step>> for StepGraph {
    type Error = GraphError;

    fn try_from(steps: Vec<Step>) -> Result<Self, GraphError> {
        Self::new(steps)
    }
}

impl From<StepGraph> for Vec<Step> {
    fn from(graph: StepGraph) -> Self {
        graph.steps
    }
}

/// A cycle's steps, the first repeated at the end.
fn find_cycle(steps: &[Step]) -> Option<Vec<StepId>> {
    let nodes: Vec<Node<'_>> = steps
        .iter()
        .map(|step| Node {
            name: step.id.as_ref(),
            needs: step.depends_on.iter().map(AsRef::as_ref).collect(),
        })
        .collect();
    let cycle = dependency::cycle(&nodes)?;
    let id = |name: &str| steps.iter().find(|step| step.id.as_ref() == name);
    Some(
        cycle
            .into_iter()
            .filter_map(|name| Some(id(name)?.id.clone()))
            .collect(),
    )
}

#[cfg(test)]
mod tests;
