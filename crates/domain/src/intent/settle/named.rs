//! Texts that equal an example of a document, or name a document: its author has defined what such a text requests.
//!
//! An example counts as an order only if the text is written as an order. A playbook that is only named is shown.

use charter_contract::catalogue::DocumentKind;

use super::{AnswerSource, Case, Evidence, Settled};
use crate::intent::{Certainty, ChangeTiming, Doubt, Intent, Language, Remark};

impl Evidence {
    /// Restricts the evidence for a caller that states the intent (`metadata.flow`): an example or a name of another
    /// kind of document does not override the caller.
    #[must_use]
    pub fn for_stated(self, intent: Intent) -> Self {
        let answers = |kind: NamedKind| match (kind, intent) {
            (NamedKind::Skill, Intent::Read) | (NamedKind::Playbook, Intent::Change) => true,
            (NamedKind::Skill | NamedKind::Playbook | NamedKind::Other(_), _) => false,
        };
        let example = self.example.filter(|example| match example.kind {
            ExampleKind::Skill => answers(NamedKind::Skill),
            ExampleKind::Playbook => answers(NamedKind::Playbook),
        });
        Self {
            example,
            named: self.named.filter(|named| answers(named.kind)),
            ..self
        }
    }
}

/// A document that a sentence names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedDocument {
    /// The kind of the document.
    pub kind: NamedKind,
    /// Whether the name has a typing error.
    pub mistyped: bool,
    /// Whether the text is only the name.
    pub alone: bool,
}

/// The kind of a document that a sentence names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedKind {
    /// A skill.
    Skill,
    /// A playbook.
    Playbook,
    /// A document that requests are not routed to: a tool, an agent, a mission type. It is described.
    Other(DocumentKind),
}

/// The documents that have a sentence as an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExampleMatch {
    /// Their kind.
    pub kind: ExampleKind,
    /// Whether the sentence is a question, or opens with a mark that makes it a quotation ([`is_marked`]).
    pub marked: bool,
}

/// The kind of the documents that have a sentence as an example. Their authors have defined what the sentence requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExampleKind {
    /// Skills alone.
    Skill,
    /// Playbooks alone.
    Playbook,
}

/// Returns whether a text is a question, or opens with a mark that makes it a quotation: a quotation mark, a bracket, a
/// prompt, the sign of a quoted line. An amount may open it.
#[must_use]
pub fn is_marked(text: &str) -> bool {
    let text = text.trim();
    let mut characters = text.chars();
    let opens = characters.next().is_some_and(char::is_alphanumeric);
    let is_amount = text.starts_with(['$', '€', '£'])
        && characters.next().is_some_and(|next| next.is_ascii_digit());
    !(opens || is_amount) || text.contains(['?', '？'])
}

impl Case<'_> {
    /// Settles a text that equals an example: it requests the action of the example's document. A quoted example orders
    /// nothing, and an order for later is only offered.
    pub(super) fn example(&self, example: ExampleMatch) -> Option<Settled> {
        let ExampleMatch { kind, marked } = example;
        match kind {
            ExampleKind::Skill => Some(self.decided(
                Intent::Read,
                AnswerSource::Skills,
                "it is an example of a skill",
            )),
            ExampleKind::Playbook => {
                let start = self.ordered_by_example(marked)?;
                let found = "it is an example of a playbook";
                Some(self.decided_as(Intent::Change, AnswerSource::Playbooks, start, found))
            }
        }
    }

    /// Decides how to start the playbook whose example a text equals; `None` if the text orders nothing.
    fn ordered_by_example(&self, marked: bool) -> Option<ChangeTiming> {
        let reading = self.reading;
        let doubtful = ChangeTiming::Offer(Doubt::Example);
        if let Language::Other(_) = reading.language {
            return Some(doubtful);
        }
        match reading.remark {
            None => {}
            Some(
                Remark::Pasted
                | Remark::Instruction
                | Remark::Joke
                | Remark::Forbids
                | Remark::Empty,
            ) => return None,
            Some(
                Remark::Chat
                | Remark::AboutSystem
                | Remark::NamesSystem
                | Remark::AboutRuns
                | Remark::FollowUp
                | Remark::Statement,
            ) => return Some(doubtful),
        }
        Some(match (reading.intent, reading.start, reading.certainty) {
            _ if marked => doubtful,
            // The example determines the meaning of its verb.
            (Intent::Change, ChangeTiming::Offer(Doubt::Verb), _) => ChangeTiming::Now,
            (Intent::Change, start, _) => start,
            // "overnight restart of the hosts": its form is ambiguous.
            (Intent::Read | Intent::Knowledge | Intent::None, _, Certainty::Open(_)) => {
                ChangeTiming::Now
            }
            (
                Intent::Read | Intent::Knowledge | Intent::None,
                _,
                Certainty::Certain | Certainty::Likely,
            ) => doubtful,
        })
    }

    /// Returns whether the sentence can name a document: it forbids nothing, quotes only the name and imitates no role.
    pub(super) fn may_name(&self, named: NamedDocument) -> bool {
        match self.reading.remark {
            None
            | Some(Remark::Statement | Remark::NamesSystem | Remark::FollowUp | Remark::Chat) => {
                true
            }
            Some(Remark::Pasted) => named.alone,
            Some(_) => false,
        }
    }

    /// Settles a text that names a document: the document answers, even if others match better. A playbook runs only
    /// for an order that names it without a typing error and has other words too; otherwise it is shown.
    pub(super) fn named(&self, named: NamedDocument) -> Settled {
        let NamedDocument {
            kind,
            mistyped,
            alone,
        } = named;
        match (kind, self.reading.intent) {
            (NamedKind::Other(kind), _) => self.decided(
                Intent::Knowledge,
                AnswerSource::Description,
                &format!("it names a registered {}", kind.as_str().replace('_', " ")),
            ),
            (NamedKind::Skill, Intent::Knowledge) => self.decided(
                Intent::Knowledge,
                AnswerSource::SkillText,
                "it names a skill",
            ),
            (NamedKind::Skill, Intent::Read | Intent::Change | Intent::None) => {
                self.decided(Intent::Read, AnswerSource::Skills, "it names a skill")
            }
            (NamedKind::Playbook, Intent::Knowledge) => self.decided(
                Intent::Knowledge,
                AnswerSource::PlaybookText,
                "it names a playbook",
            ),
            (NamedKind::Playbook, Intent::Change) if !mistyped && !alone => {
                self.ordered("it names a playbook")
            }
            (NamedKind::Playbook, Intent::Read | Intent::Change | Intent::None) => self.decided_as(
                Intent::Change,
                AnswerSource::Playbooks,
                ChangeTiming::Offer(Doubt::Name),
                "it names a playbook",
            ),
        }
    }
}

#[cfg(test)]
mod tests;
