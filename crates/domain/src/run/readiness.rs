//! Whether a step may begin, and the next transition of a step whose sources have settled: a worker starts it, or the
//! machine skips, decides or fails it.

mod repetition;

use std::collections::BTreeMap;

use charter_contract::bounds::{JSON_MEMORY, RUN_MEMORY};
use charter_contract::filling::FillBudget;
use charter_contract::ids::StepId;
use serde_json::{Value, json};

use super::event::{ErrorKind, ResultSource, RunEvent, SkipReason, StepFailure, TokenUsage};
use super::standing::StepState;
use super::{IllegalTransition, Run};
use crate::expression::{Budget, Condition, ExpressionError, Fact, Facts, Numbers};
use crate::graph::{Edge, EdgeCondition, Join, Step, StepAction};
use crate::reference::{ReferenceError, resolve};

/// The field of a choice's output that names the chosen step.
const CHOSEN: &str = "chosen";

/// The output, in expressions, of a step without one.
static NO_OUTPUT: Value = Value::Null;

/// The next transition of a step whose sources have settled.
pub(super) enum StepReadiness {
    /// A worker starts it.
    Start,
    /// The machine decides it immediately.
    Event(Box<RunEvent>),
}

impl StepReadiness {
    /// Evaluates the expressions of a step whose sources have settled.
    pub(super) fn of_step(run: &Run, at: usize, budget: &mut Budget) -> Self {
        let event = |event| Self::Event(Box::new(event));
        let step = &run.steps.graph.steps()[at];
        if let Some(event) = repetition::collected(run, step) {
            return Self::Event(Box::new(event));
        }
        // The step no longer waits and was approved, so it starts regardless of its expression.
        let slot = &run.steps.slots[at];
        if slot.grant.is_some() && !slot.ahead {
            return Self::Start;
        }
        if let Some(step_id) = unmet(run, step) {
            let reason = SkipReason::Source { step: step_id };
            return event(skipped(step, reason));
        }
        let when = step.entry.when.as_deref();
        match when.map(|when| holds(run, when, budget)) {
            None | Some(Ok(true)) => {}
            Some(Ok(false)) => return event(skipped(step, SkipReason::Condition)),
            Some(Err(error)) => return event(unanswered(step, &error)),
        }
        match &step.action {
            StepAction::Call { .. } => Self::Start,
            StepAction::ForEach {
                items, max_items, ..
            } => event(repetition::expanded(run, step, items, *max_items)),
            StepAction::Conclude { output } => {
                let mut filling = FillBudget::with_limit(memory_left(run));
                event(match resolve(output, run.bindings(), &mut filling) {
                    Ok(output) => decided(step, output),
                    Err(error) => unresolved(step, &error),
                })
            }
            StepAction::Choose {
                branches,
                otherwise,
            } => {
                for branch in branches {
                    match holds(run, &branch.when, budget) {
                        Ok(true) => return event(chosen(step, &branch.next)),
                        Ok(false) => {}
                        Err(error) => return event(unanswered(step, &error)),
                    }
                }
                event(chosen(step, otherwise))
            }
        }
    }
}

/// Returns the index of a step that may begin now: ready, interrupted, due for a retry, or the next reversal.
pub(super) fn may_begin(run: &Run, step: &StepId) -> Result<usize, IllegalTransition> {
    let at = run.steps.known(step)?;
    let open = run.opening().is_met() && !run.is_on_hold();
    let allowed = match run.steps.slots[at].state {
        StepState::Pending if run.steps.ready.contains(&at) => {
            let readiness = || StepReadiness::of_step(run, at, &mut Budget::default());
            open && matches!(readiness(), StepReadiness::Start)
        }
        StepState::Pending => next_reversal(run) == Some(at),
        StepState::Running { .. } | StepState::Retrying { .. } => true,
        _ => false,
    };
    if allowed {
        Ok(at)
    } else {
        Err(run.steps.refused(at, "begun"))
    }
}

/// Returns the index of a step that may begin now, or whose approval may be requested ahead.
pub(super) fn may_be_decided(run: &Run, step: &StepId) -> Result<usize, IllegalTransition> {
    may_begin(run, step).or_else(|refused| may_ask_ahead(run, step).map_err(|_| refused))
}

/// Returns the index of a write whose approval may be requested before its sources have ended: nothing but their end
/// and their success decides whether it begins.
pub(super) fn may_ask_ahead(run: &Run, step: &StepId) -> Result<usize, IllegalTransition> {
    let at = run.steps.known(step)?;
    let (step, slot) = (&run.steps.graph.steps()[at], &run.steps.slots[at]);
    let is_open = run.opening().is_met() && !run.is_on_hold() && run.stop.is_none();
    let waits = slot.state == StepState::Pending && slot.waits_for > 0 && slot.grant.is_none();
    let is_call = matches!(step.action, StepAction::Call { writes: true, .. });
    let is_certain = step.entry.when.is_none()
        && step.entry.join == Join::All
        && step.reverses.is_none()
        && step.unless_changed.is_none();
    let may_hold = |edge: &Edge| {
        let is_settled = run
            .steps
            .state_of(&edge.from)
            .is_some_and(StepState::is_settled);
        match edge.on {
            _ if is_settled => is_met(run, step, edge),
            EdgeCondition::Success | EdgeCondition::Settled => true,
            EdgeCondition::Failure | EdgeCondition::Chosen => false,
        }
    };
    if is_open && waits && is_call && is_certain && step.entry.edges.iter().all(may_hold) {
        Ok(at)
    } else {
        Err(run.steps.refused(at, "asked about"))
    }
}

/// Returns the next reversal of a run that rolls back, once no forward step remains.
pub(super) fn next_reversal(run: &Run) -> Option<usize> {
    let reversing = run.stop.as_ref().is_some_and(|stop| stop.roll_back);
    if reversing && run.steps.is_idle() {
        run.steps.next_reversal()
    } else {
        None
    }
}

/// Returns the first source without the result that the step requires; `None` if the step may start.
fn unmet(run: &Run, step: &Step) -> Option<StepId> {
    let edges = &step.entry.edges;
    let unmet = edges.iter().find(|edge| !is_met(run, step, edge));
    let blocks = match step.entry.join {
        Join::All => unmet.is_some(),
        Join::Any => !edges.is_empty() && !edges.iter().any(|edge| is_met(run, step, edge)),
    };
    unmet.filter(|_| blocks).map(|edge| edge.from.clone())
}

fn is_met(run: &Run, step: &Step, edge: &Edge) -> bool {
    let state = run.steps.state_of(&edge.from);
    match edge.on {
        EdgeCondition::Success => matches!(state, Some(StepState::Succeeded)),
        EdgeCondition::Failure => matches!(state, Some(StepState::Failed { .. })),
        EdgeCondition::Settled => state.is_some_and(StepState::is_settled),
        EdgeCondition::Chosen => {
            let output = run.outputs().get(&edge.from);
            let chosen = output.and_then(|output| output.get(CHOSEN));
            chosen.and_then(Value::as_str) == Some(step.id.as_ref())
        }
    }
}

/// Evaluates an expression over `parameters` and `steps`. Of each step that it names and that has ended, `state` and
/// `output` are available under the step's id.
fn holds(run: &Run, expression: &str, budget: &mut Budget) -> Result<bool, ExpressionError> {
    budget.compile(expression)?;
    let condition = Condition::of_plan(expression)?;
    let reads = condition.reads();
    let steps = run.steps.states().filter(|(id, state)| {
        let id: &str = id.as_ref();
        state.is_settled() && reads.steps.contains(id)
    });
    let steps = steps.map(|(id, state)| {
        let output = run.outputs().get(id).unwrap_or(&NO_OUTPUT);
        let known = [
            ("state", Fact::Text(state.word())),
            ("output", Fact::Value(output)),
        ];
        (id.as_ref() as &str, Fact::Fields(BTreeMap::from(known)))
    });
    let numbers = run.graph().numbers().iter();
    let numbers: Numbers<'_> = numbers.map(|(name, kind)| (name.as_str(), *kind)).collect();
    let facts: Facts<'_> = [
        ("parameters", Fact::Parameters(run.parameters(), numbers)),
        ("steps", Fact::Fields(steps.collect())),
    ]
    .into_iter()
    .collect();
    condition.holds(&facts, budget)
}

/// Returns the memory that a value of the run may still take, in bytes.
fn memory_left(run: &Run) -> usize {
    RUN_MEMORY.saturating_sub(run.memory()).min(JSON_MEMORY)
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

/// B003-9: an expression that cannot be evaluated fails its step.
fn unanswered(step: &Step, error: &ExpressionError) -> RunEvent {
    failed(step, ErrorKind::ExecutionError, "expression_failed", error)
}

/// Fails a conclusion that refers to a missing value.
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
            account: None,
        },
        tokens: TokenUsage::default(),
    }
}
