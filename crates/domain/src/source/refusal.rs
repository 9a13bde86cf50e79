//! Errors at a place of a text.

use super::{Position, Reason, SourceError};

/// A text that breaks the rules of its language.
pub(super) fn refusal(position: Position, message: &str, suggestion: Option<&str>) -> SourceError {
    SourceError {
        position,
        reason: Reason::Syntax,
        message: message.to_owned(),
        suggestion: suggestion.map(str::to_owned),
    }
}

/// A text that is beyond a limit.
pub(super) fn limit(position: Position, message: &str) -> SourceError {
    SourceError {
        reason: Reason::Limit,
        ..refusal(position, message, None)
    }
}
