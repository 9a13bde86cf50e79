//! What is wrong with a package, shown at its line.

use charter_contract::violation::Violation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Place;
use crate::source::{Position, SourceError};

/// Whether a problem stops the registration.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[schemars(rename = "ProblemGravity")]
#[serde(rename_all = "snake_case")]
pub enum Gravity {
    /// Nothing is registered while it stands.
    Error,
    /// Worth a look.
    Warning,
}

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PackageProblem")]
pub struct Problem {
    /// The file's path, relative to the package.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// Characters to underline, at least 1.
    pub width: usize,
    /// JSON pointer into the file.
    pub pointer: String,
    /// Whether it stops the registration.
    pub gravity: Gravity,
    /// The rule that is broken.
    pub keyword: String,
    /// What is wrong.
    pub message: String,
    /// What to write instead, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// The line as it stands.
    pub excerpt: String,
}

/// Longest excerpt, in characters.
const MAX_EXCERPT: usize = 200;

impl Problem {
    /// A problem of a document's part.
    #[must_use]
    pub fn at(place: &Place, pointer: &str, keyword: &str, message: impl Into<String>) -> Self {
        Self {
            pointer: format!("{}{pointer}", place.pointer),
            ..Self::placed(
                &place.file,
                &place.text,
                place.position(pointer),
                keyword,
                message.into(),
            )
        }
    }

    /// A problem of a place in a file's text.
    pub(super) fn in_text(
        (file, text): (&str, &str),
        position: Position,
        keyword: &str,
        message: String,
    ) -> Self {
        Self::placed(file, text, position, keyword, message)
    }

    /// A problem of a whole file.
    #[must_use]
    pub fn of_file(file: &str, keyword: &str, message: impl Into<String>) -> Self {
        let start = Position {
            line: 1,
            column: 1,
            width: 1,
        };
        Self::placed(file, "", start, keyword, message.into())
    }

    pub(crate) fn unreadable(file: &str, text: &str, error: &SourceError) -> Self {
        Self {
            suggestion: error.suggestion.clone(),
            ..Self::placed(file, text, error.position, "syntax", error.message.clone())
        }
    }

    pub(super) fn violation(place: &Place, violation: Violation) -> Self {
        Self {
            suggestion: violation.suggestion,
            ..Self::at(
                place,
                &violation.pointer,
                &violation.keyword,
                violation.message,
            )
        }
    }

    /// The same, and only worth a look.
    #[must_use]
    pub fn warning(self) -> Self {
        Self {
            gravity: Gravity::Warning,
            ..self
        }
    }

    /// The same with advice.
    #[must_use]
    pub fn suggest(self, suggestion: impl Into<String>) -> Self {
        Self {
            suggestion: Some(suggestion.into()),
            ..self
        }
    }

    fn placed(file: &str, text: &str, position: Position, keyword: &str, message: String) -> Self {
        let line = text
            .lines()
            .nth(position.line.saturating_sub(1))
            .unwrap_or_default();
        Self {
            file: file.to_owned(),
            line: position.line,
            column: position.column,
            width: position.width,
            pointer: String::new(),
            gravity: Gravity::Error,
            keyword: keyword.to_owned(),
            message,
            suggestion: None,
            excerpt: line.chars().take(MAX_EXCERPT).collect(),
        }
    }
}
