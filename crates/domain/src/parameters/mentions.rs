//! Values that a sentence mentions for parameters that were not given.
//!
//! Must not know the question's answer, or the interface that it came over.

use charter_contract::parameter::{Parameter, ParameterType};
use regex::Regex;
use serde_json::{Map, Value};

use super::present;

/// Longest text that is searched for mentions, in bytes.
const MAX_TEXT: usize = 16_384;

/// Longest word that can be an ordinary one, in bytes.
const MAX_ORDINARY: usize = 64;

/// Words as any sentence may have them, of each common length and beginning, some of hexadecimal digits alone. A
/// pattern that fits one of them does not separate values from words.
const ORDINARY: &str = "a i an at be by do go if in is it me my no of on or so to up us we \
    add all and are bad can day fix for get has how its new not now old one our out see the top two use was who why \
    yes you dead does down each face find from give have help jobs just kind last list look make many most name need \
    open over quit read show team tell that them this time view what when will with work year your zone about added \
    check first group other owner there these value where which change decade every please region server system \
    account defaced payment question customers yesterday department information applications notifications \
    responsibility characteristics responsibilities on-call follow-up up-to-date";

/// The values for a skill's parameters: what is given, and for the rest what the text mentions.
///
/// Only text parameters with allowed values or a pattern are looked for, word by word; the first word that fits is
/// taken. `null` counts as not given. A pattern that ordinary words fit finds nothing: the first of them would be taken for the value. Anything
/// given under another name is kept, for [`super::bind`] to refuse.
#[must_use]
pub fn from_request(
    declared: &[Parameter],
    given: &Map<String, Value>,
    text: &str,
) -> Map<String, Value> {
    let mut values = present(declared, given);
    let text = prefix(text, MAX_TEXT);
    for parameter in declared {
        let name = parameter.name.as_ref();
        if !values.contains_key(name)
            && let Some(word) = mention(parameter, text)
        {
            values.insert(name.to_owned(), Value::String(word.to_owned()));
        }
    }
    values
}

fn mention<'t>(parameter: &Parameter, text: &'t str) -> Option<&'t str> {
    if parameter.kind != ParameterType::String {
        return None;
    }
    if let Some(allowed) = &parameter.allowed {
        return words(text).find(|word| allowed.iter().any(|value| value == word));
    }
    let pattern = parameter.pattern.as_deref()?;
    let pattern = Regex::new(&format!("^(?:{pattern})$")).ok()?;
    if fits_ordinary_words(&pattern, text) {
        return None;
    }
    words(text).find(|word| pattern.is_match(word))
}

/// Whether a pattern fits words that any sentence may have, or a word of this text that is like them.
fn fits_ordinary_words(pattern: &Regex, text: &str) -> bool {
    let fits = |word: &str| {
        let mut cases = in_each_case(word).into_iter();
        cases.any(|word| pattern.is_match(&word))
    };
    ORDINARY.split_whitespace().any(fits) || words(text).any(|word| is_like_ordinary(pattern, word))
}

/// As a word is within a sentence, at its beginning, and in a heading.
fn in_each_case(word: &str) -> [String; 3] {
    let (first, rest) = word.split_at(1);
    let capitalised = first.to_ascii_uppercase() + rest;
    [word.to_owned(), capitalised, word.to_ascii_uppercase()]
}

/// Whether a word has letters alone, fits, and another word in its place would fit as well. A word that a pattern
/// spells out is no such word.
fn is_like_ordinary(pattern: &Regex, word: &str) -> bool {
    let of_letters = word.len() <= MAX_ORDINARY && word.chars().all(char::is_alphabetic);
    of_letters && pattern.is_match(word) && others_like(word).any(|other| pattern.is_match(&other))
}

/// A word with one letter replaced by the next of the alphabet, for each letter, and with its last letter twice.
fn others_like(word: &str) -> impl Iterator<Item = String> {
    let letters: Vec<char> = word.chars().collect();
    let longer: String = letters.iter().chain(letters.last()).collect();
    let replaced = (0..letters.len()).map(move |place| {
        let other = |(at, letter): (usize, &char)| {
            if at == place { next(*letter) } else { *letter }
        };
        letters.iter().enumerate().map(other).collect::<String>()
    });
    replaced.chain([longer])
}

fn next(letter: char) -> char {
    match letter {
        'z' => 'a',
        'Z' => 'A',
        other => char::from_u32(u32::from(other) + 1).unwrap_or('a'),
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '"' | '\'' | '`'))
        .map(|word| word.trim_matches(|c: char| matches!(c, '.' | '?' | '!' | ':')))
        .filter(|word| !word.is_empty())
}

fn prefix(text: &str, limit: usize) -> &str {
    let mut end = text.len().min(limit);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn declared(parameters: &Value) -> Vec<Parameter> {
        serde_json::from_value(parameters.clone()).unwrap()
    }

    /// What a text mentions of one parameter with a pattern.
    fn found(pattern: &str, text: &str) -> Option<String> {
        let declared = declared(&json!([{"name": "it", "type": "string", "pattern": pattern}]));
        let values = from_request(&declared, &Map::new(), text);
        Some(values.get("it")?.as_str().unwrap().to_owned())
    }

    #[test]
    fn what_the_text_mentions_is_taken_when_nothing_is_given() {
        let declared = declared(&json!([
            {"name": "region", "type": "string", "pattern": "^[a-z]{2}(-[a-z]+)+-[0-9]$"},
            {"name": "severity", "type": "string", "enum": ["high", "low"]},
            {"name": "limit", "type": "integer", "default": 10},
            {"name": "profile", "type": "string"},
        ]));
        let text = "Which groups in eu-west-1, are open? Only high ones.";
        let taken =
            |given: Value| Value::Object(from_request(&declared, given.as_object().unwrap(), text));
        assert_eq!(
            taken(json!({})),
            json!({"region": "eu-west-1", "severity": "high"})
        );
        assert_eq!(
            taken(json!({"region": "us-east-1"})),
            json!({"region": "us-east-1", "severity": "high"})
        );
    }

    /// A pattern that fits ordinary words would take the first word of the question for its value.
    #[test]
    fn a_pattern_that_ordinary_words_fit_finds_nothing() {
        let text = "Which of the vaults did Mary-Ann purge with svc-42 on Tuesday, and WHY?";
        for pattern in [
            "^[a-z][a-z0-9-]{0,62}$",
            "^[a-z]+$",
            "[a-z]+",
            r"^\w+$",
            r"\S+",
            ".*",
            "^[^ ]+$",
            "^[A-Za-z0-9_.-]{1,63}$",
            "^[A-Z][a-z]+$",
            "^[A-Z]{3}$",
            "^[A-Z]+$",
            "^[0-9a-f]+$",
            "^[a-z]+(-[a-z]+)*$",
            "^[A-Z][a-z]+-[A-Z][a-z]+$|^[a-z]{2,}-[a-z]{2,}$",
            r"^\p{L}+$",
            "^p[a-z]+$",
            "^[a-z]+ge$",
            "^(svc-[0-9]+|[a-z]+)$",
            "(?i)^V[A-Z]{3,}S$",
        ] {
            assert_eq!(found(pattern, text), None, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_of_codes_finds_its_code() {
        for (pattern, text, value) in [
            (
                "^[a-z]{2}(-[a-z]+)+-[0-9]+$",
                "open in ap-southeast-2?",
                "ap-southeast-2",
            ),
            (
                "^sg-[0-9a-f]{8,17}$",
                "lock sg-0a1b2c3d, please",
                "sg-0a1b2c3d",
            ),
            ("sg-[0-9a-f]+", "lock sg-deadbeef now", "sg-deadbeef"),
            (
                "^[0-9]{12}$",
                "in the account 111122223333.",
                "111122223333",
            ),
            ("^[A-Z]{2,5}-[0-9]+$", "WHO works on OPS-123?", "OPS-123"),
            ("^lead_[0-9]+$", "show lead_101", "lead_101"),
            ("^v[0-9]+(\\.[0-9]+)*$", "what is new in v2.14?", "v2.14"),
            (
                "^[^@ ]+@[^@ ]+$",
                "remind ann@example.com of it",
                "ann@example.com",
            ),
            (
                "^arn:aws:[a-z0-9]+:.*$",
                "who may read arn:aws:s3:::b",
                "arn:aws:s3:::b",
            ),
            ("^(prod|staging)$", "what is new on staging", "staging"),
            ("^(PROD|STAGING)$", "what is new on PROD?", "PROD"),
            ("^[0-9a-f]{8}$", "the commit 0a1b2c3d broke it", "0a1b2c3d"),
        ] {
            assert_eq!(found(pattern, text).as_deref(), Some(value), "{pattern}");
        }
    }

    #[test]
    fn words_of_any_script_are_ordinary() {
        assert_eq!(found("^[а-я]+$", "кому принадлежит сервис"), None);
        assert_eq!(
            found("^[а-я]{2}[0-9]+$", "кому нужен аб42"),
            Some("аб42".to_owned())
        );
    }

    proptest! {
        /// A pattern of letters alone finds nothing, however long its words and wherever they begin.
        #[test]
        fn a_pattern_of_letters_finds_nothing(length in 1_usize..20, first in "[a-z]", text in "[a-z ]{0,60}") {
            prop_assert_eq!(found(&format!("^[a-z]{{{length}}}$"), &text), None);
            prop_assert_eq!(found(&format!("^{first}[a-z]*$"), &text), None);
        }

        #[test]
        fn any_text_is_searched(pattern in r"\^\[[a-z0-9]{1,3}\]\+\$", text in r"\PC{0,80}") {
            let declared = declared(&json!([{"name": "it", "type": "string", "pattern": pattern}]));
            let values = from_request(&declared, &Map::new(), &text);
            let value = values.get("it").and_then(Value::as_str);
            prop_assert!(value.is_none_or(|value| text.contains(value)));
        }
    }
}
