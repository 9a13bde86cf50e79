//! Allowed values and their words.

use charter_contract::parameter::Parameter;
use serde_json::Value;

use super::seen::{Misread, PlaceContent, Strength};
use super::text::Sentence;
use super::words::{
    is_attribute, is_capitalised, is_function_word, is_verb, may_be_value, singular, speaks_about,
};
use crate::parameters::ParameterFault;

/// The allowed values of a parameter.
#[derive(Debug)]
pub(super) struct Choices {
    ways: Vec<ValueWording>,
    /// Whether all of them are numbers.
    numbers: bool,
    fault: String,
}

/// One wording of an allowed value.
#[derive(Debug)]
struct ValueWording {
    value: Value,
    /// The declared spelling.
    written: String,
    words: Vec<String>,
}

impl Choices {
    /// Collects the values, with the words that the document declares for them.
    pub(super) fn for_parameter(parameter: &Parameter, allowed: &[Value]) -> Self {
        let mut ways = Vec::new();
        for value in allowed {
            let own = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let further = parameter.synonyms.get(&own).into_iter().flatten();
            let further = further.map(|word| word.as_str().to_owned());
            ways.extend(
                further
                    .chain([own.clone()])
                    .map(|written| ValueWording::new(value, written)),
            );
        }
        // Longer wordings come first: "In progress" before "in".
        ways.sort_by_key(|way| std::cmp::Reverse(way.words.len()));
        let fault = ParameterFault::NotAllowed {
            name: parameter.called().to_owned(),
            allowed: Value::Array(allowed.to_vec()).to_string(),
        };
        Self {
            ways,
            numbers: allowed.iter().all(Value::is_number),
            fault: fault.to_string(),
        }
    }

    /// Returns the reason why a word is not an allowed value.
    pub(super) fn fault(&self) -> Misread {
        Misread::Unfit(self.fault.clone())
    }

    /// Finds an allowed value at a position.
    pub(super) fn see(
        &self,
        sentence: &Sentence<'_>,
        at: usize,
        strength: Strength,
    ) -> PlaceContent {
        for way in &self.ways {
            if let Some(words) = way.at(sentence, at)
                && (strength >= Strength::Linked || way.is_meant(sentence, at, words, strength))
            {
                return PlaceContent::Value(way.value.clone(), words);
            }
        }
        let lower = sentence.lower(at);
        let meant = match strength {
            Strength::Written => !lower.is_empty(),
            Strength::Linked => may_be_value(lower) && sentence.breaks(at + 1),
            Strength::Beside => {
                self.numbers && lower.chars().all(|c| c.is_ascii_digit()) && !lower.is_empty()
            }
            Strength::Likely | Strength::Shaped | Strength::Fitting => false,
        };
        match meant {
            true => PlaceContent::Doubt(self.fault(), 1),
            false => PlaceContent::Nothing,
        }
    }
}

impl ValueWording {
    fn new(value: &Value, written: String) -> Self {
        let lower = written.to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric());
        Self {
            value: value.clone(),
            words: words
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect(),
            written,
        }
    }

    /// Returns the number of words at a position that match this wording.
    fn at(&self, sentence: &Sentence<'_>, at: usize) -> Option<usize> {
        let lower = sentence.lower(at);
        if lower.is_empty() || self.words.is_empty() {
            return None;
        }
        if lower == self.written.to_lowercase() {
            return Some(1);
        }
        let one = lower
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty());
        if self.words.len() > 1 && one.eq(self.words.iter().map(String::as_str)) {
            return Some(1);
        }
        let mut parts = self.words.iter().enumerate();
        let all = parts.all(|(nth, part)| {
            let word = sentence.lower(at + nth);
            let last = nth + 1 == self.words.len();
            let same = word == part || (last && part.len() > 3 && singular(word) == singular(part));
            same && (nth == 0 || sentence.joins(at + nth))
        });
        all.then_some(self.words.len())
    }

    /// Returns whether a word without a preceding name means the value. For common words this depends on the context:
    /// "high" in "only high ones", but not in "how high".
    fn is_meant(
        &self,
        sentence: &Sentence<'_>,
        at: usize,
        words: usize,
        strength: Strength,
    ) -> bool {
        let [word] = self.words.as_slice() else {
            return true;
        };
        let written = sentence.written(at);
        let number = word.chars().all(|c| c.is_ascii_digit());
        if number || is_function_word(word) {
            return strength >= Strength::Beside;
        }
        if strength < Strength::Beside
            && (word.len() <= 2 && written != self.written || is_part_of_name(sentence, at))
        {
            return false;
        }
        let next = sentence.lower(at + words);
        let ordered = is_verb(word)
            && sentence.joins(at + words)
            && matches!(
                next,
                "the"
                    | "a"
                    | "an"
                    | "this"
                    | "that"
                    | "it"
                    | "my"
                    | "our"
                    | "all"
                    | "up"
                    | "every"
                    | "these"
                    | "them"
            );
        let graded = is_attribute(word) || speaks_about(word);
        let led = sentence.preceded(
            at,
            &[
                &["a"],
                &["an"],
                &["the"],
                &["this"],
                &["my"],
                &["our"],
                &["how"],
                &["too"],
                &["very"],
                &["so"],
                &["as"],
                &["more"],
                &["most"],
            ],
        );
        let ones = matches!(next, "ones" | "one");
        !ordered && (strength >= Strength::Beside || !graded || !led || ones)
    }
}

/// Returns whether a word is the first of a name of several words: "New York".
fn is_part_of_name(sentence: &Sentence<'_>, at: usize) -> bool {
    let inside = at > 0 && !sentence.begins(at);
    inside
        && sentence.joins(at + 1)
        && is_capitalised(sentence.written(at))
        && is_capitalised(sentence.written(at + 1))
}
