//! How bad something that was found is.

string_enum! {
    /// Severity of a finding (000 §2.7 `severity_color`).
    pub enum Severity {
        /// Immediate action required.
        Critical = "critical",
        /// Prompt action required.
        High = "high",
        /// Planned action required.
        Medium = "medium",
        /// For attention.
        Low = "low",
        /// Informational; no harm.
        Info = "info",
    }
}
