//! What is wrong with a package, shown at its line.

use charter_contract::bounds::PACKAGE_PROBLEMS;
use charter_contract::lines;
use charter_contract::violation::Violation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SourceLocation;
use crate::source::{Position, Reason, SourceError};

/// Whether a problem stops the registration.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[schemars(rename = "ProblemSeverity")]
#[serde(rename_all = "snake_case")]
pub enum ProblemSeverity {
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
    pub severity: ProblemSeverity,
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
    pub fn at(
        place: &SourceLocation,
        pointer: &str,
        keyword: &str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            pointer: format!("{}{pointer}", place.pointer),
            ..Self::in_file(place, place.position(pointer), keyword, message.into())
        }
    }

    /// A problem of a place in a document's file.
    pub(super) fn in_file(
        place: &SourceLocation,
        position: Position,
        keyword: &str,
        message: String,
    ) -> Self {
        let line = place.text.from_line(position.line);
        Self::placed(&place.file, position, keyword, message).quoting(line)
    }

    /// A problem of a place in a file's text.
    pub(super) fn in_text(
        (file, text): (&str, &str),
        position: Position,
        keyword: &str,
        message: String,
    ) -> Self {
        Self::placed(file, position, keyword, message).quoting(line_of(text, position))
    }

    /// A problem of a whole file.
    #[must_use]
    pub fn of_file(file: &str, keyword: &str, message: impl Into<String>) -> Self {
        let start = Position {
            line: 1,
            column: 1,
            width: 1,
        };
        Self::placed(file, start, keyword, message.into())
    }

    pub(crate) fn unreadable(file: &str, text: &str, error: &SourceError) -> Self {
        let keyword = error.reason.keyword();
        Self {
            suggestion: error.suggestion.clone(),
            ..Self::in_text((file, text), error.position, keyword, error.message.clone())
        }
    }

    /// The check was cancelled, so the file counts as unchecked.
    pub(crate) fn cancelled(file: &str) -> Self {
        let keyword = Reason::Cancelled.keyword();
        Self::of_file(file, keyword, "the check was cancelled: its caller is gone")
    }

    pub(super) fn violation(place: &SourceLocation, violation: Violation) -> Self {
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
            severity: ProblemSeverity::Warning,
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

    fn placed(file: &str, position: Position, keyword: &str, message: String) -> Self {
        Self {
            file: file.to_owned(),
            line: position.line,
            column: position.column,
            width: position.width,
            pointer: String::new(),
            severity: ProblemSeverity::Error,
            keyword: keyword.to_owned(),
            message,
            suggestion: None,
            excerpt: String::new(),
        }
    }

    /// Takes the excerpt from the first line of `text`.
    fn quoting(self, text: &str) -> Self {
        let line = text.chars().take_while(|c| !matches!(c, '\n' | '\r'));
        Self {
            excerpt: line.take(MAX_EXCERPT).collect(),
            ..self
        }
    }
}

/// The text from the line of a position to the end.
fn line_of(text: &str, position: Position) -> &str {
    let before: usize = lines::with_ends(text)
        .take(position.line.saturating_sub(1))
        .map(str::len)
        .sum();
    &text[before..]
}

/// Collects problems, up to [`PACKAGE_PROBLEMS`] of each severity.
#[derive(Debug, Default)]
pub struct Problems {
    errors: Vec<Problem>,
    warnings: Vec<Problem>,
    /// Warnings over the limit.
    left_out: usize,
}

impl Problems {
    /// Adds a problem, unless there are too many of its severity.
    pub fn push(&mut self, problem: Problem) {
        match problem.severity {
            ProblemSeverity::Error if !self.is_full() => self.errors.push(problem),
            ProblemSeverity::Warning if self.warnings.len() < PACKAGE_PROBLEMS => {
                self.warnings.push(problem);
            }
            ProblemSeverity::Error => {}
            ProblemSeverity::Warning => self.left_out += 1,
        }
    }

    /// Whether there is no room for another error: further checks would add nothing.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.errors.len() >= PACKAGE_PROBLEMS
    }

    /// Whether a problem prevents the registration.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    /// All problems by file and place, with a note in `file` when some are left out.
    #[must_use]
    pub fn sorted(mut self, file: &str) -> Vec<Problem> {
        if self.is_full() {
            let message = format!(
                "{PACKAGE_PROBLEMS} errors are shown, and there may be more (PACKAGE_PROBLEMS)"
            );
            let more = Problem::of_file(file, "too_many", message);
            self.errors
                .push(more.suggest("mend these, and check again"));
        }
        if self.left_out > 0 {
            let message = format!(
                "{} more warnings are not shown (PACKAGE_PROBLEMS)",
                self.left_out
            );
            let more = Problem::of_file(file, "too_many", message);
            self.warnings.push(more.warning());
        }
        let mut all = self.errors;
        all.append(&mut self.warnings);
        all.sort();
        all
    }
}

impl Extend<Problem> for Problems {
    fn extend<P: IntoIterator<Item = Problem>>(&mut self, found: P) {
        for problem in found {
            self.push(problem);
        }
    }
}
