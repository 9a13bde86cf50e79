//! A summary of an ended run for people: its changes, with the state before and after, and the steps that it left
//! undone. It is derived from the run's state alone. Must not know evidence, documents, or presentation.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::ids::{StepId, ToolId};
use charter_contract::json::text_length;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Run;
use super::event::SkipReason;
use super::standing::{RunOutcome, StepState};
use crate::graph::{EdgeCondition, Step};

/// The names of output fields with the state before and after a change. If a change has several states, their fields
/// end in these names: `security_group_state_before`.
const SIDES: [&str; 2] = ["before", "after"];

/// The summary of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunAccount<'r> {
    /// The writes that happened, in their order.
    pub changes: Vec<RunChange<'r>>,
    /// The steps that were planned but are not done, in listed order.
    pub undone: Vec<UndoneStep<'r>>,
}

/// A write that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct RunChange<'r> {
    /// The step.
    pub step: &'r StepId,
    /// The tool that it called.
    pub tool: Option<&'r ToolId>,
    /// The state before the change: from the step's output, an earlier step, or the data behind the write.
    pub before: Option<ChangeState<'r>>,
    /// The state after the change: from the step's output, from a later step, or else the output itself.
    pub after: Option<ChangeState<'r>>,
    /// Whether it has been reversed.
    pub reversed: bool,
}

/// A state before or after a change.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ChangeState<'r> {
    /// A single state.
    Whole(&'r Value),
    /// Several states, by their subjects.
    Parts(BTreeMap<&'r str, &'r Value>),
}

impl ChangeState<'_> {
    /// Returns the approximate length as JSON.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Whole(value) => text_length(value),
            Self::Parts(parts) => parts
                .iter()
                .map(|(name, value)| name.len() + text_length(value))
                .sum(),
        }
    }
}

/// A step that was planned but is not done.
#[derive(Debug, Clone, PartialEq)]
pub struct UndoneStep<'r> {
    /// The step.
    pub step: &'r StepId,
    /// The tool that it calls.
    pub tool: Option<&'r ToolId>,
    /// Whether it writes.
    pub writes: bool,
    /// The reason as a code.
    pub why: UndoneReason,
    /// The reason as text.
    pub detail: String,
    /// The preview of its tool in a dry run.
    pub would: Option<ChangeState<'r>>,
}

/// The reason why a step is not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoneReason {
    /// The run ended before the step began.
    NotBegun,
    /// The step failed.
    Failed,
    /// The step was skipped.
    Skipped,
    /// The approver of a list excluded its call.
    Excluded,
    /// The step began, and its outcome is unknown.
    InDoubt,
    /// The step succeeded and was reversed.
    Reversed,
    /// The step succeeded, and its reversal failed or did not happen.
    ReversalFailed,
    /// The run is a dry run.
    DryRun,
}

impl<'r> RunAccount<'r> {
    /// Summarizes a run so far.
    #[must_use]
    pub fn new(run: &'r Run) -> Self {
        let written = run.steps().written().filter(|_| !run.is_dry_run());
        let doubted: BTreeSet<&StepId> = run.steps().in_doubt().collect();
        let steps = run.graph().steps().iter().zip(run.steps().states());
        // The items of a repeated step are listed in its place.
        let is_listed =
            |step: &Step| step.reverses.is_none() && run.graph().items_of(step).is_empty();
        let forward = steps.filter(|(step, _)| is_listed(step));
        Self {
            changes: written.map(|step| change(run, step)).collect(),
            undone: forward
                .filter_map(|(step, (_, state))| {
                    let (why, detail) = why_undone(run, step, state, &doubted)?;
                    Some(UndoneStep {
                        step: &step.id,
                        tool: step.tool(),
                        writes: step.writes(),
                        why,
                        detail,
                        would: (why == UndoneReason::DryRun)
                            .then(|| run.outputs().get(&step.id).map(ChangeState::Whole))
                            .flatten(),
                    })
                })
                .collect(),
        }
    }
}

fn change<'r>(run: &'r Run, step: &'r Step) -> RunChange<'r> {
    let [before, after] = SIDES;
    let output = run.outputs().get(&step.id);
    let own = |side: &str| output.and_then(|output| side_of(output, side));
    RunChange {
        step: &step.id,
        tool: step.tool(),
        before: own(before)
            .or_else(|| read_before(run, step, before))
            .or_else(|| made_from(run, step)),
        after: own(after)
            .or_else(|| read_after(run, step, after))
            .or_else(|| {
                output
                    .filter(|output| !output.is_null())
                    .map(ChangeState::Whole)
            }),
        reversed: run.steps().is_reversed(&step.id),
    }
}

/// Returns the outputs of the reading steps, in listed order.
fn reads(run: &Run) -> impl DoubleEndedIterator<Item = (&Step, &Value)> {
    let steps = run.graph().steps().iter();
    let reads = steps.filter(|step| !step.writes());
    reads.filter_map(move |step| Some((step, run.outputs().get(&step.id)?)))
}

/// Returns the state before a write, from the last earlier step that has one.
fn read_before<'r>(run: &'r Run, step: &Step, side: &str) -> Option<ChangeState<'r>> {
    let place = run.graph().place(&step.id);
    let mut before = reads(run)
        .rev()
        .filter(|(read, _)| run.graph().place(&read.id) < place);
    before.find_map(|(_, output)| side_of(output, side))
}

/// Returns the state after a write, from the first later step that has one.
fn read_after<'r>(run: &'r Run, step: &Step, side: &str) -> Option<ChangeState<'r>> {
    let place = run.graph().place(&step.id);
    let mut after = reads(run).filter(|(read, _)| run.graph().place(&read.id) > place);
    after.find_map(|(_, output)| side_of(output, side))
}

/// Returns the outputs of the reading steps that a write refers to.
fn made_from<'r>(run: &'r Run, step: &Step) -> Option<ChangeState<'r>> {
    let edges = step.entry.edges.iter();
    let sources: BTreeSet<&StepId> = edges
        .filter(|edge| edge.on == EdgeCondition::Success)
        .map(|edge| &edge.from)
        .collect();
    let read: Vec<(&Step, &Value)> = reads(run)
        .filter(|(read, _)| sources.contains(&read.id))
        .collect();
    match read.as_slice() {
        [] => None,
        [(_, output)] => Some(ChangeState::Whole(output)),
        several => Some(ChangeState::Parts(
            several
                .iter()
                .map(|(read, output)| (read.id.as_str(), *output))
                .collect(),
        )),
    }
}

/// Returns the reason why a forward step is not done; `None` if it is done.
fn why_undone(
    run: &Run,
    step: &Step,
    state: &StepState,
    doubted: &BTreeSet<&StepId>,
) -> Option<(UndoneReason, String)> {
    if doubted.contains(&step.id) {
        let begun = "it was started, and its outcome is unknown";
        let detail = failure_of(state).unwrap_or(begun).to_owned();
        return Some((UndoneReason::InDoubt, detail));
    }
    match state {
        StepState::Succeeded => why_not_kept(run, step),
        StepState::Failed { failure } => Some((UndoneReason::Failed, failure.message.clone())),
        StepState::Skipped { reason } => Some(match reason {
            SkipReason::DryRun => (UndoneReason::DryRun, DRY.to_owned()),
            SkipReason::Source { step } => {
                let detail = format!("it depends on `{step}`, which did not happen");
                (UndoneReason::Skipped, detail)
            }
            SkipReason::Condition => (UndoneReason::Skipped, "its condition is false".to_owned()),
            SkipReason::Excluded { by, .. } => {
                let detail = format!("`{by}` excluded it from the approval");
                (UndoneReason::Excluded, detail)
            }
        }),
        StepState::Pending
        | StepState::AwaitingApproval { .. }
        | StepState::Running { .. }
        | StepState::Retrying { .. }
        | StepState::Cancelled => {
            let detail = "the run ended before it was executed".to_owned();
            Some((UndoneReason::NotBegun, detail))
        }
    }
}

/// Returns the reason why a step's write is not in effect, or remains in effect although the run rolled back.
fn why_not_kept(run: &Run, step: &Step) -> Option<(UndoneReason, String)> {
    if !step.writes() {
        return None;
    }
    if run.is_dry_run() {
        return Some((UndoneReason::DryRun, DRY.to_owned()));
    }
    if run.steps().is_reversed(&step.id) {
        let detail = "it was executed and reversed".to_owned();
        return Some((UndoneReason::Reversed, detail));
    }
    let stands = matches!(
        run.outcome(),
        Some(RunOutcome::RollbackFailed { left, .. }) if left.contains(&step.id)
    );
    stands.then(|| {
        let detail = match run
            .steps()
            .reversal_of(&step.id)
            .map(|reversal| &reversal.id)
        {
            None => "it was executed and has no reversal".to_owned(),
            Some(reversal) => match run.steps().state_of(reversal) {
                Some(StepState::Failed { failure }) => {
                    format!(
                        "it was executed, and its reversal failed: {}",
                        failure.message
                    )
                }
                _ => "it was executed and not reversed".to_owned(),
            },
        };
        (UndoneReason::ReversalFailed, detail)
    })
}

/// The reason why a dry run leaves a write undone.
const DRY: &str = "a dry run changes nothing";

/// Returns the message of a step's failure.
fn failure_of(state: &StepState) -> Option<&str> {
    match state {
        StepState::Failed { failure } => Some(&failure.message),
        StepState::Pending
        | StepState::AwaitingApproval { .. }
        | StepState::Running { .. }
        | StepState::Retrying { .. }
        | StepState::Succeeded
        | StepState::Skipped { .. }
        | StepState::Cancelled => None,
    }
}

/// Returns the state under a name in an output, or the states under names that end in it.
fn side_of<'v>(output: &'v Value, side: &str) -> Option<ChangeState<'v>> {
    let fields: &Map<String, Value> = output.as_object()?;
    if let Some(value) = fields.get(side) {
        return Some(ChangeState::Whole(value));
    }
    let parts: BTreeMap<&str, &Value> = fields
        .iter()
        .filter_map(|(name, value)| {
            let of = name.strip_suffix(side)?.strip_suffix('_')?;
            Some((of, value))
        })
        .filter(|(of, _)| !of.is_empty())
        .collect();
    (!parts.is_empty()).then_some(ChangeState::Parts(parts))
}
