//! What a run that has ended did, for people: what it changed, with the state before and after, and what it left undone.
//! It follows from the run's state alone. Must not know evidence, documents, or how it is shown.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::ids::{StepId, ToolId};
use charter_contract::json::text_length;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Run;
use super::event::SkipReason;
use super::standing::{RunOutcome, StepState};
use crate::graph::{EdgeCondition, Step};

/// What the fields of an output are called that hold the state before and after a change; those of one of several
/// states end in it: `security_group_state_before`.
const SIDES: [&str; 2] = ["before", "after"];

/// What a run did.
#[derive(Debug, Clone, PartialEq)]
pub struct RunAccount<'r> {
    /// The writes that happened, in the order in which they did.
    pub changes: Vec<RunChange<'r>>,
    /// Everything that was to be done and is not, in listed order.
    pub undone: Vec<UndoneStep<'r>>,
}

/// A write that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct RunChange<'r> {
    /// The step.
    pub step: &'r StepId,
    /// The tool that it called.
    pub tool: Option<&'r ToolId>,
    /// What was there before: as the step's output says it, or a step before it, or what the write was made from.
    pub before: Option<ChangeState<'r>>,
    /// What was there after it: as the step's output says it, or a step after it; else the output itself.
    pub after: Option<ChangeState<'r>>,
    /// Whether it was taken back since.
    pub reversed: bool,
}

/// A state before or after a change.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ChangeState<'r> {
    /// One value.
    Whole(&'r Value),
    /// Several, by what they are the state of.
    Parts(BTreeMap<&'r str, &'r Value>),
}

impl ChangeState<'_> {
    /// How long it is as JSON, about.
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

/// Something that was to be done and is not.
#[derive(Debug, Clone, PartialEq)]
pub struct UndoneStep<'r> {
    /// The step.
    pub step: &'r StepId,
    /// The tool that it calls.
    pub tool: Option<&'r ToolId>,
    /// Whether it would change something.
    pub writes: bool,
    /// In one word.
    pub why: UndoneReason,
    /// In words.
    pub detail: String,
    /// What a tool says that it would do, in a dry run.
    pub would: Option<ChangeState<'r>>,
}

/// Why something is not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoneReason {
    /// The run ended first.
    NotBegun,
    /// It failed.
    Failed,
    /// It was left out.
    Skipped,
    /// It was begun, and nobody knows whether it happened.
    InDoubt,
    /// It was done, and taken back.
    Reversed,
    /// It was done and was to be taken back, and that did not succeed.
    ReversalFailed,
    /// The run changes nothing.
    DryRun,
}

impl Run {
    /// What the run did so far.
    #[must_use]
    pub fn account(&self) -> RunAccount<'_> {
        let written = self.written().filter(|_| !self.is_dry_run());
        let doubted: BTreeSet<&StepId> = self.in_doubt().collect();
        let steps = self.graph().steps().iter().zip(self.steps());
        let forward = steps.filter(|(step, _)| step.reverses.is_none());
        RunAccount {
            changes: written.map(|step| self.change(step)).collect(),
            undone: forward
                .filter_map(|(step, (_, state))| {
                    let (why, detail) = self.why_undone(step, state, &doubted)?;
                    Some(UndoneStep {
                        step: &step.id,
                        tool: step.tool(),
                        writes: step.writes(),
                        why,
                        detail,
                        would: (why == UndoneReason::DryRun)
                            .then(|| self.outputs().get(&step.id).map(ChangeState::Whole))
                            .flatten(),
                    })
                })
                .collect(),
        }
    }

    fn change<'r>(&'r self, step: &'r Step) -> RunChange<'r> {
        let [before, after] = SIDES;
        let output = self.outputs().get(&step.id);
        let own = |side: &str| output.and_then(|output| side_of(output, side));
        RunChange {
            step: &step.id,
            tool: step.tool(),
            before: own(before)
                .or_else(|| self.read_before(step, before))
                .or_else(|| self.made_from(step)),
            after: own(after)
                .or_else(|| self.read_after(step, after))
                .or_else(|| {
                    output
                        .filter(|output| !output.is_null())
                        .map(ChangeState::Whole)
                }),
            reversed: self.is_reversed(&step.id),
        }
    }

    /// The outputs of the steps that only read, each with its step, in listed order.
    fn reads(&self) -> impl DoubleEndedIterator<Item = (&Step, &Value)> {
        let steps = self.graph().steps().iter();
        let reads = steps.filter(|step| !step.writes());
        reads.filter_map(move |step| Some((step, self.outputs().get(&step.id)?)))
    }

    /// The state before a write that the last step before it says which says one.
    fn read_before(&self, step: &Step, side: &str) -> Option<ChangeState<'_>> {
        let place = self.graph().place(&step.id);
        let mut before = self
            .reads()
            .rev()
            .filter(|(read, _)| self.graph().place(&read.id) < place);
        before.find_map(|(_, output)| side_of(output, side))
    }

    /// The state after a write that the first step after it says which says one.
    fn read_after(&self, step: &Step, side: &str) -> Option<ChangeState<'_>> {
        let place = self.graph().place(&step.id);
        let mut after = self
            .reads()
            .filter(|(read, _)| self.graph().place(&read.id) > place);
        after.find_map(|(_, output)| side_of(output, side))
    }

    /// What the steps read that a write refers to.
    fn made_from(&self, step: &Step) -> Option<ChangeState<'_>> {
        let edges = step.entry.edges.iter();
        let sources: BTreeSet<&StepId> = edges
            .filter(|edge| edge.on == EdgeCondition::Success)
            .map(|edge| &edge.from)
            .collect();
        let read: Vec<(&Step, &Value)> = self
            .reads()
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

    /// Why a step of the way forward is not done; `None` for one that is.
    fn why_undone(
        &self,
        step: &Step,
        state: &StepState,
        doubted: &BTreeSet<&StepId>,
    ) -> Option<(UndoneReason, String)> {
        if doubted.contains(&step.id) {
            let begun = "it was begun, and it is not known whether it happened";
            let detail = failure_of(state).unwrap_or(begun).to_owned();
            return Some((UndoneReason::InDoubt, detail));
        }
        match state {
            StepState::Succeeded => self.why_not_kept(step),
            StepState::Failed { failure } => Some((UndoneReason::Failed, failure.message.clone())),
            StepState::Skipped { reason } => Some(match reason {
                SkipReason::DryRun => (UndoneReason::DryRun, DRY.to_owned()),
                SkipReason::Source { step } => {
                    let detail = format!("it waits for `{step}`, which did not come about");
                    (UndoneReason::Skipped, detail)
                }
                SkipReason::Condition => {
                    (UndoneReason::Skipped, "its condition is false".to_owned())
                }
            }),
            StepState::Pending
            | StepState::AwaitingApproval { .. }
            | StepState::Running { .. }
            | StepState::Retrying { .. }
            | StepState::Cancelled => {
                let detail = "the run ended before it was done".to_owned();
                Some((UndoneReason::NotBegun, detail))
            }
        }
    }

    /// Why what a step did is not there, or is there against the run's will.
    fn why_not_kept(&self, step: &Step) -> Option<(UndoneReason, String)> {
        if !step.writes() {
            return None;
        }
        if self.is_dry_run() {
            return Some((UndoneReason::DryRun, DRY.to_owned()));
        }
        if self.is_reversed(&step.id) {
            let detail = "it was done, and taken back".to_owned();
            return Some((UndoneReason::Reversed, detail));
        }
        let stands = matches!(
            self.outcome(),
            Some(RunOutcome::RollbackFailed { left, .. }) if left.contains(&step.id)
        );
        stands.then(|| {
            let detail = match self.reversal_of(&step.id).map(|reversal| &reversal.id) {
                None => "it was done, and nothing reverses it".to_owned(),
                Some(reversal) => match self.state_of(reversal) {
                    Some(StepState::Failed { failure }) => {
                        format!(
                            "it was done, and taking it back failed: {}",
                            failure.message
                        )
                    }
                    _ => "it was done, and was not taken back".to_owned(),
                },
            };
            (UndoneReason::ReversalFailed, detail)
        })
    }
}

/// Why a dry run leaves a write undone.
const DRY: &str = "a dry run changes nothing";

/// What a step failed with.
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

/// The state that an output says under a name, or under names that end in it.
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
