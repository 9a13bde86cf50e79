//! What a request asks for (this project; B000-20). Decided before anything is ranked, and recorded in the verdict.

string_enum! {
    /// What a request asks for.
    pub enum Intent {
        /// To read the state of things: skills answer.
        Read = "read",
        /// To change something: playbooks are ranked.
        Change = "change",
        /// To know a rule, a meaning, a reason or a procedure: lenses and the expert graph answer.
        Knowledge = "knowledge",
        /// Nothing that is looked after here.
        None = "none",
    }
}
