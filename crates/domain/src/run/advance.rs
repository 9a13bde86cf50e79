//! The events that follow from a run's state alone: skipped steps, choices, the end.

use charter_contract::ids::Label;

use super::Run;
use super::event::{RunEvent, StopCause};
use super::readiness::{StepReadiness, next_reversal};
use super::standing::Stop;
use crate::expression::Budget;
use crate::graph::StepAction;

impl Run {
    /// Returns the events that follow without a command; empty if there are none. Call it again after applying them.
    #[must_use]
    pub fn advance(&self) -> Vec<RunEvent> {
        if self.outcome().is_some() || self.is_on_hold() {
            return Vec::new();
        }
        if self.opening().is_met() || self.stop.is_some() {
            // The expressions of all ready steps share a budget, because they are evaluated again after each event.
            let budget = &mut Budget::default();
            // A choice may skip a step that another event would start, so events are processed one at a time.
            let mut ready = self.steps.ready.iter();
            let decided = ready.find_map(|at| match StepReadiness::of_step(self, *at, budget) {
                StepReadiness::Event(event) => Some(*event),
                StepReadiness::Start => None,
            });
            if let Some(event) = decided {
                return vec![event];
            }
            if is_out_of_tokens(self) {
                return vec![RunEvent::Stopping {
                    cause: StopCause::TokenBudgetExhausted,
                    roll_back: false,
                }];
            }
            if let Some(cause) = refused_after_writes(self) {
                return vec![RunEvent::Stopping {
                    cause,
                    roll_back: true,
                }];
            }
            if self.steps.is_idle() && next_reversal(self).is_none() {
                return vec![conclusion(self)];
            }
        }
        Vec::new()
    }

    /// Returns whether [`Run::advance`] evaluates expressions of ready steps, which may take long.
    #[must_use]
    pub fn asks_expressions(&self) -> bool {
        let steps = self.graph().steps();
        self.steps.ready.iter().any(|at| {
            let step = &steps[*at];
            step.entry.when.is_some() || matches!(step.action, StepAction::Choose { .. })
        })
    }
}

/// Returns whether a step that uses tokens would begin, and no tokens are left. Steps that have begun continue to their
/// end, and their outputs are kept (B002-17).
fn is_out_of_tokens(run: &Run) -> bool {
    let budget = run.graph().token_budget();
    let used_up = budget > 0 && run.tokens().total() >= budget;
    let steps = run.graph().steps();
    used_up && run.stop.is_none() && run.steps.ready.iter().any(|at| steps[*at].spends)
}

/// Returns the cause of a run that stops because a person rejected a call, or a rule refused it, although earlier writes
/// are in effect: these are reversed.
fn refused_after_writes(run: &Run) -> Option<StopCause> {
    let stop = run.stop.as_ref().filter(|stop| !stop.roll_back)?;
    let falls_back = run.graph().fallback().is_some();
    let is_refused = stop.cause.refusal().is_some();
    (is_refused && !falls_back && !run.steps.wrote_nothing()).then(|| stop.cause.clone())
}

/// Returns the end of a run with no remaining steps, or its continuation with the fallback.
fn conclusion(run: &Run) -> RunEvent {
    let Some(Stop { cause, roll_back }) = run.stop.clone() else {
        return RunEvent::Completed {
            missing_evidence: missing_evidence(run),
        };
    };
    match cause {
        StopCause::Failure { step, .. } if !roll_back && run.graph().fallback().is_some() => {
            RunEvent::FallbackStarted { step }
        }
        cause if !roll_back => RunEvent::Failed { cause },
        cause if cause.refusal().is_some() && run.steps.wrote_nothing() => {
            RunEvent::Failed { cause }
        }
        cause => {
            let left = run.steps.left_behind();
            if left.is_empty() {
                RunEvent::RolledBack { cause }
            } else {
                RunEvent::RollbackFailed { cause, left }
            }
        }
    }
}

fn missing_evidence(run: &Run) -> Vec<Label> {
    if run.is_dry_run() {
        return Vec::new();
    }
    let has = |key: &str| {
        run.outputs()
            .values()
            .any(|output| output.get(key).is_some())
    };
    let wanted = run.graph().evidence().iter();
    wanted.filter(|key| !has(key.as_ref())).cloned().collect()
}
