//! The writes of a run: which of them are in effect, are reversed, or may have happened.

use std::collections::BTreeSet;

use charter_contract::ids::StepId;

use super::event::ErrorKind;
use super::standing::StepState;
use super::steps::RunSteps;
use crate::graph::Step;

impl RunSteps {
    /// Returns the steps with successful writes, in their order.
    pub fn written(&self) -> impl DoubleEndedIterator<Item = &Step> {
        let steps = self.graph.steps();
        self.written.iter().map(|at| &steps[*at])
    }

    /// Returns the step that reverses another one.
    #[must_use]
    pub fn reversal_of(&self, step: &StepId) -> Option<&Step> {
        let reversal = self
            .graph
            .place(step)
            .and_then(|at| self.graph.reversal_of(at));
        reversal.map(|at| &self.graph.steps()[at])
    }

    /// Returns whether a step's write was reversed.
    #[must_use]
    pub fn is_reversed(&self, step: &StepId) -> bool {
        let place = self.graph.place(step);
        place.is_some_and(|at| self.has_reversed(at))
    }

    fn has_reversed(&self, write: usize) -> bool {
        let reversal = self.graph.reversal_of(write);
        reversal.is_some_and(|at| self.slots[at].state == StepState::Succeeded)
    }

    /// Returns writes that began and have an unknown outcome.
    pub fn in_doubt(&self) -> impl Iterator<Item = &StepId> {
        let steps = self.graph.steps();
        self.uncertain().map(|at| &steps[at].id)
    }

    /// Returns whether no write succeeded or has an unknown outcome, so that the run may be repeated.
    #[must_use]
    pub fn wrote_nothing(&self) -> bool {
        self.written.is_empty() && self.in_doubt().next().is_none()
    }

    /// Returns steps whose writes remain in effect, or may: completed and not reversed, cut off by a time limit, or
    /// interrupted and not repeated.
    pub(super) fn left_behind(&self) -> Vec<StepId> {
        let written = self.written.iter().copied();
        let kept = written.filter(|at| !self.has_reversed(*at));
        let left: BTreeSet<usize> = kept.chain(self.uncertain()).collect();
        let steps = self.graph.steps();
        left.into_iter().map(|at| steps[at].id.clone()).collect()
    }

    /// Returns writes that were cut off by a time limit, or interrupted and not repeated.
    fn uncertain(&self) -> impl Iterator<Item = usize> {
        let steps = self.graph.steps().iter().zip(&self.slots).enumerate();
        steps.filter_map(|(at, (step, slot))| {
            let cut_off = matches!(
                &slot.state,
                StepState::Failed { failure } if failure.kind == ErrorKind::TimeoutError
            );
            let forward = step.writes() && step.reverses.is_none();
            (forward && (cut_off || slot.unheard)).then_some(at)
        })
    }

    /// Returns the next reversal of a rollback: the last write is reversed first, and no reversal follows a failed one.
    pub(super) fn next_reversal(&self) -> Option<usize> {
        for write in self.written.iter().rev() {
            let Some(reversal) = self.graph.reversal_of(*write) else {
                continue;
            };
            match self.slots[reversal].state {
                StepState::Succeeded => {}
                StepState::Failed { .. } | StepState::Skipped { .. } | StepState::Cancelled => {
                    return None;
                }
                StepState::Pending
                | StepState::AwaitingApproval { .. }
                | StepState::Running { .. }
                | StepState::Retrying { .. } => return Some(reversal),
            }
        }
        None
    }
}
