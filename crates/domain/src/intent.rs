//! What a text asks for, by its form: to read the state of things, to change something, to know a rule, or nothing
//! that is looked after here (B000-20).
//!
//! A sentence is read, not matched: its clauses are told apart, each clause's speech act is taken from its mood, and
//! what is negated, supposed, put off, reported or quoted orders nothing. [`read()`] looks at the text alone;
//! [`settle`] adds how well documents fit, where the form leaves a doubt. Both are bounded and know no catalogue.

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

/// Bytes of a text that are read, half of them from its end: a request stands before or after what is pasted.
const MAX_READ: usize = charter_contract::bounds::INTENT_BYTES;

/// How sure the form is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// The form leaves no doubt.
    Certain,
    /// It says so rather than otherwise.
    Likely,
    /// It leaves open which of two it is.
    Open(Intent),
}

/// What a text that asks for a change asks to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeTiming {
    /// The change.
    Now,
    /// A trial of it that changes nothing.
    DryRun,
    /// Nothing: it may be offered.
    Offer(Doubt),
}

/// Why a change is not started although one is spoken of.
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
    /// The verb is not known, or may be a noun.
    Verb,
    /// The verb has a typing error.
    Spelling,
    /// What is to be changed was said before, not here.
    Object,
    /// It was translated.
    Translated,
    /// A model reads it as a change, and the form does not say so.
    Model,
    /// It names a playbook without ordering to run it, or with a typing error in the name.
    Name,
    /// It has words that are known neither as English nor from the catalogue.
    Language,
    /// It asks a question beside what it orders.
    Question,
    /// Its verb is another one than those of the playbook that fits.
    OtherAction,
    /// It repeats an example of a playbook as a question, in quotation marks or the like.
    Example,
}

impl Doubt {
    /// Why, for people.
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

/// What the form of a text says.
#[derive(Debug, Clone, PartialEq)]
pub struct IntentReading {
    /// The intent.
    pub intent: Intent,
    /// How sure that is.
    pub certainty: Certainty,
    /// What may be started, where the intent is a change.
    pub start: ChangeTiming,
    /// Why it asks for nothing, where it does.
    pub remark: Option<Remark>,
    /// The language that it is written in.
    pub language: Language,
    /// The verbs of change that it orders, in their base forms.
    pub verbs: Vec<String>,
    /// The actions of its certain orders; of all its orders where none is certain.
    pub actions: Vec<OrderedAction>,
    /// Whether it asks how to carry out a change.
    pub asks_how: bool,
    /// How many things it asks for: questions, and orders to look at something.
    pub parts: usize,
    /// Its questions, as far as their form says what they ask for.
    pub asked: Vec<AskedClause>,
    /// The words that say what it is about, for a search: without greetings, politeness and what is only mentioned.
    pub subject: String,
    /// Why, for people.
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

    /// Whether a document with these texts does all that is ordered. An order whose verb cannot be compared passes.
    #[must_use]
    pub fn is_done_by(&self, texts: &[&str]) -> bool {
        self.actions
            .iter()
            .all(|ordered| sense::does(ordered, texts))
    }

    /// The same, where the caller has said which intent it is. What the form puts off, supposes or forbids is not
    /// started for all that.
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

/// The language of a text, without what it quotes.
#[must_use]
pub fn language_of(text: &str) -> Language {
    let text = bounded(text);
    let own = foreign_text::blanked(&text, &foreign_text::foreign(&text));
    language::language(&own, &token::tokens(&own))
}

/// Reads a text.
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

/// Whether a lower-case word is a content word, unlike "the" or "please".
pub(crate) fn carries_subject(word: &str) -> bool {
    !words::EMPTY_WORDS.contains(&word) && !words::OPENERS.contains(&word)
}

/// Whether a text has identifiers and no word of content, as "and in eu-west-1?", and does not ask what they are.
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

/// The beginning and the end of a long text.
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
