//! The state of a run, folded from its events.

use std::collections::BTreeMap;

use charter_contract::ids::{RunId, StepId};
use serde_json::{Map, Value};

use super::IllegalTransition;
use super::event::{Pin, RunEvent, StepFailure};
use crate::graph::{AfterFailure, StepGraph};
use crate::reference::Bindings;

/// Where a step stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepState {
    /// Not started.
    Pending,
    /// Its effect is under way, or was when the worker died.
    Running {
        /// From 1.
        attempt: u32,
    },
    /// It succeeded; its output is with the run.
    Succeeded,
    /// It failed.
    Failed(StepFailure),
    /// It will not start.
    Skipped {
        /// The failed step that it waited for.
        because: StepId,
    },
}

impl StepState {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Pending => "not ready",
            Self::Running { .. } => "running",
            Self::Succeeded => "completed",
            Self::Failed(_) => "failed",
            Self::Skipped { .. } => "skipped",
        }
    }

    fn is_open(&self) -> bool {
        match self {
            Self::Pending | Self::Running { .. } => true,
            Self::Succeeded | Self::Failed(_) | Self::Skipped { .. } => false,
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Everything that had to succeed did.
    Completed,
    /// A step failed that the run cannot do without.
    Failed {
        /// The step.
        step: StepId,
        /// Why.
        failure: StepFailure,
    },
    /// Somebody stopped it.
    Cancelled {
        /// Why.
        reason: String,
    },
}

/// A run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    id: RunId,
    graph: StepGraph,
    parameters: Map<String, Value>,
    pins: Vec<Pin>,
    steps: BTreeMap<StepId, StepState>,
    outputs: BTreeMap<StepId, Value>,
    outcome: Option<Outcome>,
}

/// A journal that cannot be folded: it was not written by this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// The first event is not a start, or a later one is.
    #[error("the journal does not start with its start event")]
    Start,
    /// An event names a step that the run does not have.
    #[error("the journal names a step `{0}` that the run does not have")]
    UnknownStep(StepId),
}

impl Run {
    /// The run that a start event begins.
    ///
    /// # Errors
    /// [`FoldError::Start`] for any other event.
    pub fn start(event: RunEvent) -> Result<Self, FoldError> {
        let RunEvent::Started {
            run_id,
            graph,
            parameters,
            pins,
        } = event
        else {
            return Err(FoldError::Start);
        };
        let steps = graph
            .steps()
            .iter()
            .map(|step| (step.id.clone(), StepState::Pending))
            .collect();
        Ok(Self {
            id: run_id,
            graph,
            parameters,
            pins,
            steps,
            outputs: BTreeMap::new(),
            outcome: None,
        })
    }

    /// Folds a whole journal.
    ///
    /// # Errors
    /// [`FoldError`].
    pub fn replay(events: impl IntoIterator<Item = RunEvent>) -> Result<Self, FoldError> {
        let mut events = events.into_iter();
        let mut run = Self::start(events.next().ok_or(FoldError::Start)?)?;
        events.try_for_each(|event| run.apply(event))?;
        Ok(run)
    }

    /// Folds one more event.
    ///
    /// # Errors
    /// [`FoldError`].
    pub fn apply(&mut self, event: RunEvent) -> Result<(), FoldError> {
        match event {
            RunEvent::Started { .. } => return Err(FoldError::Start),
            RunEvent::StepBegun(begun) => {
                let attempt = begun.attempt;
                self.set(begun.step, StepState::Running { attempt })?;
            }
            RunEvent::StepSucceeded { step, output, .. } => {
                self.set(step.clone(), StepState::Succeeded)?;
                self.outputs.insert(step, output);
            }
            RunEvent::StepFailed { step, failure } => self.set(step, StepState::Failed(failure))?,
            RunEvent::StepSkipped { step, because } => {
                self.set(step, StepState::Skipped { because })?;
            }
            RunEvent::Completed => self.outcome = Some(Outcome::Completed),
            RunEvent::Failed { step, failure } => {
                self.outcome = Some(Outcome::Failed { step, failure });
            }
            RunEvent::Cancelled { reason } => self.outcome = Some(Outcome::Cancelled { reason }),
        }
        Ok(())
    }

    fn set(&mut self, step: StepId, state: StepState) -> Result<(), FoldError> {
        match self.steps.get_mut(&step) {
            Some(slot) => {
                *slot = state;
                Ok(())
            }
            None => Err(FoldError::UnknownStep(step)),
        }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// What it executes.
    #[must_use]
    pub fn graph(&self) -> &StepGraph {
        &self.graph
    }

    /// The versions it executes.
    #[must_use]
    pub fn pins(&self) -> &[Pin] {
        &self.pins
    }

    /// How it ended, once it has.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// Outputs of the steps that succeeded.
    #[must_use]
    pub fn outputs(&self) -> &BTreeMap<StepId, Value> {
        &self.outputs
    }

    /// What references in this run's parameters may point at.
    #[must_use]
    pub fn bindings(&self) -> Bindings<'_> {
        Bindings {
            parameters: &self.parameters,
            outputs: &self.outputs,
        }
    }

    /// Where every step stands.
    #[must_use]
    pub fn steps(&self) -> &BTreeMap<StepId, StepState> {
        &self.steps
    }

    pub(super) fn key(&self) -> &RunId {
        &self.id
    }

    pub(super) fn state_of(&self, step: &StepId) -> Result<&StepState, IllegalTransition> {
        self.steps
            .get(step)
            .ok_or_else(|| IllegalTransition::UnknownStep(step.clone()))
    }

    pub(super) fn after_failure_of(&self, step: &StepId) -> AfterFailure {
        self.graph
            .step(step)
            .map_or(AfterFailure::Abort, |step| step.after_failure)
    }

    pub(super) fn is_running(&self, id: &StepId) -> bool {
        matches!(self.steps.get(id), Some(StepState::Running { .. }))
    }

    /// Not started, and everything it waits for has succeeded.
    pub(super) fn is_ready(&self, id: &StepId) -> bool {
        let waiting = matches!(self.steps.get(id), Some(StepState::Pending));
        waiting
            && self.graph.step(id).is_some_and(|step| {
                let mut needed = step.depends_on.iter();
                needed.all(|d| matches!(self.steps.get(d), Some(StepState::Succeeded)))
            })
    }

    pub(super) fn pending(&self) -> impl Iterator<Item = StepId> + '_ {
        let pending = self.steps.iter();
        pending
            .filter(|(_, state)| matches!(state, StepState::Pending))
            .map(|(id, _)| id.clone())
    }

    pub(super) fn failures(&self) -> impl Iterator<Item = (&StepId, &StepFailure)> {
        self.steps.iter().filter_map(|(id, state)| match state {
            StepState::Failed(failure) => Some((id, failure)),
            StepState::Pending
            | StepState::Running { .. }
            | StepState::Succeeded
            | StepState::Skipped { .. } => None,
        })
    }

    /// Whether nothing stays open once `step` has ended and `skipped` are skipped.
    pub(super) fn is_last_open(
        &self,
        step: &StepId,
        skipped: &std::collections::BTreeSet<StepId>,
    ) -> bool {
        self.steps
            .iter()
            .all(|(id, state)| id == step || skipped.contains(id) || !state.is_open())
    }
}
