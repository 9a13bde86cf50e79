//! Where a run stands, and what started it, in one word each.

string_enum! {
    /// Where a run stands: docs/reference/run-states.md.
    pub enum RunStatus {
        /// Mandatory parameters have no value.
        AwaitingParameters = "awaiting_parameters",
        /// Somebody has to confirm its plan.
        AwaitingConfirmation = "awaiting_confirmation",
        /// It goes on by itself.
        Working = "working",
        /// A step waits for a person's decision.
        AwaitingApproval = "awaiting_approval",
        /// Somebody paused it.
        Paused = "paused",
        /// It ends once what is under way has ended.
        Stopping = "stopping",
        /// What it wrote is being reversed.
        RollingBack = "rolling_back",
        /// Everything that had to succeed did.
        Completed = "completed",
        /// Everything succeeded, and evidence that was required is missing.
        Incomplete = "incomplete",
        /// It ended early, and nothing was reversed.
        Failed = "failed",
        /// Somebody ended it.
        Aborted = "aborted",
        /// Its models used more tokens than it may.
        BudgetExceeded = "budget_exceeded",
        /// It ended early, and every completed write was reversed.
        RolledBack = "rolled_back",
        /// It ended early, and some writes stand.
        RollbackFailed = "rollback_failed",
    }
}

impl RunStatus {
    /// Whether nothing happens in the run any more.
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
    /// What started a run.
    pub enum RunOrigin {
        /// A skill that answers a request.
        Skill = "skill",
        /// A playbook.
        Playbook = "playbook",
        /// A plan that was sent: an execution plan, a pipeline or a decision tree.
        Plan = "plan",
        /// A mission.
        Mission = "mission",
        /// The wish to reverse what another run wrote.
        Rollback = "rollback",
        /// The analysis of what several runs of a request answered.
        Analysis = "analysis",
    }
}

impl RunOrigin {
    /// What the titles of its runs begin with, before a space.
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
