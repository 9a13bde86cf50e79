//! Route examples (this project): confirmed sentences that were routed to a skill or playbook, and that may become
//! examples of that document in one tenant.

use crate::catalogue::DocumentKind;

string_enum! {
    /// The status of a route example.
    pub enum ExampleStatus {
        /// A caller confirmed the sentence, and no owner has decided yet.
        Suggested = "suggested",
        /// An owner accepted it: the router uses it for the tenant's requests.
        Accepted = "accepted",
        /// An owner rejected it.
        Rejected = "rejected",
        /// An owner withdrew it after it was accepted.
        Withdrawn = "withdrawn",
    }
}

string_enum! {
    /// The event that confirmed a route. An uncorrected answer is no confirmation.
    pub enum ExampleSource {
        /// A caller confirmed the answer of a request.
        Thumb = "thumb",
        /// A candidate that was made from the sentence was promoted.
        PromotedCandidate = "promoted_candidate",
        /// A user confirmed and started the change that the sentence asks for.
        ExecutedOffer = "executed_offer",
        /// A caller chose the document in reply to a clarification of the sentence.
        ChosenOption = "chosen_option",
    }
}

string_enum! {
    /// A kind of document that requests are routed to by examples.
    pub enum RoutedKind {
        /// A skill.
        Skill = "skill",
        /// A playbook.
        Playbook = "playbook",
    }
}

impl RoutedKind {
    /// Returns the corresponding kind of document.
    #[must_use]
    pub const fn document_kind(self) -> DocumentKind {
        match self {
            Self::Skill => DocumentKind::Skill,
            Self::Playbook => DocumentKind::Playbook,
        }
    }
}

string_enum! {
    /// The reason why a confirmed sentence was not suggested as an example.
    pub enum NotSuggested {
        /// The redacted sentence has fewer than two content words.
        TooFewWords = "too_few_words",
        /// The sentence is longer than an example may be.
        TooLong = "too_long",
        /// The sentence asks for several things.
        SeveralThings = "several_things",
        /// The document has a near-duplicate of the sentence among its examples.
        NearDuplicate = "near_duplicate",
        /// The document has reached its limit of undecided examples.
        DocumentFull = "document_full",
        /// The tenant has reached its limit of undecided examples.
        TenantFull = "tenant_full",
        /// The request depends on an earlier request of its session.
        FollowUp = "follow_up",
        /// The document is no longer active.
        NotOffered = "not_offered",
        /// Recording the example failed; the caller may confirm again.
        NotRecorded = "not_recorded",
    }
}
