//! Derives the state of a mission and of its proposals from the run (B002-12, B002-13). Nothing is stored twice: the
//! run's journal is the source of truth.

use charter_contract::ids::{ProposalId, StepId};
use charter_contract::mission::MissionState;
use charter_contract::mission::review_packet::{ReviewPacket, ReviewStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::layout::{Once, WRITE_BACK, change_step, once};
use super::output::StageOutput;
use crate::graph::PlanSource;
use crate::run::{ErrorKind, Run, RunOutcome, StepState, StopCause};

/// The code of a change whose target differs from the one that the proposal was made for.
pub const TARGET_CHANGED: &str = "target_changed";
/// The code of a change that a person rejected.
const REJECTED: &str = "approval_rejected";
/// The code of a change without a decision in time.
const EXPIRED: &str = "approval_expired";

/// Returns the state of a run's mission; `None` if the run is not a mission.
#[must_use]
pub fn state_of(run: &Run) -> Option<MissionState> {
    matches!(run.graph().source(), Some(PlanSource::Mission(_))).then(|| state(run))
}

/// Returns the state of a run's mission.
#[must_use]
pub fn state(run: &Run) -> MissionState {
    match run.outcome() {
        None => under_way(run),
        Some(RunOutcome::Completed { .. }) if is_rejected(run) => MissionState::Rejected,
        Some(RunOutcome::Completed { .. }) => MissionState::Completed,
        Some(RunOutcome::Failed { cause } | RunOutcome::RolledBack { cause }) => ended_by(cause),
        Some(RunOutcome::RollbackFailed { .. }) => MissionState::Failed,
    }
}

fn ended_by(cause: &StopCause) -> MissionState {
    match cause {
        StopCause::Failure { .. } => MissionState::Failed,
        StopCause::Aborted { .. } => MissionState::Cancelled,
        StopCause::TimedOut | StopCause::TokenBudgetExhausted => MissionState::BudgetExceeded,
    }
}

fn under_way(run: &Run) -> MissionState {
    let state = |name| once(name).ok().and_then(|step| run.steps().state_of(&step));
    let succeeded = |name| matches!(state(name), Some(StepState::Succeeded));
    let begun = |name| state(name).is_some_and(has_begun);
    if run.steps().states().any(|(step, _)| is_change(step)) {
        return MissionState::AwaitingApproval;
    }
    if begun(Once::Review) {
        return MissionState::Reviewing;
    }
    if begun(Once::Aggregate) {
        return MissionState::Aggregating;
    }
    if !succeeded(Once::Prompted) {
        return if succeeded(Once::Plan) {
            MissionState::Planned
        } else {
            MissionState::Created
        };
    }
    let works = |(step, state): (&StepId, &StepState)| is_of_a_task(step) && has_begun(state);
    if run.steps().states().any(works) {
        MissionState::Running
    } else {
        MissionState::Prompted
    }
}

/// Returns whether a mission may move from the state `from` to the state `to` (B002-12).
#[must_use]
pub fn may_follow(from: MissionState, to: MissionState) -> bool {
    use MissionState as S;
    match (from, to) {
        (S::Created, S::Planned)
        | (S::Planned, S::Prompted)
        | (S::Prompted, S::Running)
        | (S::Running, S::Aggregating)
        | (S::Aggregating, S::Reviewing)
        | (S::Reviewing, S::Completed | S::AwaitingApproval | S::Rejected)
        | (S::AwaitingApproval, S::Completed | S::Rejected) => true,
        (from, S::Failed | S::Cancelled | S::BudgetExceeded) => !from.is_final(),
        _ => false,
    }
}

fn has_begun(state: &StepState) -> bool {
    match state {
        StepState::Pending | StepState::Skipped { .. } | StepState::Cancelled => false,
        StepState::AwaitingApproval { .. }
        | StepState::Running { .. }
        | StepState::Retrying { .. }
        | StepState::Succeeded
        | StepState::Failed { .. } => true,
    }
}

fn is_of_a_task(step: &StepId) -> bool {
    ["pass.", "work."]
        .iter()
        .any(|kind| step.as_str().starts_with(kind))
}

fn is_change(step: &StepId) -> bool {
    step.as_str().starts_with(WRITE_BACK)
}

fn is_rejected(run: &Run) -> bool {
    let review = once(Once::Review).ok();
    let output = review.and_then(|step| run.outputs().get(&step));
    let packet = output
        .and_then(StageOutput::read)
        .and_then(|output| output.first::<ReviewPacket>());
    packet.is_some_and(|packet| packet.review_status == ReviewStatus::Rejected)
}

/// The state of a write-back proposal (B002-13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProposalState {
    /// There is no decision yet.
    Proposed,
    /// It may be executed, or is being executed.
    Approved,
    /// It was executed.
    Executed,
    /// Its execution failed.
    ExecutionFailed,
    /// A person or a policy rejected it.
    Rejected,
    /// There was no decision in time.
    Expired,
    /// Its target has changed since it was made.
    Conflict,
}

impl ProposalState {
    /// Returns the state of a mission's proposal; `None` if the mission has no such proposal.
    #[must_use]
    pub fn in_run(run: &Run, proposal: &ProposalId) -> Option<Self> {
        let step = change_step(proposal.as_str()).ok()?;
        Some(match run.steps().state_of(&step)? {
            StepState::Pending | StepState::AwaitingApproval { .. } => {
                if run.steps().is_granted(&step) {
                    Self::Approved
                } else {
                    Self::Proposed
                }
            }
            StepState::Running { .. } | StepState::Retrying { .. } => Self::Approved,
            StepState::Succeeded => Self::Executed,
            StepState::Skipped { .. } => Self::ExecutionFailed,
            StepState::Cancelled => Self::Expired,
            StepState::Failed { failure } => match failure.code.as_str() {
                REJECTED => Self::Rejected,
                EXPIRED => Self::Expired,
                TARGET_CHANGED => Self::Conflict,
                _ if failure.kind == ErrorKind::PermissionError => Self::Rejected,
                _ => Self::ExecutionFailed,
            },
        })
    }
}
