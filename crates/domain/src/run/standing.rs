//! Where a run and its steps stand.

use charter_contract::ids::{ApprovalId, Label, StepId, UserId};
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::event::{SkipReason, StepFailure, StopCause};
use crate::approval::Digest;

/// Where a step stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum StepState {
    /// Not started.
    Pending,
    /// Waits for a person.
    AwaitingApproval {
        /// The approval's record.
        approval: ApprovalId,
        /// What the decision is bound to.
        digest: Digest,
        /// When it lapses.
        expires_at: Timestamp,
    },
    /// Its effect is under way, or was when the worker died.
    Running {
        /// From 1.
        attempt: u32,
    },
    /// An attempt failed, and the next one has to wait.
    Retrying {
        /// Not before this.
        due: Timestamp,
    },
    /// It succeeded; its output is with the run.
    Succeeded,
    /// It failed.
    Failed {
        /// Why.
        failure: StepFailure,
    },
    /// It does not start.
    Skipped {
        /// Why.
        reason: SkipReason,
    },
    /// The run stopped before it started.
    Cancelled,
}

impl StepState {
    /// The state's name.
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

    /// Whether nothing more becomes of it.
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

/// A person's agreement to a step's call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Grant {
    pub(super) approval: ApprovalId,
    pub(super) by: UserId,
    pub(super) digest: Digest,
    /// When the approval lapses; from then on it permits nothing. No part of the serialised state, so
    /// that digests of states do not change: it follows from the event that asked.
    #[serde(skip)]
    pub(super) expires_at: Timestamp,
    /// Whether an attempt began under it.
    pub(super) used: bool,
}

/// What is known of one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Slot {
    pub(super) state: StepState,
    pub(super) attempts: u32,
    pub(super) failures: u32,
    pub(super) grant: Option<Grant>,
    /// Whether an attempt began, nobody knows how it ended, and none began since.
    pub(super) unheard: bool,
    /// Sources that have not settled.
    pub(super) waits_for: usize,
}

impl Slot {
    /// A step before its start that waits for so many others.
    pub(super) fn before_start(waits_for: usize) -> Self {
        Self {
            state: StepState::Pending,
            attempts: 0,
            failures: 0,
            grant: None,
            unheard: false,
            waits_for,
        }
    }
}

/// Why a run ends early, and what is done about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Stop {
    pub(super) cause: StopCause,
    pub(super) roll_back: bool,
}

impl Stop {
    /// Whether a step's failure is the cause, and nobody's will.
    pub(super) fn is_failure(&self) -> bool {
        matches!(self.cause, StopCause::Failure { .. })
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RunOutcome")]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum RunOutcome {
    /// Everything that had to succeed did.
    Completed {
        /// Evidence that was required and that no step produced: the run is incomplete.
        missing_evidence: Vec<Label>,
    },
    /// It ended early, and nothing was reversed.
    Failed {
        /// Why.
        cause: StopCause,
    },
    /// It ended early, and every completed write was reversed.
    RolledBack {
        /// Why.
        cause: StopCause,
    },
    /// It ended early, and some writes stand.
    RollbackFailed {
        /// Why.
        cause: StopCause,
        /// Steps whose writes stand, or may.
        left: Vec<StepId>,
    },
}

impl RunOutcome {
    /// Where a run stands that ended so.
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
            Self::Failed { .. } => RunStatus::Failed,
            Self::RolledBack { .. } => RunStatus::RolledBack,
            Self::RollbackFailed { .. } => RunStatus::RollbackFailed,
        }
    }
}
