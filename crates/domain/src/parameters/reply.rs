//! What somebody's reply gives, who was asked for the parameters that are missing.
//!
//! Must not know who asked, or over which interface.

use charter_contract::parameter::Parameter;
use serde_json::{Map, Value};

use super::{bind_so_far, check, from_request, present};

/// The values that a reply gives, beside those that are `known`: what is given outright, what its text
/// mentions as [`from_request`] finds it, and the whole text where it mentions nothing, exactly one
/// parameter is still missing and the text fits it.
#[must_use]
pub fn from_reply(
    declared: &[Parameter],
    known: &Map<String, Value>,
    given: &Map<String, Value>,
    text: &str,
) -> Map<String, Value> {
    let open: Vec<Parameter> = declared
        .iter()
        .filter(|parameter| !known.contains_key(parameter.name.as_ref()))
        .cloned()
        .collect();
    let given = present(declared, given);
    let mut values = from_request(&open, &given, text);
    if values != given {
        return values;
    }
    let mut all = known.clone();
    all.extend(values.clone());
    let Ok(so_far) = bind_so_far(declared, &all) else {
        return values;
    };
    let whole = Value::String(text.trim().to_owned());
    if let [missing] = so_far.missing.as_slice()
        && let Some(parameter) = open.iter().find(|parameter| parameter.name == *missing)
        && !text.trim().is_empty()
        && check(parameter, &whole).is_ok()
    {
        values.insert(missing.to_string(), whole);
    }
    values
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

    fn reply(known: Value, given: Value, text: &str) -> Value {
        let object = |value: Value| value.as_object().unwrap().clone();
        Value::Object(from_reply(
            &declared(),
            &object(known),
            &object(given),
            text,
        ))
    }

    /// B000-18: a run asks for its parameters, and a person answers in their own words.
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
            // Two are missing: which of them the words are for is not known.
            (json!({}), json!({}), "main", json!({})),
            (
                json!({}),
                json!({}),
                "main in eu-1",
                json!({"region": "eu-1"}),
            ),
            // A pattern decides what fits; the text as a whole is no value for it.
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

    /// The text as a whole is a value for a pattern that ordinary words fit, and a sentence is none.
    #[test]
    fn b000_18_a_reply_of_one_word_is_the_value_that_is_missing() {
        let declared: Vec<Parameter> = serde_json::from_value(json!([
            {"name": "service", "type": "string", "required": true, "pattern": "^[a-z][a-z0-9-]*$"},
        ]))
        .unwrap();
        let given = |text| from_reply(&declared, &Map::new(), &Map::new(), text);
        assert_eq!(
            Value::Object(given(" payments ")),
            json!({"service": "payments"})
        );
        assert_eq!(Value::Object(given("the payments one")), json!({}));
        assert_eq!(Value::Object(given("Payments")), json!({}));
    }

    /// What was given before is not guessed again from later words.
    #[test]
    fn b000_18_known_values_stay() {
        let known = json!({"vault": "main", "region": "eu-1"});
        assert_eq!(reply(known.clone(), json!({}), "us-2"), json!({}));
        assert_eq!(
            reply(known, json!({"region": "us-2"}), "no"),
            json!({"region": "us-2"})
        );
    }
}
