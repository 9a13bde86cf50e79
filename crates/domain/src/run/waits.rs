//! The conditions that a step waits for before it begins, in the order in which they apply. Decides nothing;
//! [`Run::next`] determines which steps may begin.

use charter_contract::ids::{ApprovalId, Label, RunId, StepId};
use charter_contract::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::Run;
use super::standing::StepState;
use crate::graph::{EdgeCondition, Step};

/// A condition that a step waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "StepWait")]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum StepWait {
    /// Values of mandatory parameters.
    Parameters {
        /// The parameters.
        missing: Vec<Label>,
    },
    /// The confirmation of the plan.
    Confirmation,
    /// The resumption of the run.
    Resumption,
    /// The end of another run, which requested approval of the same call.
    Run {
        /// The other run.
        run: RunId,
    },
    /// An earlier step that has not ended.
    Step {
        /// The step.
        step: StepId,
        /// The required result.
        on: EdgeCondition,
    },
    /// A decision on exactly the step's call.
    Approval {
        /// The approval's id.
        approval: ApprovalId,
        /// The time at which it lapses.
        expires_at: Timestamp,
    },
    /// The time of a retry.
    Moment {
        /// The earliest time of the next attempt.
        due: Timestamp,
    },
    /// A rollback: the step reverses another one, and does not run in the forward direction.
    Rollback {
        /// The reversed step.
        of: StepId,
    },
}

impl StepWait {
    /// Lists the conditions that a step waits for; empty if a worker begins it next, if it has begun or ended, or if
    /// there is no such step.
    #[must_use]
    pub fn list(run: &Run, step: &StepId) -> Vec<Self> {
        let Some(at) = run.graph().place(step).filter(|_| run.outcome().is_none()) else {
            return Vec::new();
        };
        let step = &run.graph().steps()[at];
        let of_step = match &run.steps.slots[at].state {
            StepState::Pending => match &step.reverses {
                Some(of) => return vec![Self::Rollback { of: of.clone() }],
                None => of_sources(run, step),
            },
            StepState::AwaitingApproval {
                approval,
                expires_at,
                ..
            } => vec![Self::Approval {
                approval: approval.clone(),
                expires_at: *expires_at,
            }],
            StepState::Retrying { due } => vec![Self::Moment { due: *due }],
            StepState::Running { .. }
            | StepState::Succeeded
            | StepState::Failed { .. }
            | StepState::Skipped { .. }
            | StepState::Cancelled => return Vec::new(),
        };
        of_run(run).chain(of_step).collect()
    }
}

/// Returns the conditions that the whole run waits for.
fn of_run(run: &Run) -> impl Iterator<Item = StepWait> {
    let opening = run.opening();
    let missing = (!opening.missing.is_empty()).then(|| StepWait::Parameters {
        missing: opening.missing.clone(),
    });
    let confirm = opening.confirm.then_some(StepWait::Confirmation);
    let paused = run.is_paused().then_some(StepWait::Resumption);
    let awaited = run.awaited_run().map(|awaited| StepWait::Run {
        run: awaited.run.clone(),
    });
    let of_run = missing.into_iter().chain(confirm).chain(paused);
    of_run.chain(awaited)
}

/// Returns the sources of a step that have not ended.
fn of_sources(run: &Run, step: &Step) -> Vec<StepWait> {
    let edges = step.entry.edges.iter();
    let open = edges.filter(|edge| {
        let state = run.steps.state_of(&edge.from);
        !state.is_some_and(StepState::is_settled)
    });
    open.map(|edge| StepWait::Step {
        step: edge.from.clone(),
        on: edge.on,
    })
    .collect()
}
