//! Reads a YAML or JSON text into a value that remembers where each part stands.
//!
//! JSON is read as the YAML that it is, so there is one reader and one kind of position. Anchors
//! and aliases are refused: a catalogue document says what it says where it says it, and a text
//! that grows by reference is a known attack. Knows nothing of files, schemas or documents.

mod reader;
mod scalar;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

pub use reader::{MAX_DEPTH, MAX_NODES, read};

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
    /// What is wrong there.
    pub message: String,
    /// What to do about it, where that is known.
    pub suggestion: Option<String>,
}

/// A value and the place of each of its parts, by JSON pointer.
#[derive(Debug, Clone, PartialEq)]
pub struct Located {
    /// The whole text as one JSON value.
    pub value: Value,
    positions: BTreeMap<String, Position>,
}

impl Located {
    /// Where the part at `pointer` stands; where its nearest enclosing part does when there is no
    /// such part (a missing field is shown at the object that lacks it).
    #[must_use]
    pub fn position(&self, pointer: &str) -> Position {
        let mut at = pointer;
        loop {
            if let Some(position) = self.positions.get(at) {
                return *position;
            }
            match at.rfind('/') {
                Some(cut) => at = &at[..cut],
                None => return START,
            }
        }
    }

    /// Where what follows the part at `pointer` begins; nothing follows the last one.
    #[must_use]
    pub fn end(&self, pointer: &str) -> Option<Position> {
        let start = self.position(pointer);
        let inside = format!("{pointer}/");
        let after = self
            .positions
            .iter()
            .filter(|(other, at)| **at > start && *other != pointer && !other.starts_with(&inside));
        after.map(|(_, at)| *at).min()
    }
}

const START: Position = Position {
    line: 1,
    column: 1,
    width: 1,
};

#[cfg(test)]
mod tests;
