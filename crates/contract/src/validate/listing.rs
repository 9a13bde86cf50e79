//! The violations of one document, limited in number and text. Must not know how they are found.

use crate::bounds::VIOLATION_TEXT;
use crate::violation::{MAX_VIOLATIONS, Report, Stage, Violation};

/// Maximum number of violations for which a suggestion is computed.
const MAX_SUGGESTIONS: usize = 20;

/// Adds violations to a report.
pub(super) struct Listing<'r> {
    report: &'r mut Report,
    text: usize,
    suggestions: usize,
}

impl<'r> Listing<'r> {
    pub(super) fn new(report: &'r mut Report) -> Self {
        Self {
            report,
            text: VIOLATION_TEXT,
            suggestions: MAX_SUGGESTIONS,
        }
    }

    /// Whether the listing accepts no more violations.
    pub(super) fn is_full(&self) -> bool {
        self.text == 0 || self.report.violations.len() >= MAX_VIOLATIONS
    }

    /// Adds a violation, or a note that the others are omitted.
    pub(super) fn push(&mut self, violation: Violation) {
        if self.is_full() {
            return;
        }
        let length = violation.pointer.len() + violation.message.len();
        match self.text.checked_sub(length) {
            Some(left) => {
                self.text = left;
                self.report.push(violation);
            }
            None => self.more_follow(format!(
                "the violations have more than {VIOLATION_TEXT} bytes of text (VIOLATION_TEXT); the rest is omitted"
            )),
        }
    }

    /// Adds a note that some violations are omitted, with the reason.
    pub(super) fn more_follow(&mut self, message: String) {
        self.text = 0;
        self.report.push(Violation {
            stage: Stage::Schema,
            pointer: String::new(),
            keyword: "too_many".into(),
            message,
            suggestion: None,
        });
    }

    /// Computes a suggestion, up to the maximum number of them.
    pub(super) fn suggest(&mut self, find: impl FnOnce() -> Option<String>) -> Option<String> {
        self.suggestions = self.suggestions.checked_sub(1)?;
        find()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violation(length: usize) -> Violation {
        Violation {
            stage: Stage::Schema,
            pointer: "/".repeat(length),
            keyword: "type".into(),
            message: String::new(),
            suggestion: None,
        }
    }

    #[test]
    fn violations_are_added_until_their_text_is_too_long() {
        let mut report = Report::new();
        let mut list = Listing::new(&mut report);
        list.push(violation(VIOLATION_TEXT));
        assert!(list.is_full());
        list.push(violation(1));
        assert_eq!(report.violations.len(), 1);

        let mut report = Report::new();
        let mut list = Listing::new(&mut report);
        list.push(violation(VIOLATION_TEXT - 1));
        list.push(violation(2));
        list.push(violation(1));
        let keywords: Vec<&str> = report
            .violations
            .iter()
            .map(|found| found.keyword.as_str())
            .collect();
        assert_eq!(keywords, ["type", "too_many"]);
    }

    #[test]
    fn words_are_suggested_for_the_first_violations_only() {
        let mut report = Report::new();
        let mut list = Listing::new(&mut report);
        let given = (0..30).filter_map(|_| list.suggest(|| Some("x".into())));
        assert_eq!(given.count(), MAX_SUGGESTIONS);
    }
}
