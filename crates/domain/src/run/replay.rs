//! Strict replay: checks whether the machine could have written an event in a state.
//!
//! Folding accepts every well-formed event. Strict replay also checks that the machine itself could have written it, so
//! that a forged or changed journal is detected at the first inconsistent event.

use charter_contract::time::Timestamp;

use super::event::{ResultSource, RunEvent, SkipReason, StepYield, StopCause};
use super::readiness::{may_be_decided, may_begin};
use super::{FoldError, IllegalTransition, Run, StepState};
use crate::gate::GateDecision;

/// The first event of a journal that does not follow from the preceding ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {sequence} does not follow from the events before it: {detail}")]
pub struct Divergence {
    /// Its position, from 1.
    pub sequence: u64,
    /// The problem.
    pub detail: String,
}

/// Replays a journal event by event, and checks that the machine could have written each event.
#[derive(Debug)]
pub struct StrictReplay {
    run: Run,
    /// The position of the next event.
    next: u64,
}

impl StrictReplay {
    /// Starts with the first event of a journal.
    ///
    /// # Errors
    /// [`FoldError`] if it is not a start event.
    pub fn begin(event: RunEvent, at: Timestamp) -> Result<Self, FoldError> {
        let run = Run::start(event, at)?;
        Ok(Self { run, next: 2 })
    }

    /// Folds the next event. This may evaluate expressions ([`Run::asks_expressions`]).
    ///
    /// # Errors
    /// If the machine could not have written it. It is not folded.
    pub fn take(&mut self, event: RunEvent, at: Timestamp) -> Result<(), Divergence> {
        let followed = check_event(&self.run, &event, at).and_then(|()| {
            let applied = self.run.apply(event, at);
            applied.map_err(|error| error.to_string())
        });
        let sequence = self.next;
        self.next += 1;
        followed.map_err(|detail| Divergence { sequence, detail })
    }

    /// Returns the run as folded so far.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Replays a whole journal. The second part of the result is the first inconsistent event; the run is folded up to
    /// it.
    ///
    /// # Errors
    /// [`FoldError`] if the first event is not a start event.
    pub fn replay(
        events: impl IntoIterator<Item = (RunEvent, Timestamp)>,
    ) -> Result<(Run, Option<Divergence>), FoldError> {
        let mut events = events.into_iter();
        let (first, at) = events.next().ok_or(FoldError::Start)?;
        let mut replay = Self::begin(first, at)?;
        let divergence = events.find_map(|(event, at)| replay.take(event, at).err());
        Ok((replay.run, divergence))
    }
}

/// Checks whether the machine could write an event at `now`.
///
/// # Errors
/// The reason why not, as text.
pub(super) fn check_event(run: &Run, event: &RunEvent, now: Timestamp) -> Result<(), String> {
    if run.outcome().is_some() {
        return Err(FoldError::Ended.to_string());
    }
    match event {
        RunEvent::Started(_) => Err(FoldError::Start.to_string()),
        RunEvent::ParametersGiven { .. } => expect(
            !run.opening().is_met() && run.stop.is_none(),
            "the plan is already fixed",
        ),
        RunEvent::Confirmed { digest, .. } => {
            let opening = run.opening();
            expect(
                opening.confirm && opening.missing.is_empty(),
                "the run does not wait for a confirmation",
            )?;
            expect(*digest == run.plan_digest(), "another plan was confirmed")
        }
        RunEvent::Paused { .. } => expect(!run.paused && run.stop.is_none(), "it cannot be paused"),
        RunEvent::Resumed { .. } => expect(run.paused, "it is not paused"),
        RunEvent::WaitingForRun { run: other, calls } => {
            let checked = run.check_await(other, calls);
            checked.map_err(|refused| refused.to_string())
        }
        RunEvent::RunWaitEnded {
            run: other,
            restarts,
            ..
        } => {
            let awaited = run.awaited_run();
            let is_awaited = awaited.is_some_and(|awaited| awaited.run == *other);
            expect(is_awaited, "it does not wait for this run")?;
            let follows = *restarts == run.starts_again();
            expect(
                follows,
                "whether its steps start again does not follow from their states",
            )
        }
        RunEvent::Stopping {
            cause: StopCause::TokenBudgetExhausted | StopCause::Failure { .. },
            ..
        } => check_automatic(run, event),
        RunEvent::Stopping { .. } => expect(run.stop.is_none(), "it is already stopping"),
        RunEvent::FallbackStarted { .. }
        | RunEvent::StepExpanded { .. }
        | RunEvent::Completed { .. }
        | RunEvent::Failed { .. }
        | RunEvent::RolledBack { .. }
        | RunEvent::RollbackFailed { .. } => check_automatic(run, event),
        RunEvent::StepBegun(_)
        | RunEvent::StepRefused { .. }
        | RunEvent::ApprovalRequested(_)
        | RunEvent::ApprovalGranted { .. }
        | RunEvent::ApprovalDenied { .. } => check_beginning(run, event, now),
        RunEvent::StepSucceeded { .. }
        | RunEvent::StepFailed { .. }
        | RunEvent::RetryScheduled { .. }
        | RunEvent::StepSkipped { .. } => check_end(run, event),
    }
}

/// Checks whether the machine writes the event next, without a command.
fn check_automatic(run: &Run, event: &RunEvent) -> Result<(), String> {
    let follows = run.advance().first() == Some(event);
    expect(follows, "it is not the next automatic transition")
}

/// Checks the decisions of the gate and of people before a step begins.
fn check_beginning(run: &Run, event: &RunEvent, now: Timestamp) -> Result<(), String> {
    match event {
        RunEvent::StepBegun(begun) => {
            let at = refusal_text(may_begin(run, &begun.step))?;
            let next = run.steps.slots[at].attempts + 1;
            expect(
                begun.attempt == next,
                "an attempt is missing or counted twice",
            )?;
            let key = run.idempotency_key(&begun.step);
            expect(
                begun.idempotency_key == key,
                "its idempotency key belongs to another effect",
            )?;
            let allowed = matches!(begun.policy_decision, GateDecision::Allow { .. });
            expect(allowed, "the gate did not allow it")?;
            let grant = run.steps.slots[at].grant.as_ref();
            let is_live =
                |end: Timestamp| now < end && grant.is_some_and(|grant| grant.expires_at == end);
            let in_time = begun.approval_expires_at.is_none_or(is_live);
            expect(in_time, "its approval had expired")
        }
        RunEvent::StepRefused {
            step,
            policy_decision,
            ..
        } => {
            refusal_text(may_be_decided(run, step))?;
            let denied = matches!(policy_decision, GateDecision::Deny { .. });
            expect(denied, "the gate did not deny it")
        }
        RunEvent::ApprovalRequested(asked) => {
            refusal_text(may_be_decided(run, &asked.step))?;
            let digest = asked.call.digest();
            expect(asked.digest == digest, "its digest belongs to another call")?;
            let asks = matches!(asked.policy_decision, GateDecision::NeedsApproval { .. });
            expect(asks, "the gate did not require an approval")
        }
        RunEvent::ApprovalGranted { step, approval, .. }
        | RunEvent::ApprovalDenied { step, approval, .. } => {
            let awaited = matches!(
                run.steps.state_of(step),
                Some(StepState::AwaitingApproval { approval: known, .. }) if known == approval
            );
            expect(awaited, "no approval was requested")
        }
        other => check_automatic(run, other),
    }
}

/// Checks how a step ended.
fn check_end(run: &Run, event: &RunEvent) -> Result<(), String> {
    match event {
        RunEvent::StepSkipped {
            step,
            reason: SkipReason::DryRun,
        } => {
            refusal_text(may_begin(run, step))?;
            expect(run.is_dry_run(), "the run is not a dry run")
        }
        RunEvent::StepSkipped {
            step,
            reason: SkipReason::Excluded { approval, .. },
        } => refusal_text(run.steps.awaiting(step, approval, None)).map(|_| ()),
        RunEvent::StepSucceeded {
            step,
            source: ResultSource::Fresh | ResultSource::Cached,
            brings,
            ..
        } => {
            refusal_text(run.steps.running(step, "completed"))?;
            let grows = run.steps.may_grow(&brings.growth);
            grows.map_err(|refused| refused.to_string())
        }
        RunEvent::StepSucceeded {
            step,
            source: ResultSource::Reported { approval, .. },
            brings,
            ..
        } => {
            let alone = **brings == StepYield::default();
            expect(alone, "a reported result cannot add steps")?;
            let at = refusal_text(run.steps.awaiting(step, approval, None))?;
            let unheard = run.steps.slots[at].unheard;
            expect(unheard, "no started attempt has an unknown outcome")
        }
        RunEvent::RetryScheduled { step, .. } => {
            let at = refusal_text(run.steps.running(step, "retried"))?;
            let left = run.steps.slots[at].failures < run.graph().steps()[at].retry.retries;
            expect(left, "no retries are left")
        }
        RunEvent::StepFailed { step, .. } if check_automatic(run, event).is_err() => {
            let running = run.steps.running(step, "failed");
            refusal_text(running.or_else(|_| may_begin(run, step))).map(|_| ())
        }
        other => check_automatic(run, other),
    }
}

fn refusal_text(result: Result<usize, IllegalTransition>) -> Result<usize, String> {
    result.map_err(|error| error.to_string())
}

fn expect(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(otherwise.to_owned())
    }
}
