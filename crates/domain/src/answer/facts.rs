//! The facts of a source, indexed to check claims. Must not know which sentence cites the source.

use std::collections::BTreeSet;

use serde_json::Value;

use super::claims::{Claim, claims, lowered, spaced, words};
use super::common_words::is_common;

/// The numbers, words and texts of one source.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    numbers: BTreeSet<String>,
    words: BTreeSet<String>,
    /// Every text, key and number in lower case, one per line.
    text: String,
}

/// Words that name no resource: the words of the registered documents behind an answer.
#[derive(Debug, Clone, Default)]
pub struct Vocabulary(BTreeSet<String>);

impl Vocabulary {
    /// Creates the vocabulary from the words of these texts.
    pub fn from_texts<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        Self(texts.into_iter().flat_map(words).collect())
    }
}

impl Facts {
    /// Collects the facts of a value: its texts, keys and numbers.
    pub(super) fn from_value(value: &Value) -> Self {
        let mut facts = Self::default();
        facts.take(value);
        facts
    }

    fn take(&mut self, value: &Value) {
        match value {
            Value::Null => {}
            Value::Bool(flag) => self.write(&flag.to_string()),
            Value::Number(number) => self.write(&number.to_string()),
            Value::String(text) => self.write(text),
            Value::Array(items) => items.iter().for_each(|item| self.take(item)),
            Value::Object(fields) => {
                for (name, field) in fields {
                    self.write(name);
                    self.take(field);
                }
            }
        }
    }

    fn write(&mut self, text: &str) {
        let numbers = claims(text).into_iter().filter_map(|claim| match claim {
            Claim::Number(number) => Some(number),
            Claim::Literal(_) | Claim::Name { .. } => None,
        });
        self.numbers.extend(numbers);
        self.words.extend(words(text));
        self.text.push_str(&spaced(&lowered(text)));
        self.text.push('\n');
    }

    pub(super) fn has_number(&self, number: &str) -> bool {
        self.numbers.contains(number)
    }

    /// Returns whether a text occurs as a whole: `sg-1` does not occur in `sg-12` or `sg-1-old`.
    pub(super) fn has_literal(&self, literal: &str) -> bool {
        let (Some(first), Some(last)) = (literal.chars().next(), literal.chars().next_back())
        else {
            return false;
        };
        let mut from = 0;
        while let Some(found) = self.text[from..].find(literal) {
            let at = from + found;
            let before = self.text[..at].chars().rev();
            let after = self.text[at + literal.len()..].chars();
            if !goes_on(before, first) && !goes_on(after, last) {
                return true;
            }
            from = at + first.len_utf8();
        }
        false
    }

    /// Returns whether a word occurs, in the singular or the plural.
    pub(super) fn has_word(&self, word: &str) -> bool {
        has(&self.words, word)
    }
}

/// Returns whether a word of a name needs no source, because it is in the vocabulary or is common.
pub(super) fn is_known(word: &str, vocabulary: &Vocabulary, or_common: bool) -> bool {
    has(&vocabulary.0, word) || (or_common && is_common(word))
}

fn has(words: &BTreeSet<String>, word: &str) -> bool {
    let singular = ["es", "s"].iter().filter_map(|end| word.strip_suffix(*end));
    let mut forms = std::iter::once(word).chain(singular);
    forms.any(|form| words.contains(form)) || words.contains(&format!("{word}s"))
}

/// Returns whether these characters continue an id beyond its end. A `t` between digits separates a date from a time.
fn goes_on(mut beyond: impl Iterator<Item = char>, edge: char) -> bool {
    let Some(near) = beyond.next() else {
        return false;
    };
    if !edge.is_alphanumeric() {
        return false;
    }
    let next = beyond.next();
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    match near {
        't' if edge.is_ascii_digit() && is_digit(next) => false,
        '-' | '.' => next.is_some_and(char::is_alphanumeric),
        '_' => true,
        near => near.is_alphanumeric(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_id_occurs_as_a_whole_or_not_at_all() {
        let facts = Facts::from_value(&json!({
            "GroupId": "sg-12", "old": "sg-1-old", "arn": "arn:aws:ec2:eu-west-1:group/sg-7",
            "at": "2026-05-13T09:14:22Z", "host": "api.x.example", "cidr": "10.0.0.0/8",
        }));
        for there in [
            "sg-12",
            "sg-1-old",
            "sg-7",
            "2026-05-13",
            "09:14:22z",
            "api.x.example",
            "10.0.0.0/8",
            "10.0.0.0",
            "eu-west-1",
        ] {
            assert!(facts.has_literal(there), "{there}");
        }
        for absent in ["sg-1", "x.example", "10.0.0", "west", "0.0.0.0", ""] {
            assert!(!facts.has_literal(absent), "{absent}");
        }
    }

    #[test]
    fn numbers_are_compared_by_their_value() {
        let facts =
            Facts::from_value(&json!({"count": 1200, "price": "EUR 3.50", "port": "443/tcp"}));
        for there in ["1200", "3.5", "443"] {
            assert!(facts.has_number(there), "{there}");
        }
        assert!(!facts.has_number("12"));
    }

    #[test]
    fn words_of_keys_count_in_singular_and_plural() {
        let facts = Facts::from_value(&json!({"GroupName": "payroll"}));
        for there in ["group", "groups", "name", "groupname", "payroll"] {
            assert!(facts.has_word(there), "{there}");
        }
        assert!(!facts.has_word("pay"));
        let vocabulary = Vocabulary::from_texts(["Detects open security groups."]);
        assert!(is_known("group", &vocabulary, false));
        assert!(!is_known("restrict", &vocabulary, false));
        assert!(is_known("restrict", &vocabulary, true));
    }
}
