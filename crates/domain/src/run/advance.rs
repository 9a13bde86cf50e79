//! What follows from a run's state alone: steps that are skipped, choices, the end; and what a
//! worker does next.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::bounds::{JSON_MEMORY, RUN_MEMORY};
use charter_contract::filling::FillBudget;
use charter_contract::ids::StepId;
use charter_contract::time::Timestamp;
use serde_json::{Value, json};

use super::event::{
    ErrorKind, ResultSource, RunEvent, SkipReason, StepFailure, StopCause, TokenUsage,
};
use super::standing::{StepState, Stop};
use super::{IllegalTransition, Run};
use crate::expression::{Budget, Condition, ExpressionError, Fact, Facts, Numbers};
use crate::graph::{Edge, EdgeCondition, Join, Step, StepAction};
use crate::reference::{ReferenceError, resolve};

/// Field of a choice's output that names the step it chose.
const CHOSEN: &str = "chosen";

/// The output of a step without one, in expressions.
static NO_OUTPUT: Value = Value::Null;

/// What a worker does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Start these steps, in this order, at the same time. One that is running already was
    /// interrupted and is started again, unless it is [not repeated](Run::not_repeated).
    Start(Vec<StepId>),
    /// Wait for a step that is under way, for a person, or until a moment.
    Wait {
        /// When something is due even if nothing happens before.
        until: Option<Timestamp>,
    },
    /// The run is over.
    Ended,
}

/// What becomes of a step whose sources have settled.
enum StepReadiness {
    /// A worker starts it.
    Start,
    /// It is decided here and now.
    Event(Box<RunEvent>),
}

impl Run {
    /// What follows without anybody doing anything; empty when nothing does. Ask again after
    /// applying it.
    #[must_use]
    pub fn advance(&self) -> Vec<RunEvent> {
        if self.outcome().is_some() || self.paused {
            return Vec::new();
        }
        if self.is_open() || self.stop.is_some() {
            // The expressions of all steps that are ready share a budget: they are asked again after each event.
            let budget = &mut Budget::default();
            // A choice may skip what another event would start: one at a time.
            let decided = self
                .ready
                .iter()
                .find_map(|at| match self.fate(*at, budget) {
                    StepReadiness::Event(event) => Some(*event),
                    StepReadiness::Start => None,
                });
            if let Some(event) = decided {
                return vec![event];
            }
            if self.is_out_of_tokens() {
                return vec![RunEvent::Stopping {
                    cause: StopCause::TokenBudgetExhausted,
                    roll_back: false,
                }];
            }
            if self.ready.is_empty() && self.live.is_empty() && self.next_reversal().is_none() {
                return vec![self.conclusion()];
            }
        }
        Vec::new()
    }

    /// Whether [`Run::advance`] asks expressions, which may take long: those of steps that are ready.
    #[must_use]
    pub fn asks_expressions(&self) -> bool {
        let steps = self.graph.steps();
        self.ready.iter().any(|at| {
            let step = &steps[*at];
            step.entry.when.is_some() || matches!(step.action, StepAction::Choose { .. })
        })
    }

    /// Whether a step would begin that uses tokens, and none are left. What has begun goes on to its
    /// end, and what was produced stays (B002-17).
    fn is_out_of_tokens(&self) -> bool {
        let budget = self.graph.token_budget();
        let used_up = budget > 0 && self.tokens().total() >= budget;
        let steps = self.graph.steps();
        used_up && self.stop.is_none() && self.ready.iter().any(|at| steps[*at].spends)
    }

    fn fate(&self, at: usize, budget: &mut Budget) -> StepReadiness {
        let event = |event| StepReadiness::Event(Box::new(event));
        let step = &self.graph.steps()[at];
        // Waits for nothing any more, and was agreed to: it starts whatever its expression says.
        if self.slots[at].grant.is_some() {
            return StepReadiness::Start;
        }
        if let Some(step_id) = self.unmet(step) {
            let reason = SkipReason::Source { step: step_id };
            return event(skipped(step, reason));
        }
        let when = step.entry.when.as_deref();
        match when.map(|when| self.holds(when, budget)) {
            None | Some(Ok(true)) => {}
            Some(Ok(false)) => return event(skipped(step, SkipReason::Condition)),
            Some(Err(error)) => return event(unanswered(step, &error)),
        }
        match &step.action {
            StepAction::Call { .. } => StepReadiness::Start,
            StepAction::Conclude { output } => {
                let left = RUN_MEMORY.saturating_sub(self.memory());
                let mut filling = FillBudget::with_limit(left.min(JSON_MEMORY));
                event(match resolve(output, self.bindings(), &mut filling) {
                    Ok(output) => decided(step, output),
                    Err(error) => unresolved(step, &error),
                })
            }
            StepAction::Choose {
                branches,
                otherwise,
            } => {
                for branch in branches {
                    match self.holds(&branch.when, budget) {
                        Ok(true) => return event(chosen(step, &branch.next)),
                        Ok(false) => {}
                        Err(error) => return event(unanswered(step, &error)),
                    }
                }
                event(chosen(step, otherwise))
            }
        }
    }

    /// The first source that did not become what the step claims; `None` when the step may start.
    fn unmet(&self, step: &Step) -> Option<StepId> {
        let edges = &step.entry.edges;
        let unmet = edges.iter().find(|edge| !self.is_met(step, edge));
        let blocks = match step.entry.join {
            Join::All => unmet.is_some(),
            Join::Any => !edges.is_empty() && !edges.iter().any(|edge| self.is_met(step, edge)),
        };
        unmet.filter(|_| blocks).map(|edge| edge.from.clone())
    }

    fn is_met(&self, step: &Step, edge: &Edge) -> bool {
        let state = self.state_of(&edge.from);
        match edge.on {
            EdgeCondition::Success => matches!(state, Some(StepState::Succeeded)),
            EdgeCondition::Failure => matches!(state, Some(StepState::Failed { .. })),
            EdgeCondition::Settled => state.is_some_and(StepState::is_settled),
            EdgeCondition::Chosen => {
                let output = self.outputs().get(&edge.from);
                let chosen = output.and_then(|output| output.get(CHOSEN));
                chosen.and_then(Value::as_str) == Some(step.id.as_ref())
            }
        }
    }

    /// Answers an expression over `parameters` and `steps`, by id, with `state` and `output`: those
    /// that it names and that have ended.
    fn holds(&self, expression: &str, budget: &mut Budget) -> Result<bool, ExpressionError> {
        budget.compile(expression)?;
        let condition = Condition::of_plan(expression)?;
        let reads = condition.reads();
        let steps = self.steps().filter(|(id, state)| {
            let id: &str = id.as_ref();
            state.is_settled() && reads.steps.contains(id)
        });
        let steps = steps.map(|(id, state)| {
            let output = self.outputs().get(id).unwrap_or(&NO_OUTPUT);
            let known = [
                ("state", Fact::Text(state.word())),
                ("output", Fact::Value(output)),
            ];
            (id.as_ref() as &str, Fact::Fields(BTreeMap::from(known)))
        });
        let numbers = self.graph.numbers().iter();
        let numbers: Numbers<'_> = numbers.map(|(name, kind)| (name.as_str(), *kind)).collect();
        let facts: Facts<'_> = [
            ("parameters", Fact::Parameters(self.parameters(), numbers)),
            ("steps", Fact::Fields(steps.collect())),
        ]
        .into_iter()
        .collect();
        condition.holds(&facts, budget)
    }

    /// How the run ends, now that nothing is left to do; or how it goes on by its fallback.
    fn conclusion(&self) -> RunEvent {
        let Some(Stop { cause, roll_back }) = self.stop.clone() else {
            return RunEvent::Completed {
                missing_evidence: self.missing_evidence(),
            };
        };
        match cause {
            StopCause::Failure { step, .. } if !roll_back && self.graph.fallback().is_some() => {
                RunEvent::FallbackStarted { step }
            }
            cause if !roll_back => RunEvent::Failed { cause },
            cause => {
                let left = self.left_behind();
                if left.is_empty() {
                    RunEvent::RolledBack { cause }
                } else {
                    RunEvent::RollbackFailed { cause, left }
                }
            }
        }
    }

    fn missing_evidence(&self) -> Vec<charter_contract::ids::Label> {
        if self.is_dry_run() {
            return Vec::new();
        }
        let has = |key: &str| {
            self.outputs()
                .values()
                .any(|output| output.get(key).is_some())
        };
        let wanted = self.graph.evidence().iter();
        wanted.filter(|key| !has(key.as_ref())).cloned().collect()
    }

    /// Steps whose writes stand, or may: completed and not reversed, cut off by a time limit, or
    /// interrupted and not repeated.
    fn left_behind(&self) -> Vec<StepId> {
        let stands = |at: usize| match self.graph.reversal_of(at) {
            None => true,
            Some(reversal) => self.slots[reversal].state != StepState::Succeeded,
        };
        let written = self.written.iter().copied().filter(|at| stands(*at));
        let left: BTreeSet<usize> = written.chain(self.uncertain()).collect();
        let steps = self.graph.steps();
        left.into_iter().map(|at| steps[at].id.clone()).collect()
    }

    /// Writes that were begun and of which nobody knows whether they happened.
    pub fn in_doubt(&self) -> impl Iterator<Item = &StepId> {
        let steps = self.graph.steps();
        self.uncertain().map(|at| &steps[at].id)
    }

    /// Whether no write of it succeeded or is in doubt: what it was to do may be tried again.
    #[must_use]
    pub fn wrote_nothing(&self) -> bool {
        self.written.is_empty() && self.in_doubt().next().is_none()
    }

    /// Cut off by a time limit, or interrupted and not repeated.
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

    /// Whether something reverses any of its writes.
    pub(super) fn can_roll_back(&self) -> bool {
        self.graph
            .steps()
            .iter()
            .any(|step| step.reverses.is_some())
    }

    pub(super) fn reverses(&self, at: usize) -> bool {
        self.graph.steps()[at].reverses.is_some()
    }

    /// The reversal that comes next, once nothing goes forward any more: that of the last write
    /// first, and none after one that failed.
    fn next_reversal(&self) -> Option<usize> {
        let reversing = self.stop.as_ref().is_some_and(|stop| stop.roll_back);
        if !reversing {
            return None;
        }
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

    /// What a worker does now, apart from the steps that it has `in_hand`; `has_come` says which moments have.
    #[must_use]
    pub fn next(&self, in_hand: &BTreeSet<StepId>, has_come: impl Fn(Timestamp) -> bool) -> Next {
        if self.outcome().is_some() {
            return Next::Ended;
        }
        let steps = self.graph.steps();
        let mut startable: BTreeSet<usize> = BTreeSet::new();
        if !self.paused && self.is_open() {
            startable.extend(self.ready.iter());
        }
        startable.extend(
            self.live
                .iter()
                .filter(|at| self.may_go_on(**at, &has_come)),
        );
        if self.live.is_empty() && self.ready.is_empty() {
            startable.extend(self.next_reversal());
        }
        let startable: Vec<StepId> = startable
            .into_iter()
            .map(|at| &steps[at].id)
            .filter(|id| !in_hand.contains(*id))
            .cloned()
            .collect();
        if startable.is_empty() {
            Next::Wait { until: self.due() }
        } else {
            Next::Start(startable)
        }
    }

    /// Whether a live step is to be begun again: it was interrupted, or its delay is over.
    fn may_go_on(&self, at: usize, has_come: impl Fn(Timestamp) -> bool) -> bool {
        match self.slots[at].state {
            StepState::Running { .. } => true,
            StepState::Retrying { due } => !self.paused && has_come(due),
            _ => false,
        }
    }

    /// The failure of a read that was interrupted while the run stops by order, at its time limit or without tokens: nobody
    /// needs its result any more, so it is not begun again. A write is, or a person is asked, because it may have
    /// happened; and in a run that stops by a failure, what has begun goes on to its end.
    #[must_use]
    pub fn not_repeated(&self, step: &StepId) -> Option<StepFailure> {
        let at = self.graph.place(step)?;
        let stopped = self.stop.as_ref().is_some_and(|stop| !stop.is_failure());
        let reads = !self.graph.steps()[at].writes() && !self.reverses(at);
        (stopped && reads && self.is_interrupted(step)).then(|| StepFailure {
            kind: ErrorKind::SystemError,
            code: "cancelled".to_owned(),
            message: format!(
                "the step `{step}` was interrupted, and is not begun again: the run stops"
            ),
            retryable: false,
        })
    }

    /// The next moment at which something is due.
    fn due(&self) -> Option<Timestamp> {
        let steps = self
            .live
            .iter()
            .filter_map(|at| match self.slots[*at].state {
                StepState::Retrying { due } => (!self.paused).then_some(due),
                StepState::AwaitingApproval { expires_at, .. } => Some(expires_at),
                _ => None,
            });
        steps.chain(self.deadline()).min()
    }

    /// The place of a step that may begin now: ready, interrupted, to be tried again, or the next
    /// reversal.
    pub(super) fn may_begin(&self, step: &StepId) -> Result<usize, IllegalTransition> {
        let at = self.known(step)?;
        let open = self.is_open() && !self.paused;
        let allowed = match self.slots[at].state {
            StepState::Pending if self.ready.contains(&at) => {
                open && matches!(self.fate(at, &mut Budget::default()), StepReadiness::Start)
            }
            StepState::Pending => {
                self.live.is_empty() && self.ready.is_empty() && self.next_reversal() == Some(at)
            }
            StepState::Running { .. } | StepState::Retrying { .. } => true,
            _ => false,
        };
        if allowed {
            Ok(at)
        } else {
            Err(self.refused(at, "begun"))
        }
    }
}

fn skipped(step: &Step, reason: SkipReason) -> RunEvent {
    RunEvent::StepSkipped {
        step: step.id.clone(),
        reason,
    }
}

fn decided(step: &Step, output: Value) -> RunEvent {
    RunEvent::StepSucceeded {
        step: step.id.clone(),
        output,
        source: ResultSource::Decided,
        duration_ms: 0,
        brings: Box::default(),
    }
}

fn chosen(step: &Step, next: &StepId) -> RunEvent {
    decided(step, json!({CHOSEN: next}))
}

/// B003-9: an expression without an answer fails its step.
fn unanswered(step: &Step, error: &ExpressionError) -> RunEvent {
    failed(step, ErrorKind::ExecutionError, "expression_failed", error)
}

/// A conclusion that refers to what is not there.
fn unresolved(step: &Step, error: &ReferenceError) -> RunEvent {
    failed(step, ErrorKind::InputError, "invalid_parameters", error)
}

fn failed(step: &Step, kind: ErrorKind, code: &str, error: &dyn std::fmt::Display) -> RunEvent {
    RunEvent::StepFailed {
        step: step.id.clone(),
        failure: StepFailure {
            kind,
            code: code.to_owned(),
            message: format!("the step `{}`: {error}", step.id),
            retryable: false,
        },
        tokens: TokenUsage::default(),
    }
}
