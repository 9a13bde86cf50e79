//! The keywords of a schema that have no subschemas, and combinations of translated schemas.

use charter_contract::bounds::IMPORT_ENUM;
use charter_contract::foreign_schema::{ForeignSchema, PatternCost};
use charter_contract::parameter::ParameterType;
use serde_json::{Map, Value, json};

use super::Direction;
use crate::documents::Part;
use crate::text::shortened;

/// Longest description of a value that is sent, in characters.
const INPUT_DESCRIPTION: usize = 300;
/// Longest description of a value that is received, in characters.
const OUTPUT_DESCRIPTION: usize = 120;
/// Longest name, pattern, example or default that is kept, in bytes.
const MAX_VALUE_BYTES: usize = 500;

/// Returns the types of a schema, translated; `nullable` is not one of them.
fn types(part: Part<'_>) -> Vec<&'static str> {
    let mut types: Vec<&'static str> = match part.value.get("type") {
        Some(Value::String(name)) => translated_type(name).into_iter().collect(),
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .filter_map(translated_type)
            .collect(),
        Some(_) | None => Vec::new(),
    };
    let is_combined = ["oneOf", "anyOf", "allOf"]
        .iter()
        .any(|keyword| part.member(keyword).is_some());
    if types.is_empty() && !is_combined {
        if part.member("properties").is_some() || part.member("additionalProperties").is_some() {
            types.push("object");
        } else if part.member("items").is_some() {
            types.push("array");
        }
    }
    let mut unique = Vec::new();
    for name in types {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    unique
}

/// Returns the type that a name means; `None` for a name without one, such as `any`.
fn translated_type(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_lowercase().as_str() {
        "string" | "file" | "date" | "datetime" | "date-time" | "uuid" | "text" | "binary" => {
            "string"
        }
        "integer" | "int" | "int32" | "int64" | "long" => "integer",
        "number" | "float" | "double" | "decimal" => "number",
        "boolean" | "bool" => "boolean",
        "array" | "list" => "array",
        "object" | "map" => "object",
        "null" => "null",
        _ => return None,
    })
}

/// Whether a schema is that of a file or of other bytes.
pub(super) fn is_binary(part: Part<'_>) -> bool {
    part.text("type") == "file"
        || (part.text("type") == "string" && part.text("format") == "binary")
        || (part.text("type") == "string"
            && part.text("contentMediaType") == "application/octet-stream")
}

/// Writes the types of a schema.
pub(super) fn put_types(part: Part<'_>, written: &mut Map<String, Value>) {
    match types(part).as_slice() {
        [] => {}
        [one] => {
            written.insert("type".to_owned(), json!(one));
        }
        several => {
            written.insert("type".to_owned(), json!(several));
        }
    }
}

/// Returns the description of a value that is sent.
pub(super) fn description(part: Part<'_>) -> Option<String> {
    Some(shortened(part.text("description"), INPUT_DESCRIPTION)).filter(|text| !text.is_empty())
}

/// Writes the keywords that describe values.
pub(super) fn annotations(part: Part<'_>, direction: Direction, written: &mut Map<String, Value>) {
    let most = match direction {
        Direction::Input | Direction::Parts => INPUT_DESCRIPTION,
        Direction::Output => OUTPUT_DESCRIPTION,
    };
    let description = shortened(part.text("description"), most);
    if !description.is_empty() {
        written.insert("description".to_owned(), description.into());
    }
    let format = part.text("format");
    if !format.is_empty() && format.len() <= 40 {
        written.insert("format".to_owned(), format.into());
    }
    if direction == Direction::Output {
        return;
    }
    if part.is_true("deprecated") {
        written.insert("deprecated".to_owned(), true.into());
    }
    let example = part.member("example").map(|part| part.value);
    let first = part
        .member("examples")
        .and_then(|examples| examples.items().next());
    if let Some(example) = example.or(first.map(|part| part.value))
        && is_short(example)
        && fits(written, example)
    {
        written.insert("examples".to_owned(), json!([example]));
    }
}

/// Writes the keywords that restrict values; `is_usable` decides on regular expressions.
pub(super) fn restrictions(
    part: Part<'_>,
    is_usable: impl Fn(&str) -> bool,
    written: &mut Map<String, Value>,
) {
    for keyword in [
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
    ] {
        if let Some(count) = part.value.get(keyword).and_then(Value::as_u64) {
            written.insert(keyword.to_owned(), count.into());
        }
    }
    for (bound, exclusive) in [
        ("minimum", "exclusiveMinimum"),
        ("maximum", "exclusiveMaximum"),
    ] {
        let number = part.value.get(bound).filter(|value| value.is_number());
        match (number, part.value.get(exclusive)) {
            // The form of OpenAPI 3.0 and Swagger 2.0.
            (Some(number), Some(Value::Bool(true))) => {
                written.insert(exclusive.to_owned(), number.clone());
            }
            (number, own) => {
                let own = own.filter(|value| value.is_number());
                for (keyword, number) in [(bound, number), (exclusive, own)] {
                    if let Some(number) = number {
                        written.insert(keyword.to_owned(), number.clone());
                    }
                }
            }
        }
    }
    if let Some(step) = part
        .value
        .get("multipleOf")
        .filter(|value| value.as_f64().is_some_and(|step| step > 0.0))
    {
        written.insert("multipleOf".to_owned(), step.clone());
    }
    // Some generators write it for every parameter.
    let types = without_null(written);
    if part.is_true("uniqueItems") && (types.is_empty() || types.contains(&"array")) {
        written.insert("uniqueItems".to_owned(), true.into());
    }
    let pattern = part.text("pattern");
    if !pattern.is_empty() && is_usable(pattern) {
        written.insert("pattern".to_owned(), pattern.into());
    }
    put_allowed(part, written);
    if let Some(default) = part.member("default").map(|part| part.value)
        && !default.is_null()
        && is_short(default)
        && fits(written, default)
    {
        written.insert("default".to_owned(), default.clone());
    }
    // An example outside of the allowed values is a mistake of the description.
    if let Some(example) = written.get("examples").and_then(|examples| examples.get(0))
        && !fits(written, example)
    {
        written.remove("examples");
    }
}

/// Writes the allowed values that have one of the types.
fn put_allowed(part: Part<'_>, written: &mut Map<String, Value>) {
    let constant = part.value.get("const").map(std::slice::from_ref);
    let listed = part.value.get("enum").and_then(Value::as_array);
    let Some(listed) = listed.map(Vec::as_slice).or(constant) else {
        return;
    };
    if listed.len() > IMPORT_ENUM {
        return;
    }
    let mut allowed: Vec<Value> = Vec::new();
    for value in listed {
        if fits(written, value) && is_short(value) && !allowed.contains(value) {
            allowed.push(value.clone());
        }
    }
    if !allowed.is_empty() && allowed.iter().any(|value| !value.is_null()) {
        written.insert("enum".to_owned(), allowed.into());
    }
}

/// Whether a value has one of the written types, and is one of the written allowed values.
fn fits(written: &Map<String, Value>, value: &Value) -> bool {
    let has_type = |name: &str| match name {
        "null" => value.is_null(),
        name => name
            .parse::<ParameterType>()
            .is_ok_and(|kind| kind.fits(value)),
    };
    let is_typed = match written.get("type") {
        Some(Value::String(name)) => has_type(name),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(has_type),
        Some(_) | None => true,
    };
    let allowed = written.get("enum").and_then(Value::as_array);
    is_typed && allowed.is_none_or(|allowed| allowed.contains(value))
}

fn is_short(value: &Value) -> bool {
    charter_contract::json::text_length(value) <= MAX_VALUE_BYTES
}

/// Whether a regular expression is one here too. Other dialects have parts that this one lacks, such as look-ahead.
pub(super) fn is_usable_pattern(pattern: &str) -> bool {
    if pattern.len() > MAX_VALUE_BYTES || PatternCost::measure(pattern).is_none() {
        return false;
    }
    let mut schema = Map::new();
    schema.insert("pattern".to_owned(), pattern.into());
    ForeignSchema::from(schema).fault().is_none()
}

/// Lets a translated schema accept `null` too.
pub(super) fn add_null(written: &mut Map<String, Value>) {
    let null = || Value::from("null");
    match written.get_mut("type") {
        Some(Value::String(name)) if name.as_str() != "null" => {
            let types = json!([name.clone(), "null"]);
            written.insert("type".to_owned(), types);
        }
        Some(Value::Array(types)) if !types.contains(&null()) => types.push(null()),
        Some(_) => {}
        None => {
            if let Some(Value::Array(choices)) = written.get_mut("anyOf") {
                let choice = json!({ "type": "null" });
                if !choices.contains(&choice) {
                    choices.push(choice);
                }
            } else if let Some(all) = written.remove("allOf") {
                let choices = json!([{ "allOf": all }, { "type": "null" }]);
                written.insert("anyOf".to_owned(), choices);
            }
        }
    }
    if let Some(Value::Array(allowed)) = written.get_mut("enum")
        && !allowed.contains(&Value::Null)
    {
        allowed.push(Value::Null);
    }
}

/// Returns the types of a translated schema, without `null`.
pub(super) fn without_null(schema: &Map<String, Value>) -> Vec<&str> {
    let types: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(_) | None => Vec::new(),
    };
    types.into_iter().filter(|name| *name != "null").collect()
}

/// The keywords that two descriptions of an object can be merged by.
const MERGEABLE: [&str; 8] = [
    "type",
    "title",
    "description",
    "properties",
    "required",
    "examples",
    "deprecated",
    "additionalProperties",
];

/// Writes schemas that all apply: merged into one where they describe an object or where there is only one, because
/// callers see the properties of an object only there.
pub(super) fn merged_all_of(all: Vec<Value>, written: &mut Map<String, Value>) {
    let mut left = Vec::new();
    let is_single = all.len() == 1;
    for each in all {
        let Value::Object(fields) = each else {
            continue;
        };
        let is_object = matches!(without_null(&fields).as_slice(), [] | ["object"])
            && fields
                .keys()
                .all(|keyword| MERGEABLE.contains(&keyword.as_str()));
        let is_disjoint = fields
            .keys()
            .all(|keyword| keyword == "description" || !written.contains_key(keyword));
        if is_object {
            merge_object(fields, written);
        } else if is_single && is_disjoint {
            for (keyword, value) in fields {
                written.entry(keyword).or_insert(value);
            }
        } else {
            left.push(Value::Object(fields));
        }
    }
    if !left.is_empty() {
        written.insert("allOf".to_owned(), left.into());
    }
}

fn merge_object(fields: Map<String, Value>, written: &mut Map<String, Value>) {
    for (keyword, value) in fields {
        // A part that allows no further properties would refuse those of the other parts.
        if keyword == "additionalProperties" && value == Value::Bool(false) {
            continue;
        }
        if !written.contains_key(&keyword) {
            written.insert(keyword, value);
            continue;
        }
        match (written.get_mut(&keyword), value) {
            (Some(Value::Object(known)), Value::Object(more)) if keyword == "properties" => {
                for (name, property) in more {
                    known.entry(name).or_insert(property);
                }
            }
            (Some(Value::Array(known)), Value::Array(more)) if keyword == "required" => {
                for name in more {
                    if !known.contains(&name) {
                        known.push(name);
                    }
                }
            }
            _ => {}
        }
    }
}
