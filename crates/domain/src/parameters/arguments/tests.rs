use serde_json::json;

use super::*;

fn tool(schema: &Value) -> Tool {
    serde_json::from_value(json!({
        "tool_id": "orders.find", "name": "t", "provider": "p", "tool_class": "readonly", "domain": "d",
        "description": "d", "language": "http", "input_schema": schema,
    }))
    .unwrap()
}

/// Returns the arguments as bound, or the messages of the faults.
fn bound(schema: &Value, given: &Value) -> Result<Value, Vec<String>> {
    let bound = bind_arguments(&tool(schema), given.as_object().unwrap());
    let messages = |faults: Vec<ParameterFault>| faults.iter().map(ToString::to_string).collect();
    bound.map(Value::Object).map_err(messages)
}

fn refused(schema: &Value, given: &Value) -> Vec<String> {
    bound(schema, given).unwrap_err()
}

fn orders() -> Value {
    json!({
        "type": "object", "required": ["filter"],
        "properties": {
            "filter": {
                "description": "Which orders.",
                "oneOf": [{"$ref": "#/$defs/by_id"}, {"$ref": "#/$defs/by_state"}],
            },
            "limit": {"type": ["integer", "null"], "minimum": 1, "default": 20},
            "sort": {"enum": ["asc", "desc"]},
        },
        "$defs": {
            "by_id": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}},
                "additionalProperties": false},
            "by_state": {"type": "object", "required": ["state"],
                "properties": {"state": {"type": "string"}, "since": {"type": ["string", "null"]}},
                "additionalProperties": false},
        },
    })
}

/// B003-4: nested objects, references, alternatives and null, with defaults filled in.
#[test]
fn b003_4_a_schema_accepts_its_arguments_and_fills_in_defaults() {
    let by_id = json!({"filter": {"id": "A-1"}});
    assert_eq!(
        bound(&orders(), &by_id),
        Ok(json!({"filter": {"id": "A-1"}, "limit": 20}))
    );
    let by_state =
        json!({"filter": {"state": "open", "since": null}, "limit": null, "sort": "asc"});
    assert_eq!(
        bound(&orders(), &by_state),
        Ok(json!({"filter": {"state": "open", "since": null}, "limit": 20, "sort": "asc"}))
    );
}

/// B003-4: a fault names the place in the value, and the allowed values as for a list of parameters.
#[test]
fn b003_4_faults_name_the_parameter_and_the_place_in_its_value() {
    let with = |field: &str, value: Value| {
        let mut given = json!({"filter": {"id": "A-1"}});
        given[field] = value;
        given
    };
    for (given, expected) in [
        (
            json!({}),
            "`filter` is missing: Which orders. (an object with optional `id`, `since`, `state`)",
        ),
        (with("filters", json!(1)), "unknown parameter `filters`"),
        (
            with("sort", json!("up")),
            "`sort` must be one of [\"asc\",\"desc\"]",
        ),
        (
            with("limit", json!("many")),
            "`limit` must be of the type integer",
        ),
        (with("limit", json!(0)), "`limit`: 0 is less than 1"),
        (
            with("filter", json!("A-1")),
            "`filter` must be of the type object",
        ),
        (
            with("filter", json!({"id": 7})),
            "`filter/id`: expected string, found number",
        ),
    ] {
        assert_eq!(refused(&orders(), &given), [expected], "{given}");
    }
}

/// The rules that join several arguments are checked.
#[test]
fn the_whole_schema_decides() {
    let either = json!({
        "type": "object",
        "properties": {"id": {"type": "string"}, "name": {"type": "string"}, "zone": {"type": "string"}},
        "oneOf": [{"required": ["id"]}, {"required": ["name"]}],
        "dependentRequired": {"zone": ["id"]},
    });
    assert!(bound(&either, &json!({"id": "a", "zone": "z"})).is_ok());
    assert_eq!(
        refused(&either, &json!({"id": "a", "name": "b"})),
        ["the arguments: matches more than one form"]
    );
    assert_eq!(
        refused(&either, &json!({"name": "b", "zone": "z"})).len(),
        1
    );
    // The first branch describes the type of `value`, the second one another.
    let branches = json!({"type": "object", "oneOf": [
        {"properties": {"kind": {"const": "text"}, "value": {"type": "string"}}, "required": ["kind"]},
        {"properties": {"kind": {"const": "size"}, "value": {"type": "integer"}}, "required": ["kind"]},
    ]});
    assert!(bound(&branches, &json!({"kind": "size", "value": 3})).is_ok());
    assert!(bound(&branches, &json!({"kind": "text", "value": 3})).is_err());
}

#[test]
fn further_names_are_refused_unless_the_schema_allows_them() {
    let names = |more: Value| {
        let mut schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        schema
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        bound(&schema, &json!({"a": "x", "x-b": 1}))
    };
    let unknown = Err(vec!["unknown parameter `x-b`".to_owned()]);
    assert_eq!(names(json!({})), unknown);
    assert_eq!(names(json!({"additionalProperties": false})), unknown);
    assert_eq!(names(json!({"patternProperties": {"^y-": {}}})), unknown);
    let taken = Ok(json!({"a": "x", "x-b": 1}));
    assert_eq!(names(json!({"additionalProperties": true})), taken);
    assert_eq!(names(json!({"patternProperties": {"^x-": {}}})), taken);
    assert_eq!(
        names(json!({"additionalProperties": {"type": "string"}})),
        Err(vec!["`x-b`: expected string, found number".to_owned()])
    );
}

/// A parameter may have another name than its argument in the schema; callers may use either.
#[test]
fn either_name_of_a_parameter_is_taken() {
    let schema =
        json!({"type": "object", "properties": {"$top": {"type": "integer", "maximum": 9}}});
    for name in ["top", "$top"] {
        let given = json!({ name: 3 });
        assert_eq!(bound(&schema, &given), Ok(json!({"top": 3})));
        let given = json!({ name: 10 });
        assert_eq!(refused(&schema, &given), ["`$top`: 10 is greater than 9"]);
    }
}

/// A schema over a limit refuses each call with the reason, and takes no time.
#[test]
fn a_hostile_schema_refuses_calls() {
    let next = |at: usize| json!({"$ref": format!("#/$defs/a{at}")});
    let doubling = (0..40).map(|at| {
        (
            format!("a{at}"),
            json!({"anyOf": [next(at + 1), next(at + 1)]}),
        )
    });
    let mut doubling: Map<String, Value> = doubling.collect();
    doubling.insert("a40".to_owned(), json!({}));
    let large = (0..9).map(|at| json!({"pattern": format!("{at}(a|b)*a(a|b){{100}}")}));
    let large: Vec<Value> = large.collect();
    let deep = (0..100).fold(json!({}), |inner, _| json!({ "not": inner }));
    for (property, definitions, limit) in [
        (next(0), json!(doubling), "SCHEMA_CHAIN"),
        (deep, json!({}), "JSON_LEVELS"),
        (
            json!({ "allOf": large }),
            json!({}),
            "SCHEMA_PATTERN_MEMORY",
        ),
    ] {
        let schema = json!({"type": "object", "properties": {"a": property}, "$defs": definitions});
        let found = refused(&schema, &json!({"a": "x"}));
        assert!(found[0].contains(limit), "{found:?}");
    }
    let recursive = json!({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}});
    assert!(bound(&recursive, &json!({"a": 1})).is_err());
}
