//! The topics of notifications. Must not know channels, nor the form of a message.

string_enum! {
    /// A topic that rules send to channels (this project).
    pub enum NotificationTopic {
        /// An approval waits for a decision.
        ApprovalRequested = "approval.requested",
        /// An approval without a decision expires soon.
        ApprovalExpiring = "approval.expiring",
        /// The turn to decide on an approval went to the next group.
        ApprovalEscalated = "approval.escalated",
        /// A run's plan waits for a person's confirmation.
        ConfirmationRequested = "confirmation.requested",
        /// A run ended without its result, or without required evidence: also one whose call an approver rejected or a
        /// policy denied.
        RunFailed = "run.failed",
        /// A run ended with its result.
        RunCompleted = "run.completed",
        /// A finding that the previous run of its schedule did not have.
        FindingNew = "finding.new",
        /// A finding of the previous run of its schedule that this run no longer has.
        FindingResolved = "finding.resolved",
        /// A mission waits for the approval of its proposals.
        MissionAwaitingApproval = "mission.awaiting_approval",
    }
}

impl NotificationTopic {
    /// Whether it is about findings, which rules filter by severity and domain and collect for a digest.
    #[must_use]
    pub const fn is_about_findings(self) -> bool {
        match self {
            Self::FindingNew | Self::FindingResolved => true,
            Self::ApprovalRequested
            | Self::ApprovalExpiring
            | Self::ApprovalEscalated
            | Self::ConfirmationRequested
            | Self::RunFailed
            | Self::RunCompleted
            | Self::MissionAwaitingApproval => false,
        }
    }
}
