//! The rollback of a run that has ended: its reversals as steps of a new run, last write first.

use charter_contract::bounds::JSON_MEMORY;
use charter_contract::filling::Filling;
use charter_contract::ids::StepId;
use serde_json::{Map, Value};

use super::successes;
use crate::graph::{Action, Entry, GraphError, GraphParts, Step, StepGraph};
use crate::reference::{ReferenceError, resolve};
use crate::run::Run;

/// Why a run cannot be rolled back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreversible {
    /// It goes on.
    #[error("the run has not ended; abort it")]
    Running,
    /// It wrote nothing that is not reversed already.
    #[error("the run has no write that stands")]
    Nothing,
    /// It may have written something; nobody knows.
    #[error(
        "nobody knows whether the write of {} happened, and nothing else of the run stands: look \
         where it writes; if it did happen, undo it there, or by a plan that calls what reverses it",
        names(.0)
    )]
    InDoubt(Vec<StepId>),
    /// A write without a reversal.
    #[error("nothing reverses the step `{0}`")]
    NoReversal(StepId),
    /// A reversal needs something that the run does not have, or too much of it.
    #[error("the parameters of the reversal of `{step}`: {cause}")]
    Reference {
        /// The step.
        step: StepId,
        /// What is missing.
        cause: ReferenceError,
    },
    /// The reversals do not make a graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// The graph that reverses what stands of a run's writes, and the values that its steps refer to.
///
/// # Errors
/// An [`Unreversible`]; what is known to stand is reversed as a whole or not at all, and what is in
/// doubt is left to people.
pub fn rolling_back(run: &Run) -> Result<(StepGraph, Map<String, Value>), Unreversible> {
    if run.outcome().is_none() {
        return Err(Unreversible::Running);
    }
    let mut values = Map::new();
    let mut filling = Filling::of(JSON_MEMORY);
    let mut steps: Vec<Step> = Vec::new();
    for written in run
        .written()
        .rev()
        .filter(|step| !run.is_reversed(&step.id))
    {
        let reversal = run
            .reversal_of(&written.id)
            .ok_or_else(|| Unreversible::NoReversal(written.id.clone()))?;
        let before = steps.last().map(|step| step.id.clone());
        steps.push(Step {
            action: with_values(run, reversal, &mut values, &mut filling)?,
            entry: Entry {
                edges: successes(before),
                ..Entry::default()
            },
            spends: false,
            mandate: None,
            unless_changed: None,
            reverses: None,
            ..reversal.clone()
        });
    }
    if steps.is_empty() {
        let doubtful: Vec<StepId> = run.in_doubt().cloned().collect();
        return Err(match doubtful.is_empty() {
            true => Unreversible::Nothing,
            false => Unreversible::InDoubt(doubtful),
        });
    }
    let graph = StepGraph::new(GraphParts {
        steps,
        ..GraphParts::default()
    })?;
    Ok((graph, values))
}

fn names(steps: &[StepId]) -> String {
    let names: Vec<String> = steps.iter().map(|step| format!("`{step}`")).collect();
    names.join(", ")
}

/// The reversal's action with each argument a reference to a value of the new run: what an argument
/// holds is data, and is not read for references again.
fn with_values(
    run: &Run,
    reversal: &Step,
    values: &mut Map<String, Value>,
    filling: &mut Filling,
) -> Result<Action, Unreversible> {
    let Action::Call {
        tool,
        parameters,
        script,
        writes,
    } = &reversal.action
    else {
        return Ok(reversal.action.clone());
    };
    let mut references = Map::new();
    for (name, written) in parameters {
        let value = match resolve(written, run.bindings(), filling) {
            Ok(value) => value,
            Err(ReferenceError::NoParameter { .. }) => continue,
            Err(cause) => {
                return Err(Unreversible::Reference {
                    step: reversal.id.clone(),
                    cause,
                });
            }
        };
        let key = format!("{}__{name}", reversal.id.as_ref().replace('.', "_"));
        references.insert(name.clone(), Value::String(format!("${{user.{key}}}")));
        values.insert(key, value);
    }
    Ok(Action::Call {
        tool: tool.clone(),
        parameters: references,
        script: script.clone(),
        writes: *writes,
    })
}
