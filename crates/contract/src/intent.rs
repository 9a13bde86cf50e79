//! The intent of a request (this project; B000-20). It is decided before ranking, and recorded in the verdict.

string_enum! {
    /// Intent of a request.
    pub enum Intent {
        /// Reads the state of resources: skills answer.
        Read = "read",
        /// Changes something: playbooks are ranked.
        Change = "change",
        /// Asks for a rule, a meaning, a reason or a procedure: lenses and the expert graph answer.
        Knowledge = "knowledge",
        /// Asks for nothing that the catalogue covers.
        None = "none",
    }
}
