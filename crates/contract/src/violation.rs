//! Violations of a document, described for people and programs. It knows no contract and no file: the pointer leads
//! into the document.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of violations in a report; the last one then notes that others were omitted.
pub const MAX_VIOLATIONS: usize = 1_000;

string_enum! {
    /// Stage of validation that found a violation. Each stage requires the previous one to succeed.
    pub enum Stage {
        /// The text is not JSON, or exceeds a limit on size or nesting.
        Structure = "structure",
        /// The value does not match the contract's JSON Schema.
        Schema = "schema",
        /// The value matches the schema but has no valid meaning.
        Meaning = "meaning",
        /// Two statements that must agree differ.
        Consistency = "consistency",
    }
}

/// One violation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Violation {
    /// Stage that found the violation.
    pub stage: Stage,
    /// Location, as a JSON pointer (RFC 6901); empty for the whole document.
    pub pointer: String,
    /// Violated rule: a keyword of JSON Schema, or a word of this project.
    pub keyword: String,
    /// Description of the violation.
    pub message: String,
    /// Suggested replacement, if there is a likely one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

impl Violation {
    /// Returns the violation for a larger document that contains the checked document at `pointer`.
    #[must_use]
    pub fn below(mut self, pointer: &str) -> Self {
        self.pointer.insert_str(0, pointer);
        self
    }
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pointer = if self.pointer.is_empty() {
            "/"
        } else {
            &self.pointer
        };
        write!(f, "{pointer}: {}", self.message)?;
        match &self.suggestion {
            Some(suggestion) => write!(f, " ({suggestion})"),
            None => Ok(()),
        }
    }
}

/// The violations and warnings of one document.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Report {
    /// Violations, which make the document unusable.
    pub violations: Vec<Violation>,
    /// Warnings, which do not make the document unusable.
    pub warnings: Vec<Violation>,
}

impl Report {
    /// Creates an empty report.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            violations: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Whether the report has the maximum number of violations, so that further checks are pointless.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.violations.len() >= MAX_VIOLATIONS
    }

    /// Adds a violation, up to `MAX_VIOLATIONS`.
    pub fn push(&mut self, violation: Violation) {
        match self.violations.len() {
            count if count < MAX_VIOLATIONS - 1 => self.violations.push(violation),
            count if count == MAX_VIOLATIONS - 1 => self.violations.push(Violation {
                stage: violation.stage,
                pointer: String::new(),
                keyword: "too_many".into(),
                message: format!("more than {MAX_VIOLATIONS} violations; the rest is omitted"),
                suggestion: None,
            }),
            _ => {}
        }
    }

    /// Adds a violation of meaning at `pointer`.
    pub fn meaning(&mut self, pointer: impl Into<String>, keyword: &str, message: String) {
        self.add(Stage::Meaning, pointer.into(), keyword, message);
    }

    /// Adds a violation of consistency; `pointer` leads to the second of two conflicting statements.
    pub fn consistency(&mut self, pointer: impl Into<String>, keyword: &str, message: String) {
        self.add(Stage::Consistency, pointer.into(), keyword, message);
    }

    /// Adds a warning.
    pub fn warn(&mut self, pointer: impl Into<String>, keyword: &str, message: String) {
        self.add_warning(pointer.into(), keyword, message, None);
    }

    /// Adds a warning with a suggested replacement.
    pub fn advise(
        &mut self,
        pointer: impl Into<String>,
        keyword: &str,
        message: String,
        suggestion: &str,
    ) {
        self.add_warning(
            pointer.into(),
            keyword,
            message,
            Some(suggestion.to_owned()),
        );
    }

    fn add_warning(
        &mut self,
        pointer: String,
        keyword: &str,
        message: String,
        suggestion: Option<String>,
    ) {
        if self.warnings.len() < MAX_VIOLATIONS {
            self.warnings.push(Violation {
                stage: Stage::Meaning,
                pointer,
                keyword: keyword.into(),
                message,
                suggestion,
            });
        }
    }

    fn add(&mut self, stage: Stage, pointer: String, keyword: &str, message: String) {
        self.push(Violation {
            stage,
            pointer,
            keyword: keyword.into(),
            message,
            suggestion: None,
        });
    }
}

/// Maximum length of a name in a pointer, in bytes: each of a thousand violations has its own pointer.
const MAX_SEGMENT: usize = 256;

/// Escapes one segment of a JSON pointer for display. A very long name is shortened, so that the pointer no longer
/// resolves.
#[must_use]
pub fn pointer_segment(text: &str) -> std::borrow::Cow<'_, str> {
    if text.len() > MAX_SEGMENT {
        let beginning = &text[..text.floor_char_boundary(MAX_SEGMENT)];
        return format!("{}…", escaped_segment(beginning)).into();
    }
    escaped_segment(text)
}

/// Escapes one segment of a JSON pointer that must resolve.
pub(crate) fn escaped_segment(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains(['~', '/']) {
        text.replace('~', "~0").replace('/', "~1").into()
    } else {
        text.into()
    }
}
