//! Texts that depend on an earlier one: "and in us-east-1?"
//!
//! Decides whether a text refers to an earlier question, and which parameters it inherits from there. Deterministic:
//! equal texts after equal questions have equal results. Knows no sessions and no routing.

use charter_contract::parameter::Parameter;
use charter_contract::time::Timestamp;
use serde_json::{Map, Value};

use crate::parameters;

/// The maximum number of words; a longer text is independent.
const MAX_WORDS: usize = 12;

/// Openings that connect a text to the previous one; an opening that begins another one follows it.
const CONNECTIVES: [&str; 17] = [
    "what about",
    "how about",
    "and",
    "also",
    "but",
    "or",
    "then",
    "now",
    "again",
    "only",
    "just",
    "same",
    "the same",
    "likewise",
    "instead",
    "the other",
    "another",
];

/// Words that ask for a value other than the last one.
const OTHERS: [&str; 3] = ["other", "another", "different"];

/// How well a text matches on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandaloneMeaning {
    /// A good match.
    Clear,
    /// Only a weak match.
    Weak,
    /// No match.
    Nothing,
}

/// Returns the reason, for people, why a text is treated as a follow-up; `None` if it is independent. A text with a
/// clear meaning of its own is never a follow-up.
#[must_use]
pub fn leans(text: &str, alone: StandaloneMeaning) -> Option<String> {
    let words = words(text);
    if words.is_empty() || words.len() > MAX_WORDS {
        return None;
    }
    let said = words.join(" ");
    let begins = |connective: &&&str| {
        let rest = said.strip_prefix(**connective);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let connective = CONNECTIVES.iter().find(begins);
    match (alone, connective) {
        (StandaloneMeaning::Clear, _) | (StandaloneMeaning::Weak, None) => None,
        (StandaloneMeaning::Nothing, None) => {
            Some("it is short and matches nothing alone".to_owned())
        }
        (StandaloneMeaning::Nothing, Some(first)) => Some(format!(
            "it is short, begins with `{first}` and matches nothing alone"
        )),
        (StandaloneMeaning::Weak, Some(first)) => Some(format!(
            "it is short, begins with `{first}` and matches nothing well alone"
        )),
    }
}

/// Returns whether a text asks for another value. Only then are earlier values considered.
#[must_use]
pub fn asks_for_another(text: &str) -> bool {
    words(text)
        .iter()
        .any(|word| OTHERS.contains(&word.as_str()))
}

/// An ambiguous "the other": the candidates are more or fewer than two.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("which {name} is meant? {}", known(.values))]
pub struct WhichOther {
    /// The parameter.
    pub name: String,
    /// The possible values: more than one, or none.
    pub values: Vec<Value>,
}

fn known(values: &[Value]) -> String {
    if values.is_empty() {
        return "the session names no other".to_owned();
    }
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    format!("it could be {}", values.join(" or "))
}

/// Returns the parameters that a follow-up inherits from the previous question: those that its text does not state.
///
/// "The other X" is the one value of X that the last question did not have, among those of earlier questions (`seen`)
/// and the declared default. Undeclared names are left out.
///
/// # Errors
/// [`WhichOther`] when there is not exactly one such value.
pub fn take_over(
    declared: &[Parameter],
    last: &Map<String, Value>,
    seen: &[Map<String, Value>],
    text: &str,
    now: Timestamp,
) -> Result<Map<String, Value>, WhichOther> {
    let stated = parameters::read(declared, text, now).stated;
    let mut values = Map::new();
    let words = words(text);
    for parameter in declared
        .iter()
        .filter(|parameter| !stated.contains_key(&parameter.name))
    {
        let name = parameter.name.as_ref();
        let value = if names_another(&words, name) {
            Some(other(parameter, last.get(name), seen)?)
        } else {
            last.get(name).cloned()
        };
        if let Some(value) = value {
            values.insert(name.to_owned(), value);
        }
    }
    Ok(values)
}

/// Returns whether "other", or a similar word, precedes a parameter's name or the first part of the name.
fn names_another(words: &[String], name: &str) -> bool {
    let name = name.to_lowercase();
    let first = name.split('_').next().unwrap_or_default();
    words.windows(2).any(|pair| {
        let noun = pair[1].as_str();
        OTHERS.contains(&pair[0].as_str()) && (noun == name || noun == first)
    })
}

fn other(
    parameter: &Parameter,
    last: Option<&Value>,
    seen: &[Map<String, Value>],
) -> Result<Value, WhichOther> {
    let name = parameter.name.as_ref();
    let earlier = seen.iter().filter_map(|values| values.get(name));
    let mut values: Vec<Value> = Vec::new();
    for value in earlier.chain(&parameter.default) {
        if Some(value) != last && !values.contains(value) {
            values.push(value.clone());
        }
    }
    match values.as_slice() {
        [only] => Ok(only.clone()),
        _ => Err(WhichOther {
            name: name.to_owned(),
            values,
        }),
    }
}

/// Returns the words of a text in lower case, without surrounding punctuation.
fn words(text: &str) -> Vec<String> {
    let bare = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        bare.to_lowercase()
    };
    let words = text.split_whitespace().map(bare);
    words.filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    fn declared() -> Vec<Parameter> {
        serde_json::from_value(json!([
            {"name": "region", "type": "string", "required": true, "default": "us-east-1",
             "pattern": "^[a-z]{2}(-[a-z]+)+-[0-9]$"},
            {"name": "account_id", "type": "string"},
            {"name": "limit", "type": "integer", "default": 10}
        ]))
        .unwrap()
    }

    #[test]
    fn b003_11_a_short_text_leans_only_where_it_is_not_clear_alone() {
        let long = "and ".repeat(MAX_WORDS + 1);
        for (text, alone, leaning) in [
            ("And the other region?", StandaloneMeaning::Nothing, true),
            ("And the other region?", StandaloneMeaning::Weak, true),
            (
                "and are my S3 buckets public?",
                StandaloneMeaning::Clear,
                false,
            ),
            ("what about eu-west-1", StandaloneMeaning::Weak, true),
            ("in eu-west-1?", StandaloneMeaning::Nothing, true),
            ("in eu-west-1?", StandaloneMeaning::Weak, false),
            ("android phones", StandaloneMeaning::Weak, false),
            ("and", StandaloneMeaning::Weak, true),
            (long.as_str(), StandaloneMeaning::Nothing, false),
            ("?!", StandaloneMeaning::Nothing, false),
        ] {
            assert_eq!(leans(text, alone).is_some(), leaning, "{text} {alone:?}");
        }
        assert_eq!(
            leans("And in eu-west-1?", StandaloneMeaning::Nothing).unwrap(),
            "it is short, begins with `and` and matches nothing alone"
        );
    }

    fn now() -> Timestamp {
        Timestamp::parse("2026-06-17T10:30:00Z").unwrap()
    }

    #[test]
    fn b003_11_a_follow_up_keeps_what_it_does_not_replace() {
        let last = object(json!({"region": "eu-west-1", "account_id": "42", "gone": 1}));
        let taken = take_over(&declared(), &last, &[], "and in eu-north-1?", now());
        assert_eq!(taken, Ok(object(json!({"account_id": "42"}))));
        let same = take_over(&declared(), &last, &[], "again please", now());
        let expected = json!({"region": "eu-west-1", "account_id": "42"});
        assert_eq!(same, Ok(object(expected)));
    }

    #[test]
    fn b003_11_the_other_is_the_only_other_or_asked_back() {
        let text = "and the other region?";
        assert!(asks_for_another(text) && !asks_for_another("mothers and brothers"));
        let last = object(json!({"region": "eu-west-1"}));
        let region = |seen: &[Value]| {
            let seen: Vec<_> = seen
                .iter()
                .map(|region| object(json!({"region": region})))
                .collect();
            take_over(&declared(), &last, &seen, text, now()).map(|taken| taken["region"].clone())
        };
        assert_eq!(region(&[]), Ok(json!("us-east-1")), "the default");
        assert_eq!(
            region(&[json!("us-east-1"), json!("eu-west-1")]),
            Ok(json!("us-east-1"))
        );
        let two = region(&[json!("eu-north-1")]).unwrap_err();
        assert_eq!(
            two.to_string(),
            "which region is meant? it could be \"eu-north-1\" or \"us-east-1\""
        );
        let account =
            take_over(&declared(), &last, &[], "and another account?", now()).unwrap_err();
        assert_eq!(
            account.to_string(),
            "which account_id is meant? the session names no other"
        );
    }
}
