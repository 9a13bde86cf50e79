use super::*;

fn parameters_of(schema: Value) -> Parameters {
    let Value::Object(schema) = schema else {
        panic!("no object")
    };
    parameters(&schema).unwrap_or_else(|reason| panic!("{reason}"))
}

/// Returns each parameter without its description, and the ones that are left out.
fn brief(schema: Value) -> (Vec<Value>, Vec<String>) {
    let Parameters {
        mut written,
        left_out,
    } = parameters_of(schema);
    for parameter in &mut written {
        parameter.as_object_mut().unwrap().remove("description");
    }
    let left_out = left_out.into_iter().map(|(name, _)| name);
    (written, left_out.collect())
}

/// Returns the one parameter of an object with this property.
fn one(property: &Value) -> Value {
    let schema = json!({"type": "object", "properties": {"a": property}});
    let (mut written, left_out) = brief(schema);
    assert_eq!((written.len(), left_out.len()), (1, 0));
    written.remove(0)
}

fn optional(kind: &str) -> Value {
    json!({"name": "a", "type": kind, "required": false})
}

#[test]
fn a_type_is_found_in_every_form_of_schema() {
    let alone = [
        (json!({"type": "integer"}), "integer"),
        (json!({"type": ["string", "null"]}), "string"),
        (
            json!({"anyOf": [{"type": "boolean"}, {"type": "null"}]}),
            "boolean",
        ),
        (
            json!({"oneOf": [{"type": "null"}, {"type": "array", "items": {}}]}),
            "array",
        ),
        (json!({"allOf": [{"type": "number"}]}), "number"),
        (
            json!({"allOf": [{"type": ["string", "integer"]}, {"type": "integer"}]}),
            "integer",
        ),
        (
            json!({"properties": {"x": {}}, "required": ["x"]}),
            "object",
        ),
        (
            json!({"type": "object", "required": ["x"], "properties": {"x": {"type": "string"}}}),
            "object",
        ),
        (json!({"items": {"type": "string"}}), "array"),
        (json!({"type": ["integer", "number"]}), "number"),
    ];
    for (property, kind) in alone {
        assert_eq!(one(&property), optional(kind), "{property}");
    }
    let one_of = json!({"enum": ["red", "green", null]});
    let mut expected = optional("string");
    expected["enum"] = json!(["red", "green"]);
    assert_eq!(one(&one_of), expected);
    let mut expected = optional("string");
    expected["enum"] = json!(["cm", "inch"]);
    let constants = json!({"anyOf": [{"const": "cm"}, {"type": "string", "const": "inch"}]});
    assert_eq!(one(&constants), expected);
}

#[test]
fn a_parameter_lists_its_first_named_type_first() {
    let with = |kind: &str, others: Value| {
        let mut parameter = optional(kind);
        parameter["other_types"] = others;
        parameter
    };
    assert_eq!(
        one(&json!({"type": ["boolean", "string"]})),
        with("boolean", json!(["string"]))
    );
    assert_eq!(
        one(
            &json!({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]})
        ),
        with("array", json!(["string"]))
    );
    let any = json!(["number", "boolean", "array", "object"]);
    for anything in [json!({}), json!(true), json!({"type": "what"})] {
        assert_eq!(one(&anything), with("string", any.clone()));
    }
}

#[test]
fn references_and_composed_schemas_are_followed() {
    let schema = json!({
        "$defs": {
            "Unused": {"type": "object", "required": ["x"], "properties": {"x": {}}},
            "Size": {"type": "integer", "minimum": 1, "description": "How large."},
            "Common": {"properties": {"region": {"type": "string"}}, "required": ["region"]},
        },
        "type": "object",
        "allOf": [{"$ref": "#/$defs/Common"}],
        "oneOf": [
            {"properties": {"id": {"type": "string"}}, "required": ["id"]},
            {"properties": {"name": {"type": "string"}}, "required": ["name"]},
        ],
        "properties": {"size": {"$ref": "#/$defs/Size", "default": 3}},
        "dependentRequired": {"size": ["region"]},
    });
    let (written, left_out) = brief(schema.clone());
    let plain = |name: &str, kind: &str, required: bool| json!({"name": name, "type": kind, "required": required});
    let mut size = plain("size", "integer", false);
    size["default"] = json!(3);
    let expected = vec![
        plain("id", "string", false),
        plain("name", "string", false),
        plain("region", "string", true),
        size,
    ];
    assert_eq!((written, left_out), (expected, vec![]));
    let described = parameters_of(schema).written[3]["description"].clone();
    assert_eq!(
        described,
        "How large. (JSON Schema: {\"$ref\":\"#/$defs/Size\"})"
    );
}

/// A call that omits a nullable argument sends null if its server requires the argument.
#[test]
fn required_parameters_stay_required_and_nullable_ones_become_optional() {
    let Value::Object(schema) = json!({
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"]}, "b": {"type": "string"}, "c": {}, "e": {"type": "null"},
        },
        "required": ["a", "b", "c", "d", "e"],
    }) else {
        panic!("no object")
    };
    let written = parameters_of(Value::Object(schema.clone())).written;
    let names = written.iter().map(|parameter| {
        let name = parameter["name"].as_str().unwrap();
        (name, parameter["required"] == true)
    });
    let names: Vec<_> = names.collect();
    assert_eq!(names, [("a", false), ("b", true), ("c", true), ("d", true)]);
    assert_eq!(null_when_absent(&schema), ["a", "e"]);
}

#[test]
fn unsupported_parameter_names_get_an_alias() {
    let schema = json!({"type": "object", "required": ["page[size]"], "properties": {
        "$top": {"type": "integer"}, "top": {"type": "string"}, "@type": {"type": "string"},
        "page[size]": {"type": "integer"}, "x-y.z": {"type": "string"}, "größe": {"type": "integer"},
        "": {"type": "string"}, "a\u{7}b": {"type": "string"},
    }});
    let (written, left_out) = brief(schema);
    let names = written.iter().map(|parameter| {
        let wire = parameter["wire_name"].as_str();
        (parameter["name"].as_str().unwrap(), wire)
    });
    let names: Vec<_> = names.collect();
    let beside = |name| {
        names
            .iter()
            .find(|(_, wire)| *wire == Some(name))
            .unwrap()
            .0
    };
    assert!(
        names.contains(&("top", None)) && names.contains(&("x-y.z", None)),
        "{names:?}"
    );
    assert!(beside("$top").starts_with("top-"), "{names:?}");
    assert_eq!(beside("@type"), "type");
    assert_eq!(beside("page[size]"), "page_size");
    assert_eq!(beside("größe"), "gr__e");
    assert_eq!(left_out, ["", "a\u{7}b"]);
    // A required argument that cannot be expressed makes the import fail.
    let Value::Object(schema) = json!({"required": ["a\u{7}b"]}) else {
        panic!("no object")
    };
    let reason = parameters(&schema).err().unwrap();
    assert_eq!(
        reason,
        "it needs the parameter `ab`: its name must have 1 to 200 visible characters"
    );
}

/// The server checks defaults and allowed values of other types; they are no reason to leave a tool out.
#[test]
fn invalid_arguments_are_not_sent() {
    assert_eq!(
        one(&json!({"type": "integer", "default": "many", "enum": [1, "two"]})),
        json!({"name": "a", "type": "integer", "required": false, "enum": [1]})
    );
    assert_eq!(
        one(&json!({"type": "string", "enum": ["x"], "default": "y"})),
        json!({"name": "a", "type": "string", "required": false, "enum": ["x"]})
    );
    let (written, left_out) = brief(json!({"properties": {"never": false}}));
    assert_eq!((written.len(), left_out.len()), (0, 0));
}

/// Finding the parameters terminates for every kind of reference.
#[test]
fn cyclic_and_doubling_schemas_terminate() {
    let twice = |at: usize| {
        let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
        (
            format!("d{at}"),
            json!({"anyOf": [next, next], "properties": {"p": next}}),
        )
    };
    let mut definitions: Map<String, Value> = (0..40).map(twice).collect();
    definitions.insert("d40".to_owned(), json!({"$ref": "#/$defs/d0"}));
    let schema = json!({
        "$defs": definitions, "allOf": [{"$ref": "#/$defs/d0"}, {"$ref": "#"}],
        "properties": {"self": {"$ref": "#/properties/self"}, "whole": {"$ref": "#"}},
    });
    let (written, _) = brief(schema);
    let names: Vec<_> = written.iter().map(|p| p["name"].clone()).collect();
    assert_eq!(names, ["p", "self", "whole"]);
}
