//! Parses a YAML or JSON text into a value with the position of each part.
//!
//! The JSON parser reads JSON, and the YAML parser any other text; both yield the same kind of value and position.
//! Anchors and aliases are rejected: a catalogue document must be explicit, and a text that grows by reference is a
//! known attack. An [`Allowance`] bounds the cost of all texts that are read together. Knows nothing of files, schemas
//! or documents.

mod allowance;
pub(crate) mod escape;
mod json;
mod metered;
mod places;
mod reader;
mod refusal;
mod scalar;
mod text;

use std::fmt;

use charter_contract::charset::without_mark;
use charter_contract::lines;
use serde_json::Value;

use self::allowance::Meter;
use crate::cancellation::Cancellation;

pub use allowance::Allowance;
pub use places::Places;
pub use text::SourceText;

/// A position in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The number of characters of the marked part on its first line, at least 1.
    pub width: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// The reason why a text is not one document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SourceError {
    /// The position at which reading stopped.
    pub position: Position,
    /// The kind of error.
    pub reason: Reason,
    /// The problem.
    pub message: String,
    /// A correction, if known.
    pub suggestion: Option<String>,
}

/// The reason for stopping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The text is not one plain document.
    Syntax,
    /// The text, or all texts that are read together, exceed a limit.
    Limit,
    /// Reading was cancelled.
    Cancelled,
}

impl Reason {
    /// Returns the keyword of the problem.
    #[must_use]
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Limit => "limit",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A value with the position of each of its parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Located {
    /// The whole text as one JSON value.
    pub value: Value,
    /// The position of each part.
    pub places: Places,
}

impl Located {
    /// Returns the same as [`Places::position`].
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

/// Reads exactly one document, with a separate allowance.
///
/// # Errors
/// As [`read_within`].
pub fn read(text: &str) -> Result<Located, SourceError> {
    let cancel = Cancellation::default();
    read_within(text, &Allowance::new(&cancel))
}

/// Reads exactly one document, with the rest of an allowance. A byte order mark before it is ignored.
///
/// # Errors
/// The first exceeded limit of a JSON text; otherwise the first syntax error or exceeded limit of YAML; more than one
/// document; an anchor, alias
/// or tag; a key that is not text or occurs twice in its mapping; half of a character; a NUL; a cancellation.
pub fn read_within(text: &str, allowance: &Allowance<'_>) -> Result<Located, SourceError> {
    let text = plain(text)?;
    if json::is_likely(text) {
        match json::read(text, &Meter::new(allowance)) {
            Ok(located) => return Ok(located),
            Err(error) => match error.reason {
                Reason::Cancelled => return Err(error),
                // The counts of a text that is not JSON are not those of its YAML: quotes and comments differ.
                Reason::Limit if json::is_valid(text) => return Err(error),
                Reason::Limit | Reason::Syntax => {}
            },
        }
    }
    reader::read(text, &Meter::new(allowance))
}

/// Reads the only document of a file, as [`read_file_within`], with a separate allowance.
///
/// # Errors
/// As [`read_file_within`].
pub fn read_file(path: &str, text: &str) -> Result<Located, SourceError> {
    let cancel = Cancellation::default();
    read_file_within(path, text, &Allowance::new(&cancel))
}

/// Reads the only document of a file. A file named `.json` must be JSON, because the YAML parser accepts much invalid
/// JSON with another meaning.
///
/// # Errors
/// As [`read_within`].
pub fn read_file_within(
    path: &str,
    text: &str,
    allowance: &Allowance<'_>,
) -> Result<Located, SourceError> {
    if !path.ends_with(".json") {
        return read_within(text, allowance);
    }
    let text = plain(text)?;
    json::read(text, &Meter::new(allowance)).map_err(|error| {
        let is_yaml = error.reason == Reason::Syntax
            && error.suggestion.is_none()
            && reader::read(text, &Meter::new(allowance)).is_ok();
        let advice = "it is YAML: name the file `.yaml`, or write JSON";
        SourceError {
            suggestion: is_yaml.then(|| advice.to_owned()).or(error.suggestion),
            ..error
        }
    })
}

/// Returns a text without its byte order mark, if it has no NUL.
fn plain(text: &str) -> Result<&str, SourceError> {
    let text = without_mark(text);
    match text.find('\0') {
        None => Ok(text),
        Some(at) => Err(refusal::refusal(
            position_of(text, at),
            "NUL (U+0000) is not allowed in text",
            Some("remove it"),
        )),
    }
}

/// Returns the position of a byte.
fn position_of(text: &str, at: usize) -> Position {
    let at = text.floor_char_boundary(at);
    let (mut line, mut start) = (1, 0);
    for whole in lines::with_ends(text) {
        let end = start + whole.len();
        if at < end || lines::without_end(whole).len() == whole.len() {
            break;
        }
        line += 1;
        start = end;
    }
    let before = text.get(start..at).unwrap_or_default();
    Position {
        line,
        column: before.chars().count() + 1,
        width: 1,
    }
}

#[cfg(test)]
mod tests;
