//! Where a mission stands, in one word (B002-12). Which state may follow which, the mission
//! machine says.

string_enum! {
    /// The state of a mission.
    pub enum MissionState {
        /// Its envelope is there.
        Created = "created",
        /// Its task graph is there.
        Planned = "planned",
        /// Its prompt packages are there.
        Prompted = "prompted",
        /// Its tasks are being done.
        Running = "running",
        /// Their results are brought together.
        Aggregating = "aggregating",
        /// The draft is reviewed.
        Reviewing = "reviewing",
        /// A person has to decide on a write-back.
        AwaitingApproval = "awaiting_approval",
        /// It has its reviewed output.
        Completed = "completed",
        /// The review, or a person, refused it.
        Rejected = "rejected",
        /// It could not go on.
        Failed = "failed",
        /// Somebody stopped it.
        Cancelled = "cancelled",
        /// Its time or its tokens were used up (B002-17).
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
    /// Whether nothing follows.
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
