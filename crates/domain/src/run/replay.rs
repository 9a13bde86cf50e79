//! Strict replay: whether an event is one that the machine could have written in a state.
//!
//! Folding takes every well-formed event; this says whether the machine itself would have come to
//! it, so that a journal that was made up or changed is found at the first event that does not fit.

use charter_contract::time::Timestamp;

use super::event::{ResultSource, RunEvent, SkipReason, StepYield, StopCause};
use super::{FoldError, Run, StepState};
use crate::gate::GateDecision;

/// The first event of a journal that does not follow from those before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {sequence} does not follow from the events before it: {detail}")]
pub struct Divergence {
    /// Its position, from 1.
    pub sequence: u64,
    /// What is wrong with it.
    pub detail: String,
}

/// Folds a journal event by event, each only if the machine could have written it.
#[derive(Debug)]
pub struct StrictReplay {
    run: Run,
    /// The position of the next event.
    next: u64,
}

impl StrictReplay {
    /// Begins with the first event of a journal.
    ///
    /// # Errors
    /// [`FoldError`] when it is not a start.
    pub fn begin(event: RunEvent, at: Timestamp) -> Result<Self, FoldError> {
        let run = Run::start(event, at)?;
        Ok(Self { run, next: 2 })
    }

    /// Folds the next event; this may ask expressions ([`Run::asks_expressions`]).
    ///
    /// # Errors
    /// When the machine could not have written it. It is not folded.
    pub fn take(&mut self, event: RunEvent, at: Timestamp) -> Result<(), Divergence> {
        let followed = self.run.follows(&event, at).and_then(|()| {
            let applied = self.run.apply(event, at);
            applied.map_err(|error| error.to_string())
        });
        let sequence = self.next;
        self.next += 1;
        followed.map_err(|detail| Divergence { sequence, detail })
    }

    /// The run as folded so far.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }
}

impl Run {
    /// Folds a whole journal by [`StrictReplay`]. The second part is the first event that does not fit; the run is folded
    /// up to it.
    ///
    /// # Errors
    /// [`FoldError`] when not even the first event is a start.
    pub fn replay_strictly(
        events: impl IntoIterator<Item = (RunEvent, Timestamp)>,
    ) -> Result<(Self, Option<Divergence>), FoldError> {
        let mut events = events.into_iter();
        let (first, at) = events.next().ok_or(FoldError::Start)?;
        let mut replay = StrictReplay::begin(first, at)?;
        let divergence = events.find_map(|(event, at)| replay.take(event, at).err());
        Ok((replay.run, divergence))
    }

    /// Whether the machine could write an event at `now`.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn follows(&self, event: &RunEvent, now: Timestamp) -> Result<(), String> {
        if self.outcome().is_some() {
            return Err(FoldError::Ended.to_string());
        }
        match event {
            RunEvent::Started(_) => Err(FoldError::Start.to_string()),
            RunEvent::ParametersGiven { .. } => expect(
                !self.is_open() && self.stop.is_none(),
                "the plan stands already",
            ),
            RunEvent::Confirmed { digest, .. } => {
                let opening = self.opening();
                expect(
                    opening.confirm && opening.missing.is_empty(),
                    "nothing is to be confirmed",
                )?;
                expect(*digest == self.plan_digest(), "another plan was confirmed")
            }
            RunEvent::Paused { .. } => {
                expect(!self.paused && self.stop.is_none(), "it cannot be paused")
            }
            RunEvent::Resumed { .. } => expect(self.paused, "it is not paused"),
            RunEvent::Stopping {
                cause: StopCause::TokenBudgetExhausted,
                ..
            } => self.by_itself(event),
            RunEvent::Stopping { .. } => expect(self.stop.is_none(), "it is stopping already"),
            RunEvent::FallbackStarted { .. }
            | RunEvent::Completed { .. }
            | RunEvent::Failed { .. }
            | RunEvent::RolledBack { .. }
            | RunEvent::RollbackFailed { .. } => self.by_itself(event),
            RunEvent::StepBegun(_)
            | RunEvent::StepRefused { .. }
            | RunEvent::ApprovalRequested(_)
            | RunEvent::ApprovalGranted { .. }
            | RunEvent::ApprovalDenied { .. } => self.begins(event, now),
            RunEvent::StepSucceeded { .. }
            | RunEvent::StepFailed { .. }
            | RunEvent::RetryScheduled { .. }
            | RunEvent::StepSkipped { .. } => self.ends(event),
        }
    }

    fn by_itself(&self, event: &RunEvent) -> Result<(), String> {
        let follows = self.advance().first() == Some(event);
        expect(follows, "it does not follow by itself")
    }

    /// What the gate and people said, before a step begins.
    fn begins(&self, event: &RunEvent, now: Timestamp) -> Result<(), String> {
        match event {
            RunEvent::StepBegun(begun) => {
                let at = refusal_text(self.may_begin(&begun.step))?;
                let next = self.slots[at].attempts + 1;
                expect(
                    begun.attempt == next,
                    "an attempt is left out or counted twice",
                )?;
                let key = self.idempotency_key(&begun.step);
                expect(begun.idempotency_key == key, "its key is another effect's")?;
                let allowed = matches!(begun.policy_decision, GateDecision::Allow { .. });
                expect(allowed, "the gate did not allow it")?;
                let grant = self.slots[at].grant.as_ref();
                let is_live = |end: Timestamp| {
                    now < end && grant.is_some_and(|grant| grant.expires_at == end)
                };
                let in_time = begun.approval_expires_at.is_none_or(is_live);
                expect(in_time, "its approval had lapsed")
            }
            RunEvent::StepRefused {
                step,
                policy_decision,
                ..
            } => {
                refusal_text(self.may_begin(step))?;
                let denied = matches!(policy_decision, GateDecision::Deny { .. });
                expect(denied, "the gate did not refuse it")
            }
            RunEvent::ApprovalRequested(asked) => {
                refusal_text(self.may_begin(&asked.step))?;
                let digest = asked.call.digest();
                expect(asked.digest == digest, "its digest is another call's")?;
                let asks = matches!(asked.policy_decision, GateDecision::NeedsApproval { .. });
                expect(asks, "the gate did not ask for it")
            }
            RunEvent::ApprovalGranted { step, approval, .. }
            | RunEvent::ApprovalDenied { step, approval, .. } => {
                let awaited = matches!(
                    self.state_of(step),
                    Some(StepState::AwaitingApproval { approval: known, .. }) if known == approval
                );
                expect(awaited, "nobody was asked for it")
            }
            other => self.by_itself(other),
        }
    }

    /// How a step ended.
    fn ends(&self, event: &RunEvent) -> Result<(), String> {
        match event {
            RunEvent::StepSkipped {
                step,
                reason: SkipReason::DryRun,
            } => {
                refusal_text(self.may_begin(step))?;
                expect(self.is_dry_run(), "the run is no dry run")
            }
            RunEvent::StepSucceeded {
                step,
                source: ResultSource::Fresh | ResultSource::Cached,
                brings,
                ..
            } => {
                refusal_text(self.is_running(step, "completed"))?;
                let grows = self.may_grow(&brings.growth);
                grows.map_err(|refused| refused.to_string())
            }
            RunEvent::StepSucceeded {
                step,
                source: ResultSource::Reported { approval, .. },
                brings,
                ..
            } => {
                let alone = **brings == StepYield::default();
                expect(alone, "what people report adds nothing to the graph")?;
                let at = refusal_text(self.awaits(step, approval, None))?;
                let unheard = self.slots[at].unheard;
                expect(unheard, "nothing was begun that may have happened")
            }
            RunEvent::RetryScheduled { step, .. } => {
                let at = refusal_text(self.is_running(step, "tried again"))?;
                let left = self.slots[at].failures < self.graph.steps()[at].retry.retries;
                expect(left, "no retry is left")
            }
            RunEvent::StepFailed { step, .. } if self.by_itself(event).is_err() => {
                let running = self.is_running(step, "failed");
                refusal_text(running.or_else(|_| self.may_begin(step))).map(|_| ())
            }
            other => self.by_itself(other),
        }
    }
}

fn refusal_text(result: Result<usize, super::IllegalTransition>) -> Result<usize, String> {
    result.map_err(|error| error.to_string())
}

fn expect(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(otherwise.to_owned())
    }
}
