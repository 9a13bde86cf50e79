//! JSON Schemas of tools and MCP servers: measured, compiled, and used for validation.

use charter_contract::foreign_schema::ForeignSchema;
use charter_contract::json::{Profile, decode};
use serde_json::{Map, Value, json};

use super::Verdict;

pub(super) const WORDS: &[&str] = &[
    "\"schema\"",
    "\"value\"",
    "\"type\"",
    "\"object\"",
    "\"array\"",
    "\"properties\"",
    "\"items\"",
    "\"$ref\"",
    "\"$defs\"",
    "\"#/$defs/a\"",
    "\"#\"",
    "\"allOf\"",
    "\"anyOf\"",
    "\"oneOf\"",
    "\"not\"",
    "\"if\"",
    "\"then\"",
    "\"dependentSchemas\"",
    "\"unevaluatedProperties\"",
    "\"unevaluatedItems\"",
    "\"additionalProperties\"",
    "\"patternProperties\"",
    "\"propertyNames\"",
    "\"pattern\"",
    "\"(a{1,500}){1,500}\"",
    "\"uniqueItems\"",
    "\"enum\"",
    "\"const\"",
    "\"format\"",
    "\"$dynamicRef\"",
    "\"$anchor\"",
    "\"$id\"",
    "\"contains\"",
    "\"prefixItems\"",
    "true",
    "false",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
];

/// Compiles a schema and validates a value; without a value, some that are long, wide and deep.
pub(super) fn schema(input: &[u8]) -> Verdict {
    let Ok(Value::Object(mut sent)) = decode::<Value>(input, Profile::OUTPUT) else {
        return Verdict::Refused;
    };
    let values = match sent.remove("value") {
        Some(value) => vec![value],
        None => values(),
    };
    let schema = match sent.remove("schema") {
        Some(Value::Object(schema)) => schema,
        Some(_) | None => sent,
    };
    check(&ForeignSchema::from(schema), &values)
}

fn check(schema: &ForeignSchema, values: &[Value]) -> Verdict {
    let parts = schema.parts();
    let fault = schema.fault();
    assert!(
        fault.is_some() || parts.is_ok(),
        "a schema that cannot be measured can be used"
    );
    for value in values {
        let violations = schema.violations(value);
        if schema.accepts_at_once(value) {
            assert_eq!(violations, [], "two answers about one value");
        }
        assert!(
            fault.is_none() || !violations.is_empty(),
            "a schema that cannot be used allows a value"
        );
    }
    match fault {
        None => Verdict::Accepted,
        Some(_) => Verdict::Refused,
    }
}

fn values() -> Vec<Value> {
    let list = Value::Array((0..1_000).map(|at| json!(at % 7)).collect());
    let fields = (0..1_000).map(|at| (format!("f{at}"), json!("a text")));
    let deep = (0..60).fold(
        json!("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"),
        |inner, _| json!({"a": inner, "b": 0}),
    );
    vec![list, Value::Object(fields.collect::<Map<_, _>>()), deep]
}
