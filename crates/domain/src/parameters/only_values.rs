//! Decides whether a text answers a question about parameters although it was not sent as a reply: it contains values
//! of these parameters and nothing else.
//!
//! Must not know sessions, or the interface that received the text.

use std::collections::BTreeSet;

use charter_contract::ids::Label;
use charter_contract::parameter::Parameter;
use charter_contract::time::Timestamp;
use serde_json::{Map, Value};

use super::{Reply, Stated, ValueSource, from_reply, read};

/// The maximum number of words; a longer text has other content.
const MAX_WORDS: usize = 24;

/// The maximum number of words of a text that is a single value.
const MAX_WHOLE_WORDS: usize = 4;

/// Filler words around values.
#[rustfmt::skip]
const AROUND: &[&str] = &[
    "a", "an", "and", "also", "as", "at", "be", "by", "called", "for", "from", "here", "i", "in", "is", "it", "its",
    "let", "me", "mean", "meant", "my", "name", "named", "of", "ok", "okay", "on", "one", "our", "please", "s", "set",
    "should", "take", "thanks", "that", "the", "then", "this", "to", "try", "use", "using", "value", "want", "was",
    "with", "would", "yes", "us", "m",
];

/// Returns the values of a text that contains only values of declared parameters, including one in `missing`. Returns
/// `None` for a text with other content. The text may repeat values that are `known`.
#[must_use]
pub fn values_alone(
    declared: &[Parameter],
    known: &Map<String, Value>,
    missing: &[Label],
    text: &str,
    now: Timestamp,
) -> Option<Reply> {
    if words(text).count() > MAX_WORDS {
        return None;
    }
    if let Some(reply) = stated_alone(declared, missing, text, now) {
        return Some(reply);
    }
    // A missing parameter may have the form of a known one, to which the words would be assigned first.
    let is_open = |parameter: &&Parameter| !known.contains_key(parameter.name.as_str());
    let open: Vec<Parameter> = declared.iter().filter(is_open).cloned().collect();
    stated_alone(&open, missing, text, now)
}

fn stated_alone(
    declared: &[Parameter],
    missing: &[Label],
    text: &str,
    now: Timestamp,
) -> Option<Reply> {
    let reading = read(declared, text, now);
    let mut named = reading
        .stated
        .keys()
        .chain(reading.unclear.iter().map(|unclear| &unclear.parameter));
    if !named.any(|name| missing.contains(name)) {
        return None;
    }
    let of_values = reading
        .stated
        .values()
        .map(|stated| stated.words.as_str())
        .chain(reading.unclear.iter().map(|unclear| unclear.words.as_str()));
    let rest = without(text, of_values);
    let names = names_of(declared);
    let mut rest = words(&rest);
    if rest.any(|word| !AROUND.contains(&word.as_str()) && !names.contains(singular(&word))) {
        return None;
    }
    let mut reply = Reply {
        unclear: reading.unclear,
        ..Reply::default()
    };
    for (name, Stated { value, words, .. }) in reading.stated {
        reply.values.insert(name.to_string(), value);
        reply
            .sources
            .insert(name.to_string(), ValueSource::Sentence { words });
    }
    Some(reply)
}

/// Returns the value of a short text that is the value of the only missing parameter. The caller checks that the text
/// is not a new request.
#[must_use]
pub fn value_as_a_whole(
    declared: &[Parameter],
    missing: &[Label],
    text: &str,
    now: Timestamp,
) -> Option<Reply> {
    let [missing] = missing else {
        return None;
    };
    if words(text).count() > MAX_WHOLE_WORDS {
        return None;
    }
    let only = declared.iter().filter(|one| one.name == *missing);
    let only: Vec<Parameter> = only.cloned().collect();
    let reply = from_reply(&only, &Map::new(), &Map::new(), text, now);
    (!reply.values.is_empty()).then_some(reply)
}

/// Removes the first occurrence of each of these words from a text.
fn without<'w>(text: &str, words: impl Iterator<Item = &'w str>) -> String {
    let mut rest = text.to_owned();
    // Longest first, because one may contain another.
    let mut words: Vec<&str> = words.filter(|words| !words.is_empty()).collect();
    words.sort_by_key(|words| std::cmp::Reverse(words.len()));
    for words in words {
        rest = rest.replacen(words, " ", 1);
    }
    rest
}

/// Returns the words of the parameters' names, in the singular.
fn names_of(declared: &[Parameter]) -> BTreeSet<String> {
    let names = declared
        .iter()
        .flat_map(|parameter| words(parameter.name.as_str()).chain(words(parameter.called())));
    names.map(|word| singular(&word).to_owned()).collect()
}

/// Removes the plural ending of a word.
fn singular(word: &str) -> &str {
    match word.strip_suffix('s') {
        Some(stem) if stem.len() > 2 => stem,
        Some(_) | None => word,
    }
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn declared() -> Vec<Parameter> {
        serde_json::from_value(json!([
            {"name": "profile", "type": "string", "required": true, "example": "ops_ro"},
            {"name": "host", "type": "string", "required": true, "example": "web-07"},
            {"name": "region", "type": "string", "pattern": "^[a-z]{2}(-[a-z]+)+-[0-9]$"},
            {"name": "team", "type": "string", "required": true},
        ]))
        .unwrap()
    }

    fn now() -> Timestamp {
        Timestamp::parse("2026-06-17T10:30:00Z").unwrap()
    }

    fn labels(names: &[&str]) -> Vec<Label> {
        names
            .iter()
            .map(|name| Label::parse(name).unwrap())
            .collect()
    }

    fn object(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    /// A text of values alone is a reply; any other word makes it a new request.
    #[test]
    fn a_text_of_values_alone_answers_what_was_asked_for() {
        let known = object(json!({"region": "eu-west-1"}));
        for (missing, text, gives) in [
            (
                "profile",
                "profile prod_infra",
                Some(json!({"profile": "prod_infra"})),
            ),
            (
                "profile",
                "with profile prod_infra, please",
                Some(json!({"profile": "prod_infra"})),
            ),
            ("host", "web-01", Some(json!({"host": "web-01"}))),
            (
                "host",
                "the host is web-01",
                Some(json!({"host": "web-01"})),
            ),
            // The text repeats a known value.
            (
                "profile",
                "profile prod_infra in us-east-1",
                Some(json!({"profile": "prod_infra", "region": "us-east-1"})),
            ),
            // Other words: a new request.
            ("host", "restart web-01", None),
            ("profile", "which hosts run with profile prod_infra", None),
            // The text contains no missing value.
            ("profile", "us-east-1", None),
            ("profile", "yes", None),
            ("host", "all but web-01", None),
            ("profile", "", None),
        ] {
            let missing = labels(&[missing]);
            let reply = values_alone(&declared(), &known, &missing, text, now());
            let values = reply.map(|reply| Value::Object(reply.values));
            assert_eq!(values, gives, "{text}");
        }
    }

    #[test]
    fn words_that_name_a_value_and_do_not_give_it_answer_too() {
        let missing = labels(&["region"]);
        let reply = values_alone(&declared(), &Map::new(), &missing, "region: mars", now());
        let reply = reply.unwrap();
        assert_eq!(reply.values, Map::new());
        assert_eq!(reply.unclear.len(), 1, "{:?}", reply.unclear);
    }

    #[test]
    fn a_short_text_is_the_only_value_that_was_asked_for() {
        let whole = |missing: &[&str], text: &str| {
            let missing = labels(missing);
            let reply = value_as_a_whole(&declared(), &missing, text, now());
            reply.map(|reply| Value::Object(reply.values))
        };
        assert_eq!(
            whole(&["team"], "north wing"),
            Some(json!({"team": "north wing"}))
        );
        assert_eq!(whole(&["team", "host"], "north wing"), None);
        assert_eq!(whole(&["team"], "the one that looks after the gates"), None);
        assert_eq!(whole(&["region"], "somewhere"), None);
    }
}
