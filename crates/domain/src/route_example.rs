//! Route examples: redaction of confirmed sentences, the near-duplicate threshold, and the status transitions.
//!
//! Pure functions: this module reads no storage and computes no embeddings.

mod redacted;

use charter_contract::route_example::ExampleStatus;

use crate::clarification;

pub use redacted::SentenceRedaction;

/// Two examples of one document are near-duplicates if the cosine of their vectors reaches this value.
///
/// Variety matters: with ten varied examples a tool was found for 73.6 of 100 requests, with five near-duplicates for 66.
/// The value is chosen, not fitted: it should catch sentences that differ only in politeness, word order or a function
/// word.
pub const NEAR_DUPLICATE_COSINE: f32 = 0.92;

/// An owner's decision on a route example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExampleDecision {
    /// Use it for the tenant's requests.
    Accept,
    /// Do not use it.
    Reject,
    /// Stop using it after it was accepted.
    Withdraw,
}

/// A decision that the example's status does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a route example with the status {status} cannot be {}: its status must be {}",
    .decision.result(), .decision.needs()
)]
pub struct NotOpen {
    /// The example's status.
    pub status: ExampleStatus,
    /// The refused decision.
    pub decision: ExampleDecision,
}

impl ExampleDecision {
    /// The status that the decision requires.
    #[must_use]
    pub const fn needs(self) -> ExampleStatus {
        match self {
            Self::Accept | Self::Reject => ExampleStatus::Suggested,
            Self::Withdraw => ExampleStatus::Accepted,
        }
    }

    /// The status after the decision.
    #[must_use]
    pub const fn result(self) -> ExampleStatus {
        match self {
            Self::Accept => ExampleStatus::Accepted,
            Self::Reject => ExampleStatus::Rejected,
            Self::Withdraw => ExampleStatus::Withdrawn,
        }
    }

    /// Whether the decision changes the routing index.
    #[must_use]
    pub const fn changes_routing(self) -> bool {
        match self {
            Self::Accept | Self::Withdraw => true,
            Self::Reject => false,
        }
    }

    /// Applies the decision to a status.
    ///
    /// # Errors
    /// [`NotOpen`] if the status is not the required one.
    pub fn apply(self, status: ExampleStatus) -> Result<ExampleStatus, NotOpen> {
        if status == self.needs() {
            Ok(self.result())
        } else {
            Err(NotOpen {
                status,
                decision: self,
            })
        }
    }
}

/// The words of an example in lower case without punctuation: equal ones are duplicates.
#[must_use]
pub fn normalised(text: &str) -> String {
    clarification::words(text).join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_suggested_example_is_decided_and_only_an_accepted_one_is_withdrawn() {
        let decisions = [
            ExampleDecision::Accept,
            ExampleDecision::Reject,
            ExampleDecision::Withdraw,
        ];
        for status in ExampleStatus::ALL {
            let open: Vec<ExampleDecision> = decisions
                .into_iter()
                .filter(|decision| decision.apply(*status).is_ok())
                .collect();
            let expected = match status {
                ExampleStatus::Suggested => vec![ExampleDecision::Accept, ExampleDecision::Reject],
                ExampleStatus::Accepted => vec![ExampleDecision::Withdraw],
                ExampleStatus::Rejected | ExampleStatus::Withdrawn => Vec::new(),
            };
            assert_eq!(open, expected, "{status}");
        }
    }

    #[test]
    fn a_refused_decision_names_the_current_status() {
        let refused = ExampleDecision::Reject
            .apply(ExampleStatus::Accepted)
            .unwrap_err();
        assert_eq!(refused.status, ExampleStatus::Accepted);
        assert_eq!(
            refused.to_string(),
            "a route example with the status accepted cannot be rejected: its status must be suggested"
        );
    }

    #[test]
    fn sentences_that_differ_in_punctuation_and_capitals_have_the_same_words() {
        assert_eq!(
            normalised("Which backups, failed?"),
            normalised("which Backups failed")
        );
        assert_ne!(
            normalised("which backups failed"),
            normalised("failed backups")
        );
    }
}
