//! How bad something that was found is.

string_enum! {
    /// How bad a finding is (000 §2.7 `severity_color`).
    pub enum Severity {
        /// Act now.
        Critical = "critical",
        /// Act soon.
        High = "high",
        /// Plan to act.
        Medium = "medium",
        /// Worth knowing.
        Low = "low",
        /// No harm.
        Info = "info",
    }
}
