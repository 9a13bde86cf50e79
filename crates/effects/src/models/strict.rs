//! Whether OpenAI's strict mode accepts a schema ("Structured model outputs", section "Supported schemas"): it refuses
//! requests with others. Must not know requests.

use serde_json::{Map, Value};

/// Keywords that strict mode supports.
const KNOWN: [&str; 24] = [
    "$defs",
    "$ref",
    "$schema",
    "additionalProperties",
    "anyOf",
    "const",
    "definitions",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "multipleOf",
    "pattern",
    "properties",
    "required",
    "title",
    "type",
    "$id",
];
/// Formats of texts that strict mode supports.
const FORMATS: [&str; 9] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
];

/// Whether strict mode accepts the schema as a whole.
pub(super) fn takes(schema: &Map<String, Value>) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
        && !schema.contains_key("anyOf")
        && takes_part(schema)
}

fn takes_part(schema: &Map<String, Value>) -> bool {
    schema.iter().all(|(keyword, value)| {
        KNOWN.contains(&keyword.as_str())
            && match (keyword.as_str(), value) {
                ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                    named.values().all(takes_any)
                }
                ("anyOf", Value::Array(each)) => each.iter().all(takes_any),
                ("items", each) => takes_any(each),
                ("format", format) => format.as_str().is_some_and(|f| FORMATS.contains(&f)),
                _ => true,
            }
    }) && closed(schema)
}

fn takes_any(schema: &Value) -> bool {
    schema.as_object().is_some_and(takes_part)
}

/// Whether an object requires all its properties, and allows no others.
fn closed(schema: &Map<String, Value>) -> bool {
    let is_object = match schema.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => schema.contains_key("properties"),
    };
    if !is_object {
        return true;
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let all = properties.is_none_or(|properties| {
        properties.keys().all(|name| {
            required.is_some_and(|required| required.iter().any(|needed| needed == name))
        })
    });
    all && schema.get("additionalProperties") == Some(&Value::Bool(false))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_closed_objects_with_supported_keywords_are_strict() {
        let part = json!({"type": "object", "properties": {"a": {"type": "integer"}},
            "required": ["a"], "additionalProperties": false});
        let with = |change: &dyn Fn(&mut Value)| {
            let mut schema = json!({"type": "object", "properties": {
                "list": {"type": "array", "items": part, "minItems": 1},
                "word": {"type": ["string", "null"], "enum": ["x", null]},
                "when": {"type": "string", "format": "date-time"},
                "link": {"$ref": "#/$defs/part"}},
                "required": ["list", "word", "when", "link"], "additionalProperties": false,
                "$defs": {"part": part}});
            change(&mut schema);
            takes(schema.as_object().unwrap())
        };
        assert!(with(&|_| ()));
        assert!(!with(&|s| s["required"] = json!(["list", "word", "when"])));
        assert!(!with(&|s| s["additionalProperties"] = json!(true)));
        assert!(!with(
            &|s| s["properties"]["list"]["items"]["required"] = json!([])
        ));
        assert!(!with(
            &|s| s["$defs"]["part"]["additionalProperties"] = json!(null)
        ));
        assert!(!with(&|s| s["properties"]["when"]["format"] = json!("uri")));
        assert!(!with(&|s| s["properties"]["word"]["maxLength"] = json!(3)));
        assert!(!with(&|s| s["properties"]["word"] = json!(true)));
        assert!(!with(&|s| s["anyOf"] = json!([])));
        assert!(!takes(json!({"type": "array"}).as_object().unwrap()));
    }
}
