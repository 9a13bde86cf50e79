//! The state of a run, folded from its events. Folding decides nothing and has no effect.

mod view;

use charter_contract::catalogue::vocabulary::Role;
use charter_contract::ids::{RunId, StepId, UserId};
use charter_contract::time::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

use super::awaited_run::{AwaitedRun, EarlierRun};
use super::confirmation::PlanConfirmation;
use super::event::{
    DocumentPin, RunEvent, RunPrerequisites, RunStart, StepFailure, StepYield, StopCause,
    TokenUsage,
};
use super::fold_error::FoldError;
use super::requesters::Requesters;
use super::standing::{RunOutcome, StepState, Stop};
use super::steps::RunSteps;
use super::work_time::WorkTime;
use crate::graph::AfterFailure;
use crate::guardrail::RequestTags;

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    id: RunId,
    by: UserId,
    /// The owner. Like the next two fields, it is not part of the serialized state, so that digests of states do not
    /// change: all three follow from the same events.
    #[serde(skip)]
    owner: UserId,
    /// The request that the run is for.
    #[serde(skip)]
    tags: Option<RequestTags>,
    #[serde(skip)]
    requesters: Requesters,
    /// The confirmation of the plan. It follows from the journal and is not part of the state's digest.
    #[serde(skip)]
    confirmation: Option<PlanConfirmation>,
    role: Role,
    parameters: Map<String, Value>,
    pins: Vec<DocumentPin>,
    dry_run: bool,
    opening: RunPrerequisites,
    #[serde(flatten)]
    pub(super) steps: RunSteps,
    pub(super) paused: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) awaited_run: Option<AwaitedRun>,
    /// The runs that it waited for. They follow from the journal and are not part of the state's digest.
    #[serde(skip)]
    pub(super) earlier_runs: Vec<EarlierRun>,
    pub(super) stop: Option<Stop>,
    /// Tokens that models used so far.
    #[serde(skip_serializing_if = "TokenUsage::is_none")]
    tokens: TokenUsage,
    #[serde(flatten)]
    work: WorkTime,
    outcome: Option<RunOutcome>,
    /// The memory of the values in its journal. It follows from the journal and is not part of the state's digest.
    #[serde(skip)]
    memory: usize,
}

impl Run {
    /// Creates the run of a start event.
    ///
    /// # Errors
    /// [`FoldError::Start`] for any other event.
    pub fn start(event: RunEvent, at: Timestamp) -> Result<Self, FoldError> {
        let memory = event.memory();
        let RunEvent::Started(started) = event else {
            return Err(FoldError::Start);
        };
        let RunStart {
            run_id,
            by,
            owner,
            mut askers,
            role,
            graph,
            parameters,
            pins,
            dry_run,
            opening,
            tags,
        } = *started;
        askers.insert(by.clone());
        let tokens = opening.tokens;
        Ok(Self {
            id: run_id,
            owner: owner.unwrap_or_else(|| by.clone()),
            tags,
            by,
            requesters: Requesters::new(askers),
            confirmation: None,
            role,
            parameters,
            pins,
            dry_run,
            opening,
            steps: RunSteps::new(graph),
            paused: false,
            awaited_run: None,
            earlier_runs: Vec::new(),
            stop: None,
            tokens,
            work: WorkTime::start(at),
            outcome: None,
            memory,
        })
    }

    /// Folds a whole journal.
    ///
    /// # Errors
    /// [`FoldError`].
    pub fn replay(
        events: impl IntoIterator<Item = (RunEvent, Timestamp)>,
    ) -> Result<Self, FoldError> {
        let mut events = events.into_iter();
        let (first, at) = events.next().ok_or(FoldError::Start)?;
        let mut run = Self::start(first, at)?;
        events.try_for_each(|(event, at)| run.apply(event, at))?;
        Ok(run)
    }

    /// Folds one more event, which happened at `at`.
    ///
    /// # Errors
    /// [`FoldError`].
    pub fn apply(&mut self, event: RunEvent, at: Timestamp) -> Result<(), FoldError> {
        if self.outcome.is_some() {
            return Err(FoldError::Ended);
        }
        self.count_work(at);
        self.requesters.note(&event);
        if let Some(confirmation) = PlanConfirmation::of_event(&event, at) {
            self.confirmation = Some(confirmation);
        }
        self.memory = self.memory.saturating_add(event.memory());
        match event {
            RunEvent::Started(_) => return Err(FoldError::Start),
            RunEvent::ParametersGiven {
                parameters,
                missing,
                sources,
                ..
            } => {
                self.parameters = parameters;
                self.opening.give(missing, sources);
            }
            RunEvent::Confirmed { .. } => self.opening.confirm = false,
            RunEvent::StepBegun(begun) => self.steps.begin(&begun)?,
            RunEvent::StepRefused { step, failure, .. } => {
                let at = self.steps.place(&step)?;
                self.steps.slots[at].leave();
                self.failed(&step, failure)?;
            }
            RunEvent::ApprovalDenied { step, failure, .. } => self.failed(&step, failure)?,
            RunEvent::StepFailed {
                step,
                failure,
                tokens,
            } => {
                self.tokens = self.tokens.and(tokens);
                self.failed(&step, failure)?;
            }
            RunEvent::ApprovalRequested(asked) => self.steps.request_approval(*asked)?,
            RunEvent::ApprovalGranted { step, approval, by } => {
                self.steps.grant(&step, approval, by)?;
            }
            RunEvent::StepSucceeded {
                step,
                output,
                brings,
                ..
            } => self.succeeded(&step, output, *brings)?,
            RunEvent::RetryScheduled {
                step, due, tokens, ..
            } => {
                self.steps.retry(&step, due)?;
                self.tokens = self.tokens.and(tokens);
            }
            RunEvent::StepExpanded { growth, .. } => self.steps.expand(&growth)?,
            RunEvent::StepSkipped { step, reason } => self.steps.skip(&step, reason)?,
            event @ (RunEvent::Paused { .. }
            | RunEvent::Resumed { .. }
            | RunEvent::WaitingForRun { .. }
            | RunEvent::RunWaitEnded { .. }) => self.hold(event),
            RunEvent::Stopping { cause, roll_back } => self.stopping(Stop { cause, roll_back }),
            RunEvent::FallbackStarted { .. } => self.fell_back()?,
            RunEvent::Completed { missing_evidence } => {
                self.outcome = Some(RunOutcome::Completed { missing_evidence });
            }
            RunEvent::Failed { cause } => self.outcome = Some(RunOutcome::Failed { cause }),
            RunEvent::RolledBack { cause } => self.outcome = Some(RunOutcome::RolledBack { cause }),
            RunEvent::RollbackFailed { cause, left } => {
                self.outcome = Some(RunOutcome::RollbackFailed { cause, left });
            }
        }
        Ok(())
    }

    /// Begins or ends a pause, or a wait for another run.
    fn hold(&mut self, event: RunEvent) {
        match event {
            RunEvent::Paused { .. } => self.paused = true,
            RunEvent::Resumed { .. } => self.paused = false,
            RunEvent::WaitingForRun { run, calls } => {
                self.awaited_run = Some(AwaitedRun { run, calls });
            }
            RunEvent::RunWaitEnded {
                run_status,
                restarts,
                ..
            } => self.end_run_wait(run_status, restarts),
            _ => {}
        }
    }

    /// Counts the time while the run works, but not while it waits for people.
    fn count_work(&mut self, at: Timestamp) {
        if self.is_working() {
            self.work.count_until(at);
        } else {
            self.work.skip_until(at);
        }
    }

    fn succeeded(
        &mut self,
        step: &StepId,
        output: Value,
        brings: StepYield,
    ) -> Result<(), FoldError> {
        let at = self.steps.place(step)?;
        self.tokens = self.tokens.and(brings.tokens);
        // Before the step settles, because steps that get further dependencies must not start.
        if !brings.growth.is_empty() {
            self.steps.grow(&brings.growth)?;
            if let Some(stop) = &self.stop {
                self.steps.cancel_waiting(stop);
            }
        }
        self.pins.extend(brings.pins);
        self.steps.succeed(at, output);
        Ok(())
    }

    /// Stops the run if a required step failed.
    fn failed(&mut self, step: &StepId, failure: StepFailure) -> Result<(), FoldError> {
        let at = self.steps.place(step)?;
        let of = &self.steps.graph.steps()[at];
        let roll_back = match of.after_failure {
            _ if of.reverses.is_some() => None,
            AfterFailure::Abort => Some(false),
            AfterFailure::RollBack => Some(true),
            AfterFailure::Continue => None,
        };
        let stop = roll_back.map(|roll_back| Stop {
            cause: StopCause::Failure {
                step: step.clone(),
                failure: failure.clone(),
            },
            roll_back,
        });
        self.steps.settle(at, StepState::Failed { failure });
        if let Some(stop) = stop {
            self.stopping(stop);
        }
        Ok(())
    }

    /// The first cause is kept. If it is a failure, a later cause may add the rollback. The order to abort a run
    /// specifies whether its writes are reversed.
    fn stopping(&mut self, stop: Stop) {
        let stop = match self.stop.take() {
            None => stop,
            Some(earlier) => Stop {
                roll_back: earlier.roll_back || (earlier.is_failure() && stop.roll_back),
                ..earlier
            },
        };
        self.steps.cancel_waiting(self.stop.insert(stop));
        self.paused = false;
        self.awaited_run = None;
    }

    fn fell_back(&mut self) -> Result<(), FoldError> {
        self.steps.fall_back()?;
        self.stop = None;
        // The plan that was shown is over.
        if let Some(confirmation) = &mut self.confirmation {
            confirmation.approves = false;
        }
        self.requesters.forget_reports();
        Ok(())
    }
}
