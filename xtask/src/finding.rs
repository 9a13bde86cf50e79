//! What a check found, and where. Knows no check.

use std::fmt;

/// Whether a finding fails the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FindingSeverity {
    /// It must be mended.
    Error,
    /// It should be looked at.
    Warning,
}

/// One finding at one place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Path relative to the repository's root, with `/`.
    pub(crate) file: String,
    /// From 1.
    pub(crate) line: usize,
    pub(crate) severity: FindingSeverity,
    pub(crate) message: String,
}

impl Finding {
    pub(crate) fn error(file: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line,
            severity: FindingSeverity::Error,
            message: message.into(),
        }
    }

    pub(crate) fn warning(file: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            severity: FindingSeverity::Warning,
            ..Self::error(file, line, message)
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            FindingSeverity::Error => "error",
            FindingSeverity::Warning => "warning",
        };
        let Self {
            file,
            line,
            message,
            ..
        } = self;
        write!(f, "{file}:{line}: {severity}: {message}")
    }
}
