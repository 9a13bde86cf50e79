//! Reads a YAML or JSON text into a value that remembers where each part stands.
//!
//! JSON is read as the YAML that it is, so there is one reader and one kind of position. Anchors
//! and aliases are refused: a catalogue document says what it says where it says it, and a text
//! that grows by reference is a known attack. An [`Allowance`] bounds the cost of all texts that are read together.
//! Knows nothing of files, schemas or documents.

mod allowance;
mod metered;
mod places;
mod reader;
mod scalar;
mod text;

use std::fmt;

use serde_json::Value;

pub use allowance::Allowance;
pub use places::Places;
pub use reader::{read, read_within};
pub use text::SourceText;

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Characters that the marked part covers on its first line, at least 1.
    pub width: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why a text is not one document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SourceError {
    /// Where reading stopped.
    pub position: Position,
    /// The kind of error.
    pub reason: Reason,
    /// What is wrong there.
    pub message: String,
    /// What to do about it, where that is known.
    pub suggestion: Option<String>,
}

/// Why reading stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The text is not one plain document.
    Syntax,
    /// The text, or all texts that are read together, are over a limit.
    Limit,
    /// Reading was cancelled.
    Cancelled,
}

impl Reason {
    /// The keyword of the problem.
    #[must_use]
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Limit => "limit",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A value and the place of each of its parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Located {
    /// The whole text as one JSON value.
    pub value: Value,
    /// The position of each part.
    pub places: Places,
}

impl Located {
    /// As [`Places::position`].
    #[must_use]
    pub fn position(&self, pointer: &str) -> Position {
        self.places.position(pointer)
    }
}

const START: Position = Position {
    line: 1,
    column: 1,
    width: 1,
};

#[cfg(test)]
mod tests;
