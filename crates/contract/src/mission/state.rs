//! The states of a mission (B002-12). The domain crate defines the transitions.

string_enum! {
    /// State of a mission.
    pub enum MissionState {
        /// The envelope is stored.
        Created = "created",
        /// The task graph is stored.
        Planned = "planned",
        /// The prompt packages are stored.
        Prompted = "prompted",
        /// Tasks are running.
        Running = "running",
        /// The results are being combined.
        Aggregating = "aggregating",
        /// The draft is being reviewed.
        Reviewing = "reviewing",
        /// A write-back waits for an approver.
        AwaitingApproval = "awaiting_approval",
        /// The reviewed output is available.
        Completed = "completed",
        /// The review, or an approver, rejected the mission.
        Rejected = "rejected",
        /// The mission failed.
        Failed = "failed",
        /// The mission was cancelled.
        Cancelled = "cancelled",
        /// The time or token budget is exhausted (B002-17).
        BudgetExceeded = "budget_exceeded",
    }
}

string_enum! {
    /// The state of a task of a mission.
    pub enum MissionTaskState {
        /// It has not begun.
        Pending = "pending",
        /// One of its steps has begun.
        Running = "running",
        /// It has its result.
        Succeeded = "succeeded",
        /// One of its steps failed.
        Failed = "failed",
        /// A task that it depends on did not succeed.
        Blocked = "blocked",
        /// The mission ended before it did.
        Cancelled = "cancelled",
    }
}

impl MissionState {
    /// Whether the state is final.
    #[must_use]
    pub const fn is_final(self) -> bool {
        match self {
            Self::Completed
            | Self::Rejected
            | Self::Failed
            | Self::Cancelled
            | Self::BudgetExceeded => true,
            Self::Created
            | Self::Planned
            | Self::Prompted
            | Self::Running
            | Self::Aggregating
            | Self::Reviewing
            | Self::AwaitingApproval => false,
        }
    }
}
