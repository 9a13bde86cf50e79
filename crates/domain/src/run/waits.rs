//! What a step that has not begun waits for, in the order in which it would be noticed. Decides
//! nothing; what may begin is said by [`Run::next`].

use charter_contract::ids::{ApprovalId, Label, StepId};
use charter_contract::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::Run;
use super::standing::StepState;
use crate::graph::EdgeCondition;

/// Something that a step waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "StepWait")]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum StepWait {
    /// Values of mandatory parameters.
    Parameters {
        /// Which.
        missing: Vec<Label>,
    },
    /// Somebody who confirms the plan.
    Confirmation,
    /// Somebody who resumes the run.
    Resumption,
    /// An earlier step that has not ended.
    Step {
        /// The step.
        step: StepId,
        /// What must become of it.
        on: EdgeCondition,
    },
    /// A person's decision on exactly the step's call.
    Approval {
        /// The approval's record.
        approval: ApprovalId,
        /// When it lapses.
        expires_at: Timestamp,
    },
    /// The moment of another attempt.
    Moment {
        /// Not before this.
        due: Timestamp,
    },
    /// A rollback: the step reverses another, and is no part of the way forward.
    Rollback {
        /// What it reverses.
        of: StepId,
    },
}

impl Run {
    /// What a step waits for. Nothing when a worker begins it next, when it has begun or ended, or
    /// when there is no such step.
    #[must_use]
    pub fn waits(&self, step: &StepId) -> Vec<StepWait> {
        let Some(at) = self.graph.place(step).filter(|_| self.outcome().is_none()) else {
            return Vec::new();
        };
        let step = &self.graph.steps()[at];
        let of_step = match &self.slots[at].state {
            StepState::Pending => match &step.reverses {
                Some(of) => return vec![StepWait::Rollback { of: of.clone() }],
                None => self.sources_of(at),
            },
            StepState::AwaitingApproval {
                approval,
                expires_at,
                ..
            } => vec![StepWait::Approval {
                approval: approval.clone(),
                expires_at: *expires_at,
            }],
            StepState::Retrying { due } => vec![StepWait::Moment { due: *due }],
            StepState::Running { .. }
            | StepState::Succeeded
            | StepState::Failed { .. }
            | StepState::Skipped { .. }
            | StepState::Cancelled => return Vec::new(),
        };
        self.of_run().chain(of_step).collect()
    }

    /// What the whole run waits for.
    fn of_run(&self) -> impl Iterator<Item = StepWait> {
        let opening = self.opening();
        let missing = (!opening.missing.is_empty()).then(|| StepWait::Parameters {
            missing: opening.missing.clone(),
        });
        let confirm = opening.confirm.then_some(StepWait::Confirmation);
        let paused = self.is_paused().then_some(StepWait::Resumption);
        missing.into_iter().chain(confirm).chain(paused)
    }

    fn sources_of(&self, at: usize) -> Vec<StepWait> {
        let edges = self.graph.steps()[at].entry.edges.iter();
        let open = edges.filter(|edge| {
            let state = self.state_of(&edge.from);
            !state.is_some_and(StepState::is_settled)
        });
        open.map(|edge| StepWait::Step {
            step: edge.from.clone(),
            on: edge.on,
        })
        .collect()
    }
}
