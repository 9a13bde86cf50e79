//! The states of an assignment: the task of a mission that is offered to outside agents (this project).

string_enum! {
    /// State of an assignment.
    pub enum AssignmentState {
        /// An agent may claim it.
        Offered = "offered",
        /// An agent holds the lease, which ends with the pass.
        Claimed = "claimed",
        /// The agent submitted a result, which is being checked.
        Submitted = "submitted",
        /// The mission accepted the result.
        Accepted = "accepted",
        /// The lease ended, or too many results were refused.
        Closed = "closed",
    }
}
