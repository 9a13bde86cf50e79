//! Texts with only a known parameter name, and the kind of thing that the name refers to.

use charter_contract::parameter::Parameter;

use super::kinds::{self, Kind};
use super::names::Names;
use super::reader::Reader;
use super::seen::{PlaceContent, Strength, text};
use super::text::Sentence;
use super::words::{is_capitalised, is_function_word, looks_like_code, may_be_value};

/// A text without a known form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Free {
    /// Words of its description, which are not values.
    described: Vec<String>,
    /// The kind of thing that the name refers to.
    names: Naming,
    /// The values in the declaration.
    shown: Vec<String>,
}

/// The kind of thing that a text refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// A place: "in Berlin".
    Place,
    /// A person: "for Ada".
    Person,
    /// Sentences: a reason, a message.
    Prose,
    /// Anything else.
    Other,
}

const PLACES: [&str; 13] = [
    "city",
    "country",
    "location",
    "place",
    "office",
    "site",
    "town",
    "venue",
    "state",
    "area",
    "destination",
    "origin",
    "warehouse",
];

const PEOPLE: [&str; 13] = [
    "customer",
    "user",
    "owner",
    "assignee",
    "employee",
    "person",
    "lead",
    "contact",
    "manager",
    "recipient",
    "candidate",
    "client",
    "member",
];

const PROSE: [&str; 13] = [
    "reason",
    "message",
    "comment",
    "note",
    "text",
    "subject",
    "title",
    "body",
    "description",
    "query",
    "question",
    "content",
    "summary",
];

impl Free {
    /// Returns whether the name refers to a place.
    pub(super) fn is_place(&self) -> bool {
        self.names == Naming::Place
    }

    pub(super) fn for_parameter(parameter: &Parameter, names: &Names, shown: &[&str]) -> Self {
        let named = shown.iter().any(|text| text.split(' ').all(is_capitalised));
        let naming = if names.has_part(&PROSE) {
            Naming::Prose
        } else if named && names.has_part(&PLACES) {
            Naming::Place
        } else if named && names.has_part(&PEOPLE) {
            Naming::Person
        } else {
            Naming::Other
        };
        let lower = parameter.description.to_lowercase();
        let described = lower.split(|c: char| !c.is_alphanumeric());
        Self {
            described: described
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect(),
            names: naming,
            shown: shown.iter().map(|text| (*text).to_owned()).collect(),
        }
    }

    /// Returns whether an ordinary word before the name may be the value: "the payments service". Without a known
    /// value, the word may as well denote a kind of the thing: "the coffee machine".
    pub(super) fn may_precede_name(&self) -> bool {
        !self.shown.is_empty()
    }

    pub(super) fn see(
        &self,
        reader: Reader<'_, '_>,
        at: usize,
        strength: Strength,
    ) -> PlaceContent {
        let sentence = reader.sentence;
        let (word, lower) = (sentence.written(at), sentence.lower(at));
        let code = looks_like_code(word) && self.may_be_code(word);
        let unknown = may_be_value(lower) && !self.described.iter().any(|known| known == lower);
        match strength {
            Strength::Written => self.written(sentence, at),
            Strength::Linked if code || unknown => text(word, 1),
            Strength::Beside if code => text(word, 1),
            Strength::Likely => self.likely(sentence, at),
            Strength::Linked | Strength::Beside | Strength::Shaped | Strength::Fitting => {
                PlaceContent::Nothing
            }
        }
    }

    /// Returns whether a code may be the value; dates, amounts and addresses mean other things.
    fn may_be_code(&self, word: &str) -> bool {
        let kind = kinds::kind(word);
        self.names != Naming::Prose
            && kind.is_none_or(|kind| matches!(kind, Kind::Host | Kind::Version | Kind::Path))
    }

    fn written(&self, sentence: &Sentence<'_>, at: usize) -> PlaceContent {
        if let Some((quoted, words)) = sentence.quotation(at) {
            return text(quoted, words);
        }
        let colon = sentence.gap(at).trim() == ":";
        match (self.names, sentence.written(at)) {
            (_, "") => PlaceContent::Nothing,
            (Naming::Place | Naming::Person | Naming::Other, _)
                if colon && is_function_word(sentence.lower(at)) =>
            {
                PlaceContent::Nothing
            }
            (Naming::Prose, _) => {
                let (rest, words) = sentence.rest(at);
                text(rest, words)
            }
            (Naming::Place | Naming::Person | Naming::Other, word) => text(word, 1),
        }
    }

    /// Finds a value from the declaration, verbatim: a code at any position, another word only after a preposition.
    fn shown(&self, sentence: &Sentence<'_>, at: usize) -> Option<&str> {
        let lower = sentence.lower(at);
        let mut shown = self.shown.iter();
        let same = shown.find(|text| text.to_lowercase() == lower)?;
        let closed = sentence.breaks(at + 1) || is_function_word(sentence.lower(at + 1));
        let led = sentence.preceded(
            at,
            &[
                &["for"],
                &["with"],
                &["in"],
                &["on"],
                &["using"],
                &["under"],
                &["from"],
            ],
        );
        let meant = looks_like_code(same) || (led && closed && may_be_value(lower));
        (meant && self.names != Naming::Prose).then_some(same.as_str())
    }

    /// Finds a value from the declaration, or a name that a preposition marks as a place or a person.
    fn likely(&self, sentence: &Sentence<'_>, at: usize) -> PlaceContent {
        if let Some(shown) = self.shown(sentence, at) {
            return text(shown, 1);
        }
        let led = match self.names {
            Naming::Place => sentence.preceded(at, &[&["in"], &["at"], &["near"]]),
            Naming::Person => {
                sentence.preceded(at, &[&["for"], &["to"], &["of"], &["by"], &["from"]])
            }
            Naming::Prose | Naming::Other => false,
        };
        let is_name = |at: usize| is_capitalised(sentence.written(at));
        if !led || !is_name(at) {
            return PlaceContent::Nothing;
        }
        let mut words = 1;
        while sentence.joins(at + words) && is_name(at + words) {
            words += 1;
        }
        text(sentence.slice(at, words), words)
    }
}
