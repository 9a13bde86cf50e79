//! Extracts the values from a reply to a question about parameters.
//!
//! Must not know the author of the question, or the interface.

use std::collections::BTreeMap;

use charter_contract::ids::Label;
use charter_contract::parameter::Parameter;
use charter_contract::time::Timestamp;
use serde_json::{Map, Value};

use super::sentence::read_whole;
use super::{Excluded, Unclear, ValueSource, bind_so_far, check, present, read};

/// The values of a reply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// Values in addition to the known ones.
    pub values: Map<String, Value>,
    /// The source of each value.
    pub sources: BTreeMap<String, ValueSource>,
    /// Words that refer to a value that cannot be determined.
    pub unclear: Vec<Unclear>,
}

/// Returns the values of a reply in addition to those that are `known`: explicit values, and values in its text. If the
/// text contains none, and exactly one parameter is missing, the whole text is used if it is valid.
#[must_use]
pub fn from_reply(
    declared: &[Parameter],
    known: &Map<String, Value>,
    given: &Map<String, Value>,
    text: &str,
    now: Timestamp,
) -> Reply {
    let is_open = |parameter: &&Parameter| !known.contains_key(parameter.name.as_str());
    let open: Vec<Parameter> = declared.iter().filter(is_open).cloned().collect();
    let values = present(declared, given);
    let mut reply = Reply {
        sources: values
            .keys()
            .map(|name| (name.clone(), ValueSource::Given))
            .collect(),
        values,
        unclear: Vec::new(),
    };
    let reading = read(&open, text, now);
    let mut stated = false;
    for (name, found) in reading.stated {
        if !reply.values.contains_key(name.as_str()) {
            stated = true;
            reply.add_value(name.as_str(), found.value, found.words);
        }
    }
    let mut all = known.clone();
    all.extend(reply.values.clone());
    if !stated
        && let Ok(so_far) = bind_so_far(declared, &all)
        && let [missing] = so_far.missing.as_slice()
        && let Some(parameter) = open.iter().find(|parameter| parameter.name == *missing)
        && !leaves_out(&reading.excluded, missing)
        && let Some(value) = whole(parameter, text.trim(), now)
    {
        reply.add_value(missing.as_str(), value, text.trim().to_owned());
    }
    let lacks = |unclear: &Unclear| !reply.values.contains_key(unclear.parameter.as_str());
    reply.unclear = reading.unclear.into_iter().filter(lacks).collect();
    reply
}

impl Reply {
    fn add_value(&mut self, name: &str, value: Value, words: String) {
        self.values.insert(name.to_owned(), value);
        self.sources
            .insert(name.to_owned(), ValueSource::Sentence { words });
    }
}

/// Returns whether a reply excludes a value of a parameter instead of supplying one: "not prod".
fn leaves_out(excluded: &[Excluded], name: &Label) -> bool {
    let mut values = excluded.iter().flat_map(|one| &one.values);
    values.any(|(owner, _)| owner == name)
}

/// Reads a text as the value of a parameter.
fn whole(parameter: &Parameter, text: &str, now: Timestamp) -> Option<Value> {
    if text.is_empty() {
        return None;
    }
    let whole = Value::String(text.to_owned());
    match check(parameter, &whole) {
        Ok(()) => Some(whole),
        Err(_) => read_whole(parameter, text, now),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn declared() -> Vec<Parameter> {
        serde_json::from_value(json!([
            {"name": "vault", "type": "string", "required": true, "description": "the vault"},
            {"name": "region", "type": "string", "required": true, "pattern": "^[a-z]{2}-[0-9]$"},
            {"name": "days", "type": "integer"},
        ]))
        .unwrap()
    }

    fn now() -> Timestamp {
        Timestamp::parse("2026-06-17T10:30:00Z").unwrap()
    }

    fn reply(known: Value, given: Value, text: &str) -> Value {
        let object = |value: Value| value.as_object().unwrap().clone();
        let reply = from_reply(&declared(), &object(known), &object(given), text, now());
        Value::Object(reply.values)
    }

    /// B000-18: a run asks for its parameters, and a person answers in free text.
    #[test]
    fn b000_18_a_reply_gives_what_it_says() {
        for (known, given, text, gives) in [
            (
                json!({"region": "eu-1"}),
                json!({}),
                " main ",
                json!({"vault": "main"}),
            ),
            (
                json!({"vault": "main"}),
                json!({}),
                "in us-2, please",
                json!({"region": "us-2"}),
            ),
            // Two are missing, so the words cannot be assigned.
            (json!({}), json!({}), "main", json!({})),
            (
                json!({}),
                json!({}),
                "main in eu-1",
                json!({"region": "eu-1"}),
            ),
            // A pattern decides which values are valid; the text as a whole is not.
            (json!({"vault": "main"}), json!({}), "somewhere", json!({})),
            (
                json!({"region": "eu-1"}),
                json!({"vault": "x"}),
                "y",
                json!({"vault": "x"}),
            ),
            (
                json!({"region": "eu-1"}),
                json!({"days": 3}),
                "y",
                json!({"days": 3, "vault": "y"}),
            ),
            (
                json!({"region": "eu-1"}),
                json!({"days": "x"}),
                "y",
                json!({"days": "x"}),
            ),
            (json!({"region": "eu-1"}), json!({}), " ", json!({})),
            (
                json!({"region": "eu-1"}),
                json!({"vault": null, "days": null}),
                "main",
                json!({"vault": "main"}),
            ),
        ] {
            assert_eq!(reply(known, given, text), gives, "{text}");
        }
    }

    /// The text as a whole is a value for a pattern that matches ordinary words; a sentence is not.
    #[test]
    fn b000_18_a_reply_of_one_word_is_the_value_that_is_missing() {
        let declared: Vec<Parameter> = serde_json::from_value(json!([
            {"name": "service", "type": "string", "required": true, "pattern": "^[a-z][a-z0-9-]*$"},
        ]))
        .unwrap();
        let given = |text| from_reply(&declared, &Map::new(), &Map::new(), text, now()).values;
        assert_eq!(
            Value::Object(given(" payments ")),
            json!({"service": "payments"})
        );
        assert_eq!(Value::Object(given("the payments one")), json!({}));
        assert_eq!(Value::Object(given("Payments")), json!({}));
    }

    /// Known values are not inferred again from later words.
    #[test]
    fn b000_18_known_values_stay() {
        let known = json!({"vault": "main", "region": "eu-1"});
        assert_eq!(reply(known.clone(), json!({}), "us-2"), json!({}));
        assert_eq!(
            reply(known, json!({"region": "us-2"}), "no"),
            json!({"region": "us-2"})
        );
    }

    /// A short answer is parsed with the type of the only missing parameter.
    #[test]
    fn a_short_answer_is_read_as_the_type_that_is_asked_for() {
        for (declared, text, gives) in [
            (json!({"type": "integer"}), "45", json!(45)),
            (json!({"type": "integer"}), "forty-five", json!(45)),
            (json!({"type": "integer"}), "4.5", Value::Null),
            (json!({"type": "boolean"}), "yes please", json!(true)),
            (json!({"type": "boolean"}), "No.", json!(false)),
            (json!({"type": "boolean"}), "maybe", Value::Null),
            (
                json!({"type": "string", "example": "2026-01-31"}),
                "yesterday",
                json!("2026-06-16"),
            ),
            (
                json!({"type": "string", "enum": ["in progress", "done"]}),
                "In Progress",
                json!("in progress"),
            ),
            (
                json!({"type": "array", "example": ["E10423"]}),
                "E20001 and E20002",
                json!(["E20001", "E20002"]),
            ),
            (
                json!({"type": "array", "example": ["E10423"]}),
                "nobody",
                Value::Null,
            ),
        ] {
            let mut declared = declared;
            declared["name"] = json!("it");
            declared["required"] = json!(true);
            let declared: Vec<Parameter> = vec![serde_json::from_value(declared).unwrap()];
            let reply = from_reply(&declared, &Map::new(), &Map::new(), text, now());
            let value = reply.values.get("it").cloned().unwrap_or_default();
            assert_eq!(value, gives, "{text}");
        }
    }

    /// An invalid value in the words is reported and not used.
    #[test]
    fn a_reply_that_names_a_value_that_does_not_fit_says_so() {
        let declared = declared();
        let reply = from_reply(&declared, &Map::new(), &Map::new(), "region: mars", now());
        assert_eq!(reply.values, Map::new());
        let told: Vec<String> = reply.unclear.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            ["`mars` is not a value for `region`: `region` must match `^[a-z]{2}-[0-9]$`"]
        );
    }
}
