//! The state of a run, folded from its events. Folding decides nothing and has no effect; what may
//! happen next is read from the state without reading every step.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::catalogue::vocabulary::Role;
use charter_contract::ids::{ApprovalId, RunId, StepId, ToolId, UserId};
use charter_contract::time::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::event::{ApprovalAsked, Begun, Opening, Pin, RunEvent, Started, StepFailure, StopCause};
use super::standing::{Grant, Outcome, Slot, StepState, Stop};
use crate::approval::Digest;
use crate::graph::{AfterFailure, On, Step, StepGraph, sources};
use crate::reference::Bindings;

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    id: RunId,
    by: UserId,
    role: Role,
    pub(super) graph: StepGraph,
    parameters: Map<String, Value>,
    pins: Vec<Pin>,
    dry_run: bool,
    opening: Opening,
    pub(super) slots: Vec<Slot>,
    /// Steps on the way forward whose sources have all settled and that nothing was decided on.
    pub(super) ready: BTreeSet<usize>,
    /// Steps that have begun, wait for a person or for another attempt.
    pub(super) live: BTreeSet<usize>,
    outputs: BTreeMap<StepId, Value>,
    /// Writes that succeeded, in the order in which they did.
    pub(super) written: Vec<usize>,
    pub(super) paused: bool,
    pub(super) stop: Option<Stop>,
    /// How many times a fallback took over.
    fallbacks: u32,
    worked_us: u64,
    last_at: Timestamp,
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
    /// An event that takes up a fallback where there is none.
    #[error("the journal falls back, and there is nothing to fall back to")]
    NoFallback,
    /// An event after the last.
    #[error("the journal goes on after its end")]
    Ended,
}

impl Run {
    /// The run that a start event begins.
    ///
    /// # Errors
    /// [`FoldError::Start`] for any other event.
    pub fn start(event: RunEvent, at: Timestamp) -> Result<Self, FoldError> {
        let RunEvent::Started(started) = event else {
            return Err(FoldError::Start);
        };
        let Started {
            run_id,
            by,
            role,
            graph,
            parameters,
            pins,
            dry_run,
            opening,
        } = *started;
        let mut run = Self {
            id: run_id,
            by,
            role,
            graph,
            parameters,
            pins,
            dry_run,
            opening,
            slots: Vec::new(),
            ready: BTreeSet::new(),
            live: BTreeSet::new(),
            outputs: BTreeMap::new(),
            written: Vec::new(),
            paused: false,
            stop: None,
            fallbacks: 0,
            worked_us: 0,
            last_at: at,
            outcome: None,
        };
        run.lay_out();
        Ok(run)
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

    /// Puts every step of the graph at its beginning.
    fn lay_out(&mut self) {
        let steps = self.graph.steps();
        self.slots = steps
            .iter()
            .map(|step| Slot {
                state: StepState::Pending,
                attempts: 0,
                failures: 0,
                grant: None,
                waits_for: sources(step).len(),
            })
            .collect();
        let first = |(at, slot): (usize, &Slot)| {
            (slot.waits_for == 0 && steps[at].reverses.is_none()).then_some(at)
        };
        self.ready = self.slots.iter().enumerate().filter_map(first).collect();
        self.live.clear();
    }

    /// Folds one more event that happened at `at`.
    ///
    /// # Errors
    /// [`FoldError`].
    pub fn apply(&mut self, event: RunEvent, at: Timestamp) -> Result<(), FoldError> {
        if self.outcome.is_some() {
            return Err(FoldError::Ended);
        }
        self.count_work(at);
        match event {
            RunEvent::Started(_) => return Err(FoldError::Start),
            RunEvent::ParametersGiven {
                parameters,
                missing,
            } => {
                self.parameters = parameters;
                self.opening.missing = missing;
            }
            RunEvent::Confirmed { .. } => self.opening.confirm = false,
            RunEvent::StepBegun(begun) => self.begun(&begun)?,
            RunEvent::StepRefused { step, failure, .. }
            | RunEvent::ApprovalDenied { step, failure, .. }
            | RunEvent::StepFailed { step, failure } => self.failed(&step, failure)?,
            RunEvent::ApprovalRequested(asked) => self.asked(*asked)?,
            RunEvent::ApprovalGranted { step, approval, by } => {
                self.granted(&step, approval, by)?;
            }
            RunEvent::StepSucceeded { step, output, .. } => self.succeeded(step, output)?,
            RunEvent::RetryScheduled { step, due, .. } => {
                let at = self.place(&step)?;
                self.slots[at].failures += 1;
                self.slots[at].state = StepState::Retrying { due };
            }
            RunEvent::StepSkipped { step, reason } => {
                let at = self.place(&step)?;
                self.settle(at, StepState::Skipped { reason });
            }
            RunEvent::Paused { .. } => self.paused = true,
            RunEvent::Resumed { .. } => self.paused = false,
            RunEvent::Stopping { cause, roll_back } => self.stopping(Stop { cause, roll_back }),
            RunEvent::FellBack { .. } => self.fell_back()?,
            RunEvent::Completed { missing_evidence } => {
                self.outcome = Some(Outcome::Completed { missing_evidence });
            }
            RunEvent::Failed { cause } => self.outcome = Some(Outcome::Failed { cause }),
            RunEvent::RolledBack { cause } => self.outcome = Some(Outcome::RolledBack { cause }),
            RunEvent::RollbackFailed { cause, left } => {
                self.outcome = Some(Outcome::RollbackFailed { cause, left });
            }
        }
        Ok(())
    }

    /// Time counts while the run works, not while it waits for people.
    fn count_work(&mut self, at: Timestamp) {
        if self.is_working() {
            let passed = at.as_micros().saturating_sub(self.last_at.as_micros());
            self.worked_us += u64::try_from(passed).unwrap_or(0);
        }
        self.last_at = at;
    }

    fn begun(&mut self, begun: &Begun) -> Result<(), FoldError> {
        let at = self.place(&begun.step)?;
        let slot = &mut self.slots[at];
        slot.attempts = begun.attempt;
        slot.state = StepState::Running {
            attempt: begun.attempt,
        };
        if let Some(grant) = &mut slot.grant {
            grant.used = true;
        }
        self.ready.remove(&at);
        self.live.insert(at);
        Ok(())
    }

    fn asked(&mut self, asked: ApprovalAsked) -> Result<(), FoldError> {
        let at = self.place(&asked.step)?;
        self.slots[at].state = StepState::AwaitingApproval {
            approval: asked.approval,
            digest: asked.digest,
            expires_at: asked.expires_at,
        };
        self.ready.remove(&at);
        self.live.insert(at);
        Ok(())
    }

    fn granted(
        &mut self,
        step: &StepId,
        approval: ApprovalId,
        by: UserId,
    ) -> Result<(), FoldError> {
        let at = self.place(step)?;
        let slot = &mut self.slots[at];
        if let StepState::AwaitingApproval { digest, .. } = &slot.state {
            slot.grant = Some(Grant {
                approval,
                by,
                digest: digest.clone(),
                used: false,
            });
        }
        slot.state = StepState::Pending;
        self.live.remove(&at);
        self.ready.insert(at);
        Ok(())
    }

    fn succeeded(&mut self, step: StepId, output: Value) -> Result<(), FoldError> {
        let at = self.place(&step)?;
        if self.graph.steps()[at].writes() && self.graph.steps()[at].reverses.is_none() {
            self.written.push(at);
        }
        self.outputs.insert(step, output);
        self.settle(at, StepState::Succeeded);
        Ok(())
    }

    /// A failure that the run cannot do without stops it.
    fn failed(&mut self, step: &StepId, failure: StepFailure) -> Result<(), FoldError> {
        let at = self.place(step)?;
        let of = &self.graph.steps()[at];
        let roll_back = match of.after_failure {
            _ if of.reverses.is_some() => None,
            AfterFailure::Abort => Some(false),
            AfterFailure::RollBack => Some(true),
            AfterFailure::GoOn => None,
        };
        let stop = roll_back.map(|roll_back| Stop {
            cause: StopCause::Failure {
                step: step.clone(),
                failure: failure.clone(),
            },
            roll_back,
        });
        self.settle(at, StepState::Failed { failure });
        if let Some(stop) = stop {
            self.stopping(stop);
        }
        Ok(())
    }

    /// Cancels what has not started, but for steps that a failure calls for. The first cause stays;
    /// a later one can only add the rollback.
    fn stopping(&mut self, stop: Stop) {
        match &mut self.stop {
            Some(earlier) => earlier.roll_back |= stop.roll_back,
            none => *none = Some(stop),
        }
        let failure_only = matches!(
            self.stop.as_ref().map(|stop| &stop.cause),
            Some(StopCause::Failure { .. })
        );
        for at in 0..self.slots.len() {
            let step = &self.graph.steps()[at];
            let handles = step.entry.edges.iter().any(|edge| edge.on == On::Failure);
            let waiting = match self.slots[at].state {
                StepState::Pending | StepState::AwaitingApproval { .. } => true,
                StepState::Retrying { .. } => !failure_only,
                _ => false,
            };
            if waiting && step.reverses.is_none() && !(handles && failure_only) {
                self.settle(at, StepState::Cancelled);
            }
        }
        self.paused = false;
    }

    fn fell_back(&mut self) -> Result<(), FoldError> {
        let fallback = self.graph.fallback().ok_or(FoldError::NoFallback)?;
        self.graph = fallback.clone();
        self.fallbacks += 1;
        self.stop = None;
        self.written.clear();
        self.outputs.clear();
        self.lay_out();
        Ok(())
    }

    /// A step has its end; who waited for it waits for one less.
    fn settle(&mut self, at: usize, state: StepState) {
        let slot = &mut self.slots[at];
        if slot.state.is_settled() {
            return;
        }
        slot.state = state;
        self.ready.remove(&at);
        self.live.remove(&at);
        for follower in self.graph.followers(at) {
            let slot = &mut self.slots[*follower];
            slot.waits_for -= 1;
            if slot.waits_for == 0 && slot.state == StepState::Pending {
                self.ready.insert(*follower);
            }
        }
    }

    pub(super) fn place(&self, step: &StepId) -> Result<usize, FoldError> {
        let found = self.graph.place(step);
        found.ok_or_else(|| FoldError::UnknownStep(step.clone()))
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// On whose behalf it acts.
    #[must_use]
    pub fn by(&self) -> &UserId {
        &self.by
    }

    /// What whom it acts for may do.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// Who agreed to exactly this call of a step.
    #[must_use]
    pub fn approver(&self, step: &StepId, digest: &Digest) -> Option<&UserId> {
        let grant = self.slots[self.graph.place(step)?].grant.as_ref()?;
        (grant.digest == *digest).then_some(&grant.by)
    }

    /// How many of its steps' calls people have agreed to.
    #[must_use]
    pub fn approvals(&self) -> usize {
        self.slots
            .iter()
            .filter(|slot| slot.grant.is_some())
            .count()
    }

    /// How often it has begun a call of each tool.
    #[must_use]
    pub fn calls(&self) -> BTreeMap<ToolId, u64> {
        let mut calls = BTreeMap::new();
        for (step, slot) in self.graph.steps().iter().zip(&self.slots) {
            if let Some(tool) = step.tool().filter(|_| slot.attempts > 0) {
                *calls.entry(tool.clone()).or_default() += u64::from(slot.attempts);
            }
        }
        calls
    }

    /// What it executes now: the plan, or the fallback that took its place.
    #[must_use]
    pub fn graph(&self) -> &StepGraph {
        &self.graph
    }

    /// The versions it executes.
    #[must_use]
    pub fn pins(&self) -> &[Pin] {
        &self.pins
    }

    /// Values of the declared parameters.
    #[must_use]
    pub fn parameters(&self) -> &Map<String, Value> {
        &self.parameters
    }

    /// Whether nothing is to be changed.
    #[must_use]
    pub fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// What it needs before its first step.
    #[must_use]
    pub fn opening(&self) -> &Opening {
        &self.opening
    }

    /// How it ended, once it has.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// Where it stands, in one word.
    #[must_use]
    pub fn status(&self) -> &'static str {
        if let Some(outcome) = &self.outcome {
            return outcome.word();
        }
        let awaits =
            |at: &usize| matches!(self.slots[*at].state, StepState::AwaitingApproval { .. });
        match &self.stop {
            Some(stop) if stop.roll_back => "rolling_back",
            Some(_) => "stopping",
            None if !self.opening.missing.is_empty() => "awaiting_parameters",
            None if self.opening.confirm => "awaiting_confirmation",
            None if self.paused => "paused",
            None if self.live.iter().any(awaits) => "awaiting_approval",
            None => "working",
        }
    }

    /// Whether somebody paused it.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Outputs of the steps that succeeded.
    #[must_use]
    pub fn outputs(&self) -> &BTreeMap<StepId, Value> {
        &self.outputs
    }

    /// Steps whose writes succeeded, in the order in which they did.
    pub fn written(&self) -> impl DoubleEndedIterator<Item = &Step> {
        let steps = self.graph.steps();
        self.written.iter().map(|at| &steps[*at])
    }

    /// Whether a step's write was reversed.
    #[must_use]
    pub fn is_reversed(&self, step: &StepId) -> bool {
        let reversal = self
            .graph
            .place(step)
            .and_then(|at| self.graph.reversal_of(at));
        reversal.is_some_and(|at| self.slots[at].state == StepState::Succeeded)
    }

    /// The step that reverses another.
    #[must_use]
    pub fn reversal_of(&self, step: &StepId) -> Option<&Step> {
        let reversal = self
            .graph
            .place(step)
            .and_then(|at| self.graph.reversal_of(at));
        reversal.map(|at| &self.graph.steps()[at])
    }

    /// What references in this run's parameters may point at.
    #[must_use]
    pub fn bindings(&self) -> Bindings<'_> {
        Bindings {
            parameters: &self.parameters,
            outputs: &self.outputs,
        }
    }

    /// Where every step stands, in listed order.
    pub fn steps(&self) -> impl Iterator<Item = (&StepId, &StepState)> {
        let steps = self.graph.steps().iter().zip(&self.slots);
        steps.map(|(step, slot)| (&step.id, &slot.state))
    }

    /// Where one step stands.
    #[must_use]
    pub fn state_of(&self, step: &StepId) -> Option<&StepState> {
        self.graph.place(step).map(|at| &self.slots[at].state)
    }

    /// What an agreement to run it is bound to: the plan, its versions and its parameters.
    #[must_use]
    pub fn plan_digest(&self) -> Digest {
        Digest::of(&json!({
            "run_id": self.id, "graph": self.graph, "pins": self.pins,
            "parameters": self.parameters, "dry_run": self.dry_run,
        }))
    }

    /// The digest of the whole state: two runs that stand at the same point have the same.
    #[must_use]
    pub fn state_digest(&self) -> Digest {
        Digest::of(&json!(self))
    }

    /// The key that makes repeats of a step's effect harmless, the same for every attempt.
    #[must_use]
    pub fn idempotency_key(&self, step: &StepId) -> String {
        match self.fallbacks {
            0 => format!("{}/{step}", self.id),
            taken => format!("{}/fallback-{taken}/{step}", self.id),
        }
    }

    /// When its time limit is over if it goes on working from `now` on; `None` without a limit or
    /// while it waits for people.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        let limit = self.graph.timeout_ms();
        if limit == 0 || self.stop.is_some() || !self.is_working() {
            return None;
        }
        let left = limit.saturating_mul(1_000).saturating_sub(self.worked_us);
        let last = self.last_at.as_micros();
        let left = i64::try_from(left).unwrap_or(i64::MAX);
        Timestamp::from_micros(last.saturating_add(left)).ok()
    }

    /// Whether it has what it needs before its first step.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.opening.confirm && self.opening.missing.is_empty()
    }

    /// Whether something other than a person is awaited.
    fn is_working(&self) -> bool {
        let is_busy = |at: &usize| {
            matches!(
                self.slots[*at].state,
                StepState::Running { .. } | StepState::Retrying { .. }
            )
        };
        self.is_open()
            && (self.live.iter().any(is_busy) || (!self.paused && !self.ready.is_empty()))
    }
}
