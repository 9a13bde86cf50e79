//! The status and the origin of a run.

string_enum! {
    /// The status of a run: docs/reference/run-states.md.
    pub enum RunStatus {
        /// Mandatory parameters have no value.
        AwaitingParameters = "awaiting_parameters",
        /// The plan must be confirmed.
        AwaitingConfirmation = "awaiting_confirmation",
        /// The run is executing.
        Working = "working",
        /// A step waits for an approval.
        AwaitingApproval = "awaiting_approval",
        /// The run is paused.
        Paused = "paused",
        /// The run ends once its running steps have ended.
        Stopping = "stopping",
        /// Completed writes are being reversed.
        RollingBack = "rolling_back",
        /// All required steps succeeded.
        Completed = "completed",
        /// All required steps succeeded, but required evidence is missing.
        Incomplete = "incomplete",
        /// The run ended early, and nothing was reversed.
        Failed = "failed",
        /// An approver rejected a call, and no write was made.
        Rejected = "rejected",
        /// A policy or guardrail refused a call, and no write was made.
        Denied = "denied",
        /// It was revoked.
        Aborted = "aborted",
        /// The models used more tokens than the budget allows.
        BudgetExceeded = "budget_exceeded",
        /// The run ended early, and every completed write was reversed.
        RolledBack = "rolled_back",
        /// The run ended early, and some writes remain.
        RollbackFailed = "rollback_failed",
    }
}

impl RunStatus {
    /// Whether the status is final.
    #[must_use]
    pub const fn is_final(self) -> bool {
        match self {
            Self::AwaitingParameters
            | Self::AwaitingConfirmation
            | Self::Working
            | Self::AwaitingApproval
            | Self::Paused
            | Self::Stopping
            | Self::RollingBack => false,
            Self::Completed
            | Self::Incomplete
            | Self::Failed
            | Self::Aborted
            | Self::Rejected
            | Self::Denied
            | Self::BudgetExceeded
            | Self::RolledBack
            | Self::RollbackFailed => true,
        }
    }

    /// Whether the run continues without a person.
    #[must_use]
    pub const fn is_active(self) -> bool {
        match self {
            Self::Working | Self::Stopping | Self::RollingBack => true,
            Self::AwaitingParameters
            | Self::AwaitingConfirmation
            | Self::AwaitingApproval
            | Self::Paused
            | Self::Completed
            | Self::Incomplete
            | Self::Failed
            | Self::Aborted
            | Self::Rejected
            | Self::Denied
            | Self::BudgetExceeded
            | Self::RolledBack
            | Self::RollbackFailed => false,
        }
    }

    /// Whether the run waits for parameters, a confirmation or an approval.
    #[must_use]
    pub const fn awaits_answer(self) -> bool {
        match self {
            Self::AwaitingParameters | Self::AwaitingConfirmation | Self::AwaitingApproval => true,
            Self::Working
            | Self::Paused
            | Self::Stopping
            | Self::RollingBack
            | Self::Completed
            | Self::Incomplete
            | Self::Failed
            | Self::Aborted
            | Self::Rejected
            | Self::Denied
            | Self::BudgetExceeded
            | Self::RolledBack
            | Self::RollbackFailed => false,
        }
    }

    /// The status as words of a sentence: `awaiting approval`.
    #[must_use]
    pub fn in_words(self) -> String {
        self.as_str().replace('_', " ")
    }
}

string_enum! {
    /// Origin of a run.
    pub enum RunOrigin {
        /// A skill that answers a request.
        Skill = "skill",
        /// A playbook.
        Playbook = "playbook",
        /// A submitted plan: an execution plan, a pipeline or a decision tree.
        Plan = "plan",
        /// A mission.
        Mission = "mission",
        /// A rollback of another run's writes.
        Rollback = "rollback",
        /// The analysis of the results of several runs of a request.
        Analysis = "analysis",
    }
}

impl RunOrigin {
    /// Returns the first words in the titles of such runs; a space follows.
    #[must_use]
    pub const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Skill => &["skill"],
            Self::Playbook => &["playbook"],
            Self::Plan => &["execution plan", "pipeline", "decision tree"],
            Self::Mission => &["mission"],
            Self::Rollback => &["rollback of"],
            Self::Analysis => &["analysis"],
        }
    }
}
