//! What is wrong with a document, said so that a person or a program can mend it.
//! It knows no contract and no file: the pointer leads into the document.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most violations that one report carries; the last one then says that more were left out.
pub const MAX_VIOLATIONS: usize = 1_000;

string_enum! {
    /// The stage of validation that found a violation. Each stage presupposes the one before.
    pub enum Stage {
        /// The text is not JSON, or is too large or too deep.
        Structure = "structure",
        /// The value does not fit the contract's JSON Schema.
        Schema = "schema",
        /// The value fits the schema and still makes no sense.
        Meaning = "meaning",
        /// Two statements that must agree do not.
        Consistency = "consistency",
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Violation {
    /// The stage that found it.
    pub stage: Stage,
    /// Where, as a JSON pointer (RFC 6901); empty for the whole document.
    pub pointer: String,
    /// The rule that was broken: a keyword of JSON Schema, or a word of this project.
    pub keyword: String,
    /// What is wrong, in words.
    pub message: String,
    /// What to write instead, where that can be guessed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

impl Violation {
    /// The same in a larger document, which has the document that was looked at at `pointer`.
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

/// Everything that was found in one document.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Report {
    /// What makes the document unusable.
    pub violations: Vec<Violation>,
    /// What does not, and deserves a look.
    pub warnings: Vec<Violation>,
}

impl Report {
    /// A report without findings.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            violations: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Whether it carries as many violations as it may, so that no further one is worth looking for.
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

    /// The document makes no sense at `pointer`.
    pub fn meaning(&mut self, pointer: impl Into<String>, keyword: &str, message: String) {
        self.add(Stage::Meaning, pointer.into(), keyword, message);
    }

    /// Two statements disagree; `pointer` leads to the second.
    pub fn consistency(&mut self, pointer: impl Into<String>, keyword: &str, message: String) {
        self.add(Stage::Consistency, pointer.into(), keyword, message);
    }

    /// Usable, and worth a look.
    pub fn warn(&mut self, pointer: impl Into<String>, keyword: &str, message: String) {
        self.add_warning(pointer.into(), keyword, message, None);
    }

    /// Usable, and worth a look, with what to write instead.
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

/// Longest name that a pointer spells out, in bytes: each of a thousand violations has a pointer of its own.
const MAX_SEGMENT: usize = 256;

/// One segment of a JSON pointer to be shown. Of a name that is longer than any document needs it has the beginning, and
/// leads to nothing.
#[must_use]
pub fn pointer_segment(text: &str) -> std::borrow::Cow<'_, str> {
    if text.len() > MAX_SEGMENT {
        let beginning = &text[..text.floor_char_boundary(MAX_SEGMENT)];
        return format!("{}…", escaped_segment(beginning)).into();
    }
    escaped_segment(text)
}

/// One segment of a JSON pointer to be followed.
pub(crate) fn escaped_segment(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains(['~', '/']) {
        text.replace('~', "~0").replace('/', "~1").into()
    } else {
        text.into()
    }
}
