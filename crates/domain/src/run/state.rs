//! The state of a run, folded from its events. Folding decides nothing and has no effect; what may
//! happen next is read from the state without reading every step.

mod view;

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::catalogue::vocabulary::Role;
use charter_contract::ids::{ApprovalId, Label, RunId, StepId, ToolId, UserId};
use charter_contract::time::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

use super::event::{
    ApprovalRequest, DocumentPin, EffectStart, RunEvent, RunPrerequisites, RunStart, StepFailure,
    StepYield, StopCause, TokenUsage,
};
use super::standing::{Grant, RunOutcome, Slot, StepState, Stop};
use crate::graph::{AfterFailure, EdgeCondition, GraphAdditions, GraphError, StepGraph, sources};
use crate::guardrail::RequestTags;
use crate::parameters::ValueSource;

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    id: RunId,
    by: UserId,
    /// Whose it is. Like the three fields after it no part of the serialised state, so that digests of states do
    /// not change: they follow from the same events.
    #[serde(skip)]
    owner: UserId,
    /// The request that it is for.
    #[serde(skip)]
    tags: Option<RequestTags>,
    /// The users who asked for it, with the makers of their keys.
    #[serde(skip)]
    pub(super) requesters: BTreeSet<UserId>,
    /// Who reported results, by the step, with the makers of their keys.
    #[serde(skip)]
    pub(super) reported: BTreeMap<StepId, BTreeSet<UserId>>,
    role: Role,
    pub(super) graph: StepGraph,
    parameters: Map<String, Value>,
    pins: Vec<DocumentPin>,
    dry_run: bool,
    opening: RunPrerequisites,
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
    /// Tokens that models used for it so far.
    #[serde(skip_serializing_if = "TokenUsage::is_none")]
    tokens: TokenUsage,
    /// What was called and agreed to before it did: policies look at the whole run.
    earlier_calls: BTreeMap<ToolId, u64>,
    earlier_approvals: usize,
    worked_us: u64,
    last_at: Timestamp,
    outcome: Option<RunOutcome>,
    /// Memory of the values in its journal. Follows from the journal: it is no part of the digest of the state.
    #[serde(skip)]
    memory: usize,
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
    /// A result that adds what does not fit.
    #[error("the journal adds steps that do not fit: {0}")]
    GraphAdditions(GraphError),
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
        let mut run = Self {
            id: run_id,
            owner: owner.unwrap_or_else(|| by.clone()),
            tags,
            by,
            requesters: askers,
            reported: BTreeMap::new(),
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
            tokens,
            earlier_calls: BTreeMap::new(),
            earlier_approvals: 0,
            worked_us: 0,
            last_at: at,
            outcome: None,
            memory,
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
            .map(|step| Slot::before_start(sources(step).len()))
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
        self.note_askers(&event);
        self.memory = self.memory.saturating_add(event.memory());
        match event {
            RunEvent::Started(_) => return Err(FoldError::Start),
            RunEvent::ParametersGiven {
                parameters,
                missing,
                sources,
                ..
            } => self.given(parameters, missing, sources),
            RunEvent::Confirmed { .. } => self.opening.confirm = false,
            RunEvent::StepBegun(begun) => self.begun(&begun)?,
            RunEvent::StepRefused { step, failure, .. } => {
                let at = self.place(&step)?;
                self.leave(at);
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
            RunEvent::ApprovalRequested(asked) => self.asked(*asked)?,
            RunEvent::ApprovalGranted { step, approval, by } => {
                self.granted(&step, approval, by)?;
            }
            RunEvent::StepSucceeded {
                step,
                output,
                brings,
                ..
            } => self.succeeded(step, output, *brings)?,
            RunEvent::RetryScheduled {
                step, due, tokens, ..
            } => {
                let at = self.place(&step)?;
                self.tokens = self.tokens.and(tokens);
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

    fn given(
        &mut self,
        parameters: Map<String, Value>,
        missing: Vec<Label>,
        sources: BTreeMap<String, ValueSource>,
    ) {
        self.parameters = parameters;
        let is_missing = |name: &String| missing.iter().any(|one| one.as_str() == name);
        self.opening.unclear.retain(|name, _| is_missing(name));
        self.opening.missing = missing;
        if !sources.is_empty() {
            self.opening.sources = sources;
        }
    }

    /// Time counts while the run works, not while it waits for people.
    fn count_work(&mut self, at: Timestamp) {
        if self.is_working() {
            let passed = at.as_micros().saturating_sub(self.last_at.as_micros());
            self.worked_us += u64::try_from(passed).unwrap_or(0);
        }
        self.last_at = at;
    }

    fn begun(&mut self, begun: &EffectStart) -> Result<(), FoldError> {
        let at = self.place(&begun.step)?;
        let slot = &mut self.slots[at];
        slot.attempts = begun.attempt;
        slot.unheard = false;
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

    fn asked(&mut self, asked: ApprovalRequest) -> Result<(), FoldError> {
        let at = self.place(&asked.step)?;
        self.leave(at);
        self.slots[at].state = StepState::AwaitingApproval {
            approval: asked.approval,
            digest: asked.digest,
            expires_at: asked.expires_at,
        };
        self.ready.remove(&at);
        self.live.insert(at);
        Ok(())
    }

    /// An attempt that was interrupted is not begun again at once: its end stays unheard of.
    fn leave(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        slot.unheard |= matches!(slot.state, StepState::Running { .. });
    }

    fn granted(
        &mut self,
        step: &StepId,
        approval: ApprovalId,
        by: UserId,
    ) -> Result<(), FoldError> {
        let at = self.place(step)?;
        let slot = &mut self.slots[at];
        if let StepState::AwaitingApproval {
            digest, expires_at, ..
        } = &slot.state
        {
            slot.grant = Some(Grant {
                approval,
                by,
                digest: digest.clone(),
                expires_at: *expires_at,
                used: false,
            });
        }
        slot.state = StepState::Pending;
        self.live.remove(&at);
        self.ready.insert(at);
        Ok(())
    }

    fn succeeded(
        &mut self,
        step: StepId,
        output: Value,
        brings: StepYield,
    ) -> Result<(), FoldError> {
        let at = self.place(&step)?;
        self.tokens = self.tokens.and(brings.tokens);
        // Before the step settles: what is to wait for more must not start.
        self.grow(&brings.growth)?;
        self.pins.extend(brings.pins);
        if self.graph.steps()[at].writes() && self.graph.steps()[at].reverses.is_none() {
            self.written.push(at);
        }
        // Also of one whose end was not heard of until a person told it.
        self.slots[at].unheard = false;
        self.outputs.insert(step, output);
        self.settle(at, StepState::Succeeded);
        Ok(())
    }

    fn grow(&mut self, growth: &GraphAdditions) -> Result<(), FoldError> {
        if growth.is_empty() {
            return Ok(());
        }
        let first = self.graph.grow(growth).map_err(FoldError::GraphAdditions)?;
        for at in first..self.graph.steps().len() {
            self.slots.push(Slot::before_start(0));
            let waits_for = self.unsettled_sources(at);
            self.slots[at].waits_for = waits_for;
            if waits_for == 0 {
                self.ready.insert(at);
            }
        }
        for claim in &growth.claims {
            let at = self.place(&claim.step)?;
            self.slots[at].waits_for = self.unsettled_sources(at);
        }
        self.cancel_if_stopping();
        Ok(())
    }

    /// How many distinct sources of a step have not settled.
    fn unsettled_sources(&self, at: usize) -> usize {
        let sources = sources(&self.graph.steps()[at]);
        let open = sources.into_iter().filter(|id| {
            let slot = self.graph.place(id).map(|at| &self.slots[at]);
            slot.is_some_and(|slot| !slot.state.is_settled())
        });
        open.count()
    }

    /// A failure that the run cannot do without stops it.
    fn failed(&mut self, step: &StepId, failure: StepFailure) -> Result<(), FoldError> {
        let at = self.place(step)?;
        let of = &self.graph.steps()[at];
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
        self.settle(at, StepState::Failed { failure });
        if let Some(stop) = stop {
            self.stopping(stop);
        }
        Ok(())
    }

    /// The first cause stays. Where it is a failure, a later one may add the rollback; whoever aborted a
    /// run has said whether its writes are reversed.
    fn stopping(&mut self, stop: Stop) {
        let stop = match self.stop.take() {
            None => stop,
            Some(earlier) => Stop {
                roll_back: earlier.roll_back || (earlier.is_failure() && stop.roll_back),
                ..earlier
            },
        };
        self.stop = Some(stop);
        self.cancel_if_stopping();
        self.paused = false;
    }

    /// Of a run that stops, cancels what has not started, but for steps that a failure calls for: also what
    /// a result adds that comes only then.
    fn cancel_if_stopping(&mut self) {
        let Some(failure_only) = self.stop.as_ref().map(Stop::is_failure) else {
            return;
        };
        for at in 0..self.slots.len() {
            let step = &self.graph.steps()[at];
            let handles = step
                .entry
                .edges
                .iter()
                .any(|edge| edge.on == EdgeCondition::Failure);
            let waiting = match self.slots[at].state {
                StepState::Pending | StepState::AwaitingApproval { .. } => true,
                StepState::Retrying { .. } => !failure_only,
                _ => false,
            };
            if waiting && step.reverses.is_none() && !(handles && failure_only) {
                self.settle(at, StepState::Cancelled);
            }
        }
    }

    fn fell_back(&mut self) -> Result<(), FoldError> {
        let fallback = self.graph.fallback().ok_or(FoldError::NoFallback)?;
        let fallback = fallback.clone();
        (self.earlier_calls, self.earlier_approvals) = (self.calls(), self.approvals());
        self.graph = fallback;
        self.fallbacks += 1;
        self.stop = None;
        self.written.clear();
        self.outputs.clear();
        self.reported.clear();
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
}
