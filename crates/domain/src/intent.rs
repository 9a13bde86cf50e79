//! Recognises the intent of a text from its form: to read a state, to change something, to learn a rule, or none of
//! these (B000-20).
//!
//! A text is parsed into clauses, and each clause's speech act follows from its mood. Negated, supposed, postponed,
//! reported and quoted clauses order nothing. [`read()`] uses the text alone; [`settle`] also uses how well documents
//! match, if the form is ambiguous. Both are bounded and know no catalogue.

mod act;
mod action;
mod asked;
mod clause;
mod doubt;
mod everyday;
mod forwarded;
mod indirect;
mod language;
mod order;
mod phrases;
mod reading;
mod remark;
mod sense;
mod settle;
mod subject;
mod timing;
mod token;
mod topic;
mod words;

pub use action::OrderedAction;
pub use asked::AskedClause;
use charter_contract::foreign_text;
pub use charter_contract::intent::Intent;
pub use everyday::EVERYDAY_TOPICS;
pub use language::{Language, languages};
pub use remark::Remark;
pub use settle::{
    AnswerSource, Evidence, ExampleKind, ExampleMatch, Fit, IntentDecision, NamedDocument,
    NamedKind, NeededEvidence, Settled, cited_from, is_marked, offered_from, settle,
};

use act::acts;
use clause::clauses;
use reading::ParsedText;
use token::{Token, TokenKind};

/// The number of bytes that are parsed, half of them from the end: a request may precede or follow pasted text.
const MAX_READ: usize = charter_contract::bounds::INTENT_BYTES;

/// The certainty of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// The form is unambiguous.
    Certain,
    /// The form makes this reading the more probable one.
    Likely,
    /// The form is ambiguous between this intent and another one.
    Open(Intent),
}

/// The part of a change that may start now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeTiming {
    /// The change.
    Now,
    /// A trial of it that changes nothing.
    DryRun,
    /// Nothing: the change may only be offered.
    Offer(Doubt),
}

/// The reason why a change is mentioned but not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// It is to happen later.
    Later,
    /// It depends on a condition.
    Condition,
    /// It is a suggestion, a wish or a need rather than an order.
    Indirect,
    /// It is reported as the request of another person.
    Reported,
    /// The verb is unknown, or may be a noun.
    Verb,
    /// The verb has a typing error.
    Spelling,
    /// The object was mentioned earlier, not in this text.
    Object,
    /// The text was translated.
    Translated,
    /// A model classified it as a change, and the form does not confirm it.
    Model,
    /// It names a playbook without ordering to run it, or with a typing error in the name.
    Name,
    /// It has words that are unknown both in English and in the catalogue.
    Language,
    /// It also asks a question.
    Question,
    /// Its verb differs from those of the matching playbook.
    OtherAction,
    /// It quotes an example of a playbook, or repeats it as a question.
    Example,
}

impl Doubt {
    /// Returns the reason, for people.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Later => "it is for later",
            Self::Condition => "it depends on a condition",
            Self::Indirect => "it is a wish or a suggestion, not an order",
            Self::Reported => "it reports what another person asked for",
            Self::Verb => "its verb may mean something else",
            Self::Spelling => "its verb has a typo",
            Self::Object => "it does not name the target of the change",
            Self::Translated => "it was translated",
            Self::Model => "a model classified it, and its form is ambiguous",
            Self::Name => "it names a playbook but does not clearly order it",
            Self::Language => "it has unknown words",
            Self::Question => "it also asks a question",
            Self::OtherAction => "its verb does not match the playbook's action",
            Self::Example => "it repeats an example of a playbook but does not clearly order it",
        }
    }
}

/// The reading of a text by its form.
#[derive(Debug, Clone, PartialEq)]
pub struct IntentReading {
    /// The intent.
    pub intent: Intent,
    /// The certainty of the intent.
    pub certainty: Certainty,
    /// The part that may start, if the intent is a change.
    pub start: ChangeTiming,
    /// The kind of remark, if the text requests nothing.
    pub remark: Option<Remark>,
    /// The language of the text.
    pub language: Language,
    /// The ordered verbs of change, in their base forms.
    pub verbs: Vec<String>,
    /// The actions of its certain orders, or of all its orders if none is certain.
    pub actions: Vec<OrderedAction>,
    /// Whether it asks how to make a change.
    pub asks_how: bool,
    /// The number of requests: questions, and orders to look at something.
    pub parts: usize,
    /// The questions whose form reveals what they ask for.
    pub asked: Vec<AskedClause>,
    /// The words of the subject, for a search: without greetings, politeness and mere mentions.
    pub subject: String,
    /// The reasons for the reading, for people.
    pub reasons: Vec<String>,
}

impl IntentReading {
    fn of_remark(remark: Remark, text: &str) -> Self {
        IntentReading {
            intent: Intent::None,
            certainty: Certainty::Certain,
            start: ChangeTiming::Offer(Doubt::Object),
            remark: Some(remark),
            language: Language::English,
            verbs: Vec::new(),
            actions: Vec::new(),
            asks_how: false,
            parts: 0,
            asked: Vec::new(),
            subject: text.trim().to_owned(),
            reasons: vec![remark.reason().to_owned()],
        }
    }

    /// Returns whether a document with these texts covers all ordered actions. An order whose verb cannot be compared
    /// counts as covered.
    #[must_use]
    pub fn is_done_by(&self, texts: &[&str]) -> bool {
        self.actions
            .iter()
            .all(|ordered| sense::does(ordered, texts))
    }

    /// Replaces the intent by the one that the caller stated. A change that the text postpones, supposes or forbids is
    /// still not started.
    #[must_use]
    pub fn overruled(self, intent: Intent) -> Self {
        let start = match (intent, self.intent, self.remark) {
            (Intent::Change, Intent::Change, _) => self.start,
            (Intent::Change, Intent::Read | Intent::Knowledge | Intent::None, None) => {
                ChangeTiming::Now
            }
            (Intent::Change | Intent::Read | Intent::Knowledge | Intent::None, _, _) => {
                ChangeTiming::Offer(Doubt::Object)
            }
        };
        Self {
            intent,
            start,
            certainty: Certainty::Certain,
            remark: None,
            reasons: vec!["the request sets the intent".to_owned()],
            ..self
        }
    }
}

/// Returns the language of a text, without its quotations.
#[must_use]
pub fn language_of(text: &str) -> Language {
    let text = bounded(text);
    let own = foreign_text::blanked(&text, &foreign_text::foreign(&text));
    language::language(&own, &token::tokens(&own))
}

/// Reads the intent of a text.
#[must_use]
pub fn read(text: &str) -> IntentReading {
    let text = bounded(text);
    let text = text.as_str();
    let foreign = foreign_text::foreign(text);
    let own = foreign_text::blanked(text, &foreign);
    let all = token::tokens(&own);
    let all = &all[remark::address(&all)..];
    if let language @ Language::Other(name) = language::language(&own, all) {
        return IntentReading {
            language,
            reasons: vec![format!("it is written in {name}")],
            ..IntentReading::of_remark(Remark::Statement, text)
        };
    }
    if let Some(remark) = remark::remark(text, all) {
        return IntentReading::of_remark(remark, text);
    }
    if names_nothing(all) {
        return IntentReading::of_remark(Remark::FollowUp, text);
    }
    let clauses = clauses(all);
    let mut acts = acts(all, &clauses);
    forwarded::report(text, all, &clauses, &mut acts);
    let said = ParsedText {
        text,
        all,
        clauses: &clauses,
        acts: &acts,
        foreign: &foreign,
    };
    let mut reading = said.reading();
    reading.parts = said.parts();
    reading.asked = asked::asked(&said);
    reading.subject = subject::subject(&said, reading.intent);
    reading
}

/// Returns whether a lower-case word is a content word, unlike "the" or "please".
pub(crate) fn carries_subject(word: &str) -> bool {
    !words::EMPTY_WORDS.contains(&word) && !words::OPENERS.contains(&word)
}

/// Returns whether a text has only identifiers, like "and in eu-west-1?", and does not ask for their meaning.
fn names_nothing(all: &[Token]) -> bool {
    let said = || {
        all.iter()
            .filter(|token| !matches!(token.kind, TokenKind::Mark(_)))
    };
    let empty = |token: &Token| {
        token.is_specific() || token.is_any(words::EMPTY_WORDS) || token.is_any(words::OPENERS)
    };
    let asks_what_it_is = said().any(|token| token.is_any(&["does", "mean", "means"]));
    !asks_what_it_is
        && said().any(Token::is_specific)
        && said().any(|token| token.kind == TokenKind::Word)
        && said().all(empty)
}

/// Returns the beginning and the end of a long text.
fn bounded(text: &str) -> String {
    if text.len() <= MAX_READ {
        return text.to_owned();
    }
    let half = MAX_READ / 2;
    let first = (0..=half)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    let from = text.len() - half;
    let last = (from..text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(text.len());
    format!("{}\n{}", &text[..first], &text[last..])
}

#[cfg(test)]
mod tests;
