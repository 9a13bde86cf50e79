//! The schemas of tools, with only keywords and formats that JSON Schema 2020-12 defines: clients' validators warn of
//! other formats, or refuse the schema.

use std::any::Any;
use std::sync::Arc;

use rmcp::handler::server::tool::{schema_for_input, schema_for_output};
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde_json::{Map, Value};

/// The formats of JSON Schema 2020-12 (Validation, section 7.3).
const FORMATS: [&str; 19] = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uuid",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
    "regex",
];

/// Keywords whose value is data, not a schema.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];

/// The schema of a tool's arguments.
pub(super) fn of_input<T: JsonSchema + Any>() -> Arc<JsonObject> {
    // Every input type is a struct; a test reads every schema.
    standard_schema(&schema_for_input::<T>().unwrap_or_default())
}

/// The schema of a tool's structured content.
pub(super) fn of_output<T: JsonSchema + Any>() -> Arc<JsonObject> {
    standard_schema(&schema_for_output::<T>())
}

fn standard_schema(schema: &JsonObject) -> Arc<JsonObject> {
    let mut schema = schema.clone();
    standardise(&mut schema);
    Arc::new(schema)
}

/// Removes the formats that only Rust knows (`uint64`, `float`), and replaces `items: true` by an equivalent schema.
fn standardise(schema: &mut JsonObject) {
    let format = schema.get("format").and_then(Value::as_str);
    if format.is_some_and(|format| !FORMATS.contains(&format)) {
        schema.remove("format");
    }
    if schema.get("items") == Some(&Value::Bool(true)) {
        schema.insert("items".to_owned(), Value::Object(Map::new()));
    }
    for (keyword, part) in schema.iter_mut() {
        if !DATA.contains(&keyword.as_str()) {
            standardise_part(part);
        }
    }
}

fn standardise_part(part: &mut Value) {
    match part {
        Value::Object(fields) => standardise(fields),
        Value::Array(parts) => parts.iter_mut().for_each(standardise_part),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mcp::TOOLS;

    fn formats<'s>(part: &'s Value, found: &mut Vec<&'s str>) {
        match part {
            Value::Object(fields) => {
                found.extend(fields.get("format").and_then(Value::as_str));
                fields.values().for_each(|part| formats(part, found));
            }
            Value::Array(parts) => parts.iter().for_each(|part| formats(part, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn only_formats_of_json_schema_are_kept() {
        let schema = json!({
            "type": "object",
            "properties": {
                "count": {"type": ["integer", "null"], "format": "uint32", "minimum": 0},
                "ratio": {"anyOf": [{"type": "number", "format": "double"}, {"type": "null"}]},
                "at": {"type": "string", "format": "date-time"},
                "format": {"type": "string", "default": {"format": "uint8"}},
                "any": {"type": "array", "items": true},
            },
            "$defs": {"Size": {"type": "integer", "format": "int64"}},
        });
        let Value::Object(schema) = schema else {
            unreachable!("written as an object above")
        };
        let expected = json!({
            "type": "object",
            "properties": {
                "count": {"type": ["integer", "null"], "minimum": 0},
                "ratio": {"anyOf": [{"type": "number"}, {"type": "null"}]},
                "at": {"type": "string", "format": "date-time"},
                "format": {"type": "string", "default": {"format": "uint8"}},
                "any": {"type": "array", "items": {}},
            },
            "$defs": {"Size": {"type": "integer"}},
        });
        assert_eq!(
            Value::Object(standard_schema(&schema).as_ref().clone()),
            expected
        );
    }

    #[test]
    fn every_tool_has_schemas_of_objects_without_foreign_formats() {
        for entry in &TOOLS {
            let tool = (entry.tool)();
            let output = tool.output_schema.clone().unwrap();
            for schema in [tool.input_schema.as_ref(), output.as_ref()] {
                assert_eq!(schema["type"], "object", "{}", tool.name);
                let schema = Value::Object(schema.clone());
                let mut found = Vec::new();
                formats(&schema, &mut found);
                found.retain(|format| !FORMATS.contains(format));
                assert!(found.is_empty(), "{}: {found:?}", tool.name);
            }
        }
    }
}
