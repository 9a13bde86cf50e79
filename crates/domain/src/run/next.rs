//! The next action of a worker.

use std::collections::BTreeSet;

use charter_contract::ids::StepId;
use charter_contract::time::Timestamp;

use super::Run;
use super::event::{ErrorKind, StepFailure};
use super::readiness::{may_ask_ahead, next_reversal};
use super::standing::StepState;
use crate::graph::PlanSource;

/// The next action of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Start these steps in parallel, in this order. A step that is already running was interrupted and is started
    /// again, unless it is [not repeated](Run::not_repeated).
    Start(Vec<StepId>),
    /// Wait for a running step, for a person, or until a point in time.
    Wait {
        /// The time at which something is due even if nothing else happens.
        until: Option<Timestamp>,
    },
    /// The run has ended.
    Ended,
}

impl Run {
    /// Returns the next action of a worker, apart from the steps that it has `in_hand`; `has_come` returns whether a
    /// time has passed.
    #[must_use]
    pub fn next(&self, in_hand: &BTreeSet<StepId>, has_come: impl Fn(Timestamp) -> bool) -> Next {
        if self.outcome().is_some() {
            return Next::Ended;
        }
        let mut startable: BTreeSet<usize> = BTreeSet::new();
        if !self.is_on_hold() && self.opening().is_met() {
            startable.extend(self.steps.ready.iter());
        }
        let live = self.steps.live.iter();
        startable.extend(live.filter(|at| may_go_on(self, **at, &has_come)));
        startable.extend(next_reversal(self));
        let steps = self.graph().steps();
        let startable: Vec<StepId> = startable
            .into_iter()
            .map(|at| &steps[at].id)
            .filter(|id| !in_hand.contains(*id))
            .cloned()
            .collect();
        if startable.is_empty() {
            Next::Wait { until: due(self) }
        } else {
            Next::Start(startable)
        }
    }

    /// Returns the writes whose approval may be requested together with that of a write that may begin: they wait for
    /// nothing but the end of other steps. Each proposal of a mission is approved on its own.
    #[must_use]
    pub fn askable_ahead(&self) -> Vec<StepId> {
        if let Some(PlanSource::Mission(_)) = self.graph().source() {
            return Vec::new();
        }
        let ids = self.graph().steps().iter().map(|step| &step.id);
        let askable = ids.filter(|id| may_ask_ahead(self, id).is_ok());
        askable.cloned().collect()
    }

    /// Returns the failure of a read that was interrupted while the run stops because of an order, its time limit or
    /// its token budget: its result is no longer needed, so it does not begin again. A write begins again, or needs
    /// approval, because it may have happened. In a run that stops because of a failure, steps that have begun continue
    /// to their end.
    #[must_use]
    pub fn not_repeated(&self, step: &StepId) -> Option<StepFailure> {
        let of = self.graph().step(step)?;
        let reads = !of.writes() && of.reverses.is_none();
        (self.is_called_off() && reads && self.steps.is_interrupted(step)).then(|| StepFailure {
            kind: ErrorKind::SystemError,
            code: "cancelled".to_owned(),
            message: format!(
                "the step `{step}` was interrupted and is not restarted: the run stops"
            ),
            retryable: false,
            account: None,
        })
    }
}

/// Returns whether a live step is to begin again: it was interrupted, or its delay has passed.
fn may_go_on(run: &Run, at: usize, has_come: impl Fn(Timestamp) -> bool) -> bool {
    match run.steps.slots[at].state {
        StepState::Running { .. } => true,
        StepState::Retrying { due } => !run.is_on_hold() && has_come(due),
        _ => false,
    }
}

/// Returns the next time at which something is due.
fn due(run: &Run) -> Option<Timestamp> {
    let live = run.steps.live.iter();
    let steps = live.filter_map(|at| match run.steps.slots[*at].state {
        StepState::Retrying { due } => (!run.is_on_hold()).then_some(due),
        StepState::AwaitingApproval { expires_at, .. } => Some(expires_at),
        _ => None,
    });
    steps.chain(run.deadline()).min()
}
