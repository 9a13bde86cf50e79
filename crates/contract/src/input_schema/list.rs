//! Converts a flat list of parameters to the JSON Schema of an arguments object.

use serde_json::{Map, Value, json};

use crate::parameter::{Parameter, ParameterType};

/// Returns the JSON Schema of the arguments object: `required` is a list of names in alphabetical order, and unknown
/// arguments are refused (B003-4).
#[must_use]
pub fn schema_of(parameters: &[Parameter]) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut required: Vec<&str> = Vec::new();
    let mut definitions = Map::new();
    for parameter in parameters {
        let name = parameter.name.as_str();
        let mut property = property_of(parameter);
        if let Some(schema) = &parameter.schema
            && refers(schema.json())
        {
            // The references of a parameter's schema start at that schema, not at the list's.
            let here = format!("#/$defs/{name}");
            let mut whole = Value::Object(schema.json().clone());
            rebase(&mut whole, &here);
            definitions.insert(name.to_owned(), whole);
            property.insert("$ref".to_owned(), here.into());
        }
        properties.insert(parameter.called().to_owned(), property.into());
        if parameter.required {
            required.push(parameter.called());
        }
    }
    required.sort_unstable();
    let mut schema = Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), properties.into()),
        ("required".to_owned(), json!(required)),
        ("additionalProperties".to_owned(), json!(false)),
    ]);
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), definitions.into());
    }
    schema
}

/// Returns the JSON Schema of one parameter. The rules of its own schema are left out if they refer to other parts of
/// that schema.
#[must_use]
pub fn property_of(parameter: &Parameter) -> Map<String, Value> {
    let mut property = match &parameter.schema {
        Some(schema) if !refers(schema.json()) => schema.json().clone(),
        Some(_) | None => Map::new(),
    };
    let kinds: Vec<&str> = parameter
        .types()
        .into_iter()
        .map(ParameterType::as_str)
        .collect();
    let kinds = match kinds.as_slice() {
        [only] => json!(only),
        several => json!(several),
    };
    property.insert("type".to_owned(), kinds);
    property.insert(
        "description".to_owned(),
        parameter.description.clone().into(),
    );
    if let Some(pattern) = &parameter.pattern {
        property.insert("pattern".to_owned(), pattern.clone().into());
    }
    if let Some(example) = &parameter.example {
        property.insert("examples".to_owned(), json!([example]));
    }
    if let Some(default) = &parameter.default {
        property.insert("default".to_owned(), default.clone());
    }
    if let Some(allowed) = &parameter.allowed {
        property.insert("enum".to_owned(), allowed.clone().into());
    }
    property
}

/// Whether a schema has references.
fn refers(schema: &Map<String, Value>) -> bool {
    let mut fields = schema.iter();
    fields.any(|(keyword, value)| keyword == "$ref" || refers_within(value))
}

fn refers_within(value: &Value) -> bool {
    match value {
        Value::Object(fields) => refers(fields),
        Value::Array(items) => items.iter().any(refers_within),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Makes the references of a schema start at `here`.
fn rebase(value: &mut Value, here: &str) {
    match value {
        Value::Object(fields) => {
            for (keyword, value) in fields {
                match value {
                    Value::String(reference) if keyword == "$ref" => {
                        if let Some(pointer) = reference.strip_prefix('#') {
                            *reference = format!("{here}{pointer}");
                        }
                    }
                    value => rebase(value, here),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rebase(item, here)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
