//! Faults of a Cedar text.

use std::ops::Range;

use miette::Diagnostic;

/// Longest message of a fault, in characters: Cedar names types, which may be as long as what a tool declares.
const MAX_MESSAGE: usize = 1_000;

/// One thing wrong with a Cedar text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CedarFault {
    /// The fault.
    pub message: String,
    /// A replacement, if one is known.
    pub advice: Option<String>,
    /// Bytes of the Cedar text, where the place is known.
    pub span: Option<Range<usize>>,
}

impl CedarFault {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            advice: None,
            span: None,
        }
    }

    /// Returns Cedar's message, with its note on the position.
    pub(super) fn from_diagnostic(diagnostic: &(impl Diagnostic + ?Sized)) -> Self {
        let label = diagnostic.labels().and_then(|mut labels| labels.next());
        let note = label.as_ref().and_then(|label| label.label());
        let message = diagnostic.to_string();
        let message = note.map_or(message.clone(), |note| format!("{message}: {note}"));
        Self {
            message: message.chars().take(MAX_MESSAGE).collect(),
            advice: diagnostic.help().map(|help| help.to_string()),
            span: label.map(|label| label.offset()..label.offset() + label.len()),
        }
    }
}
