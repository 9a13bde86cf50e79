//! The rollback of a run that has ended: its reversals as steps of a new run, last write first.

use charter_contract::bounds::JSON_MEMORY;
use charter_contract::filling::FillBudget;
use charter_contract::ids::StepId;

use super::Run;
use crate::graph::{
    Arguments, Entry, GraphError, GraphParts, Step, StepAction, StepGraph, successes,
};
use crate::reference::ReferenceError;

/// Why a run cannot be rolled back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreversible {
    /// It goes on.
    #[error("the run has not ended; abort it")]
    Running,
    /// It wrote nothing that is not reversed already.
    #[error("the run has no write to reverse")]
    Nothing,
    /// It may have written something; the outcome is unknown.
    #[error(
        "the outcome of the write of {} is unknown, and the run has no other write to reverse: check its target; if \
         the write happened, undo it there, or by a plan that calls its reversal",
        names(.0)
    )]
    InDoubt(Vec<StepId>),
    /// A write without a reversal.
    #[error("the step `{0}` has no reversal")]
    NoReversal(StepId),
    /// A reversal needs something that the run does not have, or too much of it.
    #[error("the parameters of the reversal of `{step}`: {cause}")]
    Reference {
        /// The step.
        step: StepId,
        /// The missing part.
        cause: ReferenceError,
    },
    /// The reversals do not make a graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// The graph that reverses the completed writes of a run.
///
/// # Errors
/// An [`Unreversible`]; writes known to be in effect are reversed as a whole or not at all, and what is in
/// doubt is left to people.
pub fn rolling_back(run: &Run) -> Result<StepGraph, Unreversible> {
    if run.outcome().is_none() {
        return Err(Unreversible::Running);
    }
    let mut filling = FillBudget::with_limit(JSON_MEMORY);
    let mut steps: Vec<Step> = Vec::new();
    for written in run
        .steps()
        .written()
        .rev()
        .filter(|step| !run.steps().is_reversed(&step.id))
    {
        let reversal = run
            .steps()
            .reversal_of(&written.id)
            .ok_or_else(|| Unreversible::NoReversal(written.id.clone()))?;
        let before = steps.last().map(|step| step.id.clone());
        steps.push(Step {
            action: with_values(run, reversal, &mut filling)?,
            entry: Entry {
                edges: successes(before),
                ..Entry::default()
            },
            spends: false,
            mandate: None,
            unless_changed: None,
            reverses: None,
            item: None,
            ..reversal.clone()
        });
    }
    if steps.is_empty() {
        let doubtful: Vec<StepId> = run.steps().in_doubt().cloned().collect();
        return Err(match doubtful.is_empty() {
            true => Unreversible::Nothing,
            false => Unreversible::InDoubt(doubtful),
        });
    }
    Ok(StepGraph::new(GraphParts {
        steps,
        ..GraphParts::default()
    })?)
}

fn names(steps: &[StepId]) -> String {
    let names: Vec<String> = steps.iter().map(|step| format!("`{step}`")).collect();
    names.join(", ")
}

/// The action of a reversal, with resolved arguments.
fn with_values(
    run: &Run,
    reversal: &Step,
    filling: &mut FillBudget,
) -> Result<StepAction, Unreversible> {
    let StepAction::Call {
        tool,
        arguments,
        script,
        writes,
    } = &reversal.action
    else {
        return Ok(reversal.action.clone());
    };
    let values = arguments.resolve(run.bindings_of(reversal), filling);
    let values = values.map_err(|cause| Unreversible::Reference {
        step: reversal.id.clone(),
        cause,
    })?;
    Ok(StepAction::Call {
        tool: tool.clone(),
        arguments: Arguments::exact(values),
        script: script.clone(),
        writes: *writes,
    })
}
