//! The run machine: what may happen to a run, and what has happened.
//!
//! [`Run::decide`] turns a command into events or refuses it and changes nothing; [`Run::apply`]
//! folds one event into the state; [`Run::next`] says what a worker does now. The journal of
//! events is the plan of record: folding it again gives the same state, byte for byte, and no
//! effect happens while folding. An effect is journaled before it starts, with the key that makes
//! a repeat harmless, and after it ended. A worker that finds a step started and not ended was
//! interrupted, and starts another attempt under the same key.

mod event;
mod state;

use std::collections::BTreeSet;

use charter_contract::ids::StepId;
use serde_json::Value;

use crate::graph::AfterFailure;

pub use event::{Begun, ErrorKind, Pin, ResultSource, RunEvent, StepFailure};
pub use state::{Outcome, Run, StepState};

/// What somebody wants to happen to a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// A step's effect is about to start.
    Begin {
        /// The step.
        step: StepId,
        /// Its parameters, resolved.
        parameters: serde_json::Map<String, Value>,
        /// What the gate said about it.
        judgement: crate::guardrail::Judgement,
    },
    /// The effect succeeded.
    Succeed {
        /// The step.
        step: StepId,
        /// What it produced.
        output: Value,
        /// Where the result came from.
        source: ResultSource,
        /// How long the effect took, in milliseconds.
        duration_ms: u64,
    },
    /// The effect failed, or was not allowed to start.
    Fail {
        /// The step.
        step: StepId,
        /// Why.
        failure: StepFailure,
    },
    /// Somebody stops the run.
    Cancel {
        /// Why, for the record.
        reason: String,
    },
}

/// A command that the run's state does not allow. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IllegalTransition {
    /// The run is over.
    #[error("the run has ended")]
    Ended,
    /// There is no such step.
    #[error("the run has no step `{0}`")]
    UnknownStep(StepId),
    /// The step is not in a state for this.
    #[error("the step `{step}` is {state}, so it cannot be {wanted}")]
    Step {
        /// The step.
        step: StepId,
        /// Its state.
        state: &'static str,
        /// What was asked.
        wanted: &'static str,
    },
}

/// What a worker does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Start these steps, in this order, at the same time. One that is running already was
    /// interrupted and is started again.
    Start(Vec<StepId>),
    /// Wait for a running step.
    Wait,
    /// The run is over.
    Ended,
}

impl Run {
    /// What the command leads to.
    ///
    /// # Errors
    /// [`IllegalTransition`]; the run is unchanged either way until the events are applied.
    pub fn decide(&self, command: Command) -> Result<Vec<RunEvent>, IllegalTransition> {
        if self.outcome().is_some() {
            return Err(IllegalTransition::Ended);
        }
        match command {
            Command::Begin {
                step,
                parameters,
                judgement,
            } => self.begin(step, parameters, judgement),
            Command::Succeed {
                step,
                output,
                source,
                duration_ms,
            } => self.succeed(step, output, source, duration_ms),
            Command::Fail { step, failure } => self.fail(step, failure),
            Command::Cancel { reason } => Ok(self.cancel(reason)),
        }
    }

    fn begin(
        &self,
        step: StepId,
        parameters: serde_json::Map<String, Value>,
        judgement: crate::guardrail::Judgement,
    ) -> Result<Vec<RunEvent>, IllegalTransition> {
        let attempt = match self.state_of(&step)? {
            StepState::Pending if self.is_ready(&step) => 1,
            StepState::Running { attempt } => attempt + 1,
            other => return Err(refused(step, other, "started")),
        };
        let idempotency_key = format!("{}/{step}", self.key());
        Ok(vec![RunEvent::StepBegun(Begun {
            step,
            attempt,
            idempotency_key,
            parameters,
            judgement,
        })])
    }

    fn succeed(
        &self,
        step: StepId,
        output: Value,
        source: ResultSource,
        duration_ms: u64,
    ) -> Result<Vec<RunEvent>, IllegalTransition> {
        match self.state_of(&step)? {
            StepState::Running { .. } => {}
            other => return Err(refused(step, other, "completed")),
        }
        let mut events = vec![RunEvent::StepSucceeded {
            step: step.clone(),
            output,
            source,
            duration_ms,
        }];
        if self.is_last_open(&step, &BTreeSet::new()) {
            events.push(self.conclusion(None));
        }
        Ok(events)
    }

    fn fail(&self, step: StepId, failure: StepFailure) -> Result<Vec<RunEvent>, IllegalTransition> {
        match self.state_of(&step)? {
            StepState::Running { .. } | StepState::Pending => {}
            other => return Err(refused(step, other, "failed")),
        }
        let skipped: BTreeSet<StepId> = match self.after_failure_of(&step) {
            AfterFailure::Abort => self.pending().filter(|id| *id != step).collect(),
            AfterFailure::SkipDependants => self.graph().dependants(&step),
        };
        let conclusion = self
            .is_last_open(&step, &skipped)
            .then(|| self.conclusion(Some((&step, &failure))));
        let skips = skipped.into_iter().map(|id| RunEvent::StepSkipped {
            step: id,
            because: step.clone(),
        });
        let mut events: Vec<RunEvent> = skips.collect();
        events.insert(0, RunEvent::StepFailed { step, failure });
        events.extend(conclusion);
        Ok(events)
    }

    fn cancel(&self, reason: String) -> Vec<RunEvent> {
        vec![RunEvent::Cancelled { reason }]
    }

    /// How the run ends once its last step has: an abort anywhere fails it.
    fn conclusion(&self, last: Option<(&StepId, &StepFailure)>) -> RunEvent {
        let fatal = self
            .failures()
            .chain(last)
            .find(|(step, _)| self.after_failure_of(step) == AfterFailure::Abort);
        match fatal {
            Some((step, failure)) => RunEvent::Failed {
                step: step.clone(),
                failure: failure.clone(),
            },
            None => RunEvent::Completed,
        }
    }

    /// What a worker does now.
    #[must_use]
    pub fn next(&self, in_hand: &BTreeSet<StepId>) -> Next {
        if self.outcome().is_some() {
            return Next::Ended;
        }
        let startable: Vec<StepId> = self
            .graph()
            .steps()
            .iter()
            .map(|step| &step.id)
            .filter(|id| !in_hand.contains(*id) && (self.is_ready(id) || self.is_running(id)))
            .cloned()
            .collect();
        if startable.is_empty() {
            Next::Wait
        } else {
            Next::Start(startable)
        }
    }
}

fn refused(step: StepId, state: &StepState, wanted: &'static str) -> IllegalTransition {
    IllegalTransition::Step {
        step,
        state: state.name(),
        wanted,
    }
}

#[cfg(test)]
mod tests;
