//! Where a run stands, in one word.

string_enum! {
    /// Where a run stands: docs/run-states.md.
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
