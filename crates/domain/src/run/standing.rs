//! The states of a run and of its steps.

use charter_contract::ids::{ApprovalId, Label, StepId, UserId};
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::event::{SkipReason, StepFailure, StopCause};
use crate::approval::Digest;

/// The state of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum StepState {
    /// Not started.
    Pending,
    /// Waits for an approval.
    AwaitingApproval {
        /// The approval's id.
        approval: ApprovalId,
        /// The digest that the decision is bound to.
        digest: Digest,
        /// The time at which it lapses.
        expires_at: Timestamp,
    },
    /// Its effect is running, or was when the worker crashed.
    Running {
        /// The number of the attempt, from 1.
        attempt: u32,
    },
    /// An attempt failed, and the next one is scheduled.
    Retrying {
        /// The earliest time of the next attempt.
        due: Timestamp,
    },
    /// It succeeded; the run has its output.
    Succeeded,
    /// It failed.
    Failed {
        /// The failure.
        failure: StepFailure,
    },
    /// It was skipped.
    Skipped {
        /// The reason.
        reason: SkipReason,
    },
    /// The run stopped before it started.
    Cancelled,
}

impl StepState {
    /// Returns the state as a word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::AwaitingApproval { .. } => "awaiting_approval",
            Self::Running { .. } => "running",
            Self::Retrying { .. } => "retrying",
            Self::Succeeded => "succeeded",
            Self::Failed { .. } => "failed",
            Self::Skipped { .. } => "skipped",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns whether the state is final.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        match self {
            Self::Pending
            | Self::AwaitingApproval { .. }
            | Self::Running { .. }
            | Self::Retrying { .. } => false,
            Self::Succeeded | Self::Failed { .. } | Self::Skipped { .. } | Self::Cancelled => true,
        }
    }
}

/// A granted approval of a step's call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Grant {
    pub(super) approval: ApprovalId,
    pub(super) by: UserId,
    pub(super) digest: Digest,
    /// The time at which the approval lapses; after that it permits nothing. It is not part of the serialized state, so
    /// that digests of states do not change; it is derived from the event that requested the approval.
    #[serde(skip)]
    pub(super) expires_at: Timestamp,
    /// Whether an attempt began with it.
    pub(super) used: bool,
}

/// The state of one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Slot {
    pub(super) state: StepState,
    pub(super) attempts: u32,
    pub(super) failures: u32,
    pub(super) grant: Option<Grant>,
    /// Whether an attempt began with an unknown outcome, and no other attempt began since.
    pub(super) unheard: bool,
    /// Whether its approval was requested before its sources settled. The step then still has to meet its conditions.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) ahead: bool,
    /// The number of sources that have not settled.
    pub(super) waits_for: usize,
}

impl Slot {
    /// Creates the state of a step that has not started and waits for this number of sources.
    pub(super) fn before_start(waits_for: usize) -> Self {
        Self {
            state: StepState::Pending,
            attempts: 0,
            failures: 0,
            grant: None,
            unheard: false,
            ahead: false,
            waits_for,
        }
    }

    /// Returns whether the steps that depend on this one no longer wait for it.
    pub(super) fn lets_dependants_pass(&self) -> bool {
        let is_excluded_early =
            matches!(self.state, StepState::Skipped { .. }) && self.waits_for > 0;
        self.state.is_settled() && !is_excluded_early
    }

    /// Records that an interrupted attempt is not immediately repeated: its outcome remains unknown.
    pub(super) fn leave(&mut self) {
        self.unheard |= matches!(self.state, StepState::Running { .. });
    }
}

/// The reason why a run ends early, and whether it is rolled back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Stop {
    pub(super) cause: StopCause,
    pub(super) roll_back: bool,
}

impl Stop {
    /// Returns whether the cause is a step's failure, not a decision.
    pub(super) fn is_failure(&self) -> bool {
        matches!(self.cause, StopCause::Failure { .. })
    }
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RunOutcome")]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum RunOutcome {
    /// Every required step succeeded.
    Completed {
        /// Required evidence that no step produced, which makes the run incomplete.
        missing_evidence: Vec<Label>,
    },
    /// The run ended early, and nothing was reversed.
    Failed {
        /// The reason.
        cause: StopCause,
    },
    /// The run ended early, and every completed write was reversed.
    RolledBack {
        /// The reason.
        cause: StopCause,
    },
    /// The run ended early, and some writes remain in effect.
    RollbackFailed {
        /// The reason.
        cause: StopCause,
        /// Steps whose writes remain in effect, or may.
        left: Vec<StepId>,
    },
}

impl RunOutcome {
    /// Returns the status of a run with this outcome.
    #[must_use]
    pub fn status(&self) -> RunStatus {
        match self {
            Self::Completed { missing_evidence } if missing_evidence.is_empty() => {
                RunStatus::Completed
            }
            Self::Completed { .. } => RunStatus::Incomplete,
            Self::Failed {
                cause: StopCause::Aborted { .. },
            } => RunStatus::Aborted,
            Self::Failed {
                cause: StopCause::TokenBudgetExhausted,
            } => RunStatus::BudgetExceeded,
            Self::Failed { cause } => cause.refusal().unwrap_or(RunStatus::Failed),
            Self::RolledBack { .. } => RunStatus::RolledBack,
            Self::RollbackFailed { .. } => RunStatus::RollbackFailed,
        }
    }
}
