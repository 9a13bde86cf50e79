use serde_json::json;

use super::*;

fn input(schema: &Value) -> ToolInput {
    let Value::Object(schema) = schema else {
        panic!("no object")
    };
    ToolInput::from_schema(&schema.clone().into())
}

/// Returns each parameter as JSON, without its description and its schema, and the names of the omitted arguments.
fn brief(schema: &Value) -> (Vec<Value>, Vec<String>) {
    let input = input(schema);
    let parameters = input.parameters().iter().map(|parameter| {
        let mut parameter = json!(parameter);
        for field in ["description", "schema"] {
            parameter.as_object_mut().unwrap().remove(field);
        }
        parameter
    });
    let omitted = input.omitted().iter();
    let omitted = omitted.map(|omitted| omitted.name.clone()).collect();
    (parameters.collect(), omitted)
}

/// Returns the schema of the parameter `a`, whose property is `property`.
fn own_schema(property: &Value, definitions: &Value) -> Value {
    let schema = json!({"type": "object", "properties": {"a": property}, "$defs": definitions});
    json!(input(&schema).parameters()[0].schema)
}

/// Returns the one parameter of an object with this property.
fn one(property: &Value) -> Value {
    let schema = json!({"type": "object", "properties": {"a": property}});
    let (mut written, left_out) = brief(&schema);
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
    let (written, left_out) = brief(&schema);
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
    let size = json!(input(&schema).parameters()[3]);
    assert_eq!(size["description"], "How large.");
    let own =
        json!({"$ref": "#/$defs/Size", "default": 3, "$defs": {"Size": schema["$defs"]["Size"]}});
    assert_eq!(size["schema"], own);
}

/// A call that omits a nullable argument sends null if its server requires the argument.
#[test]
fn required_parameters_stay_required_and_nullable_ones_become_optional() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"]}, "b": {"type": "string"}, "c": {}, "e": {"type": "null"},
        },
        "required": ["a", "b", "c", "d", "e"],
    });
    let (written, _) = brief(&schema);
    let names = written.iter().map(|parameter| {
        let name = parameter["name"].as_str().unwrap();
        (name, parameter["required"] == true)
    });
    let names: Vec<_> = names.collect();
    assert_eq!(names, [("a", false), ("b", true), ("c", true), ("d", true)]);
    let schema = schema.as_object().unwrap();
    assert_eq!(null_when_absent(schema), ["a", "e"]);
}

#[test]
fn unsupported_parameter_names_get_an_alias() {
    let schema = json!({"type": "object", "required": ["page[size]"], "properties": {
        "$top": {"type": "integer"}, "top": {"type": "string"}, "@type": {"type": "string"},
        "page[size]": {"type": "integer"}, "x-y.z": {"type": "string"}, "größe": {"type": "integer"},
        "": {"type": "string"}, "a\u{7}b": {"type": "string"},
    }});
    let (written, left_out) = brief(&schema);
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
    assert_eq!(left_out, ["", "ab"]);
    // A tool that needs an argument without a name cannot be called.
    let needed = input(&json!({"required": ["a\u{7}b"]}));
    let expected = OmittedArgument {
        name: "ab".to_owned(),
        required: true,
        reason: "its name must have 1 to 200 visible characters".to_owned(),
    };
    assert_eq!(needed.omitted(), [expected]);
}

/// Defaults and allowed values of other types are no reason to leave a tool out.
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
    let (written, left_out) = brief(&json!({"properties": {"never": false}}));
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
    let (written, _) = brief(&schema);
    let names: Vec<_> = written.iter().map(|p| p["name"].clone()).collect();
    assert_eq!(names, ["p", "self", "whole"]);
}

/// A parameter has the schema of its property, as far as its own fields do not express it.
#[test]
fn a_parameter_has_the_rules_that_its_fields_cannot_express() {
    let none = json!({});
    for plain in [
        json!({"type": "string", "description": "A.", "title": "B", "default": "c"}),
        json!({"type": ["integer", "null"], "examples": [3]}),
        json!({"type": "string", "pattern": "^[a-z]+$"}),
        json!({"enum": ["a", "b"]}),
        json!({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": null}),
    ] {
        assert_eq!(own_schema(&plain, &none), Value::Null, "{plain}");
    }
    let bounded = json!({"type": "integer", "minimum": 1});
    assert_eq!(own_schema(&bounded, &none), bounded);
    let list = json!({"type": "array", "items": {"$ref": "#/$defs/item"}});
    let definitions = json!({
        "item": {"$ref": "#/$defs/name"}, "name": {"type": "string"}, "unused": {"type": "null"},
    });
    let mut expected = list.clone();
    expected["$defs"] = json!({"item": {"$ref": "#/$defs/name"}, "name": {"type": "string"}});
    assert_eq!(own_schema(&list, &definitions), expected);
    // These parts mean something else outside of the whole schema, which still checks them.
    for bound in [
        json!({"$ref": "#"}),
        json!({"items": {"$anchor": "x"}}),
        json!({"$ref": "#/$defs/no"}),
    ] {
        assert_eq!(own_schema(&bound, &none), Value::Null, "{bound}");
    }
}

#[test]
fn the_copies_of_definitions_are_bounded_together() {
    let long = "x".repeat(100 << 10);
    let properties = (0..50).map(|at| (format!("p{at:02}"), json!({"$ref": "#/$defs/long"})));
    let properties: Map<String, Value> = properties.collect();
    let schema =
        json!({"properties": properties, "$defs": {"long": {"type": "string", "title": long}}});
    let input = input(&schema);
    let with = input
        .parameters()
        .iter()
        .filter(|parameter| parameter.schema.is_some());
    assert_eq!(input.parameters().len(), 50);
    assert!((1..20).contains(&with.count()));
}

#[test]
fn a_parameter_has_the_pattern_and_the_first_fitting_example() {
    let property = json!({"$ref": "#/$defs/id"});
    let definitions =
        json!({"id": {"type": "string", "pattern": "^i-", "examples": [7, "i-1", "i-2"]}});
    let schema = json!({"properties": {"a": property}, "$defs": definitions});
    let input = input(&schema);
    let parameter = &input.parameters()[0];
    assert_eq!(parameter.pattern.as_deref(), Some("^i-"));
    assert_eq!(parameter.example, Some(json!("i-1")));
    // A pattern that is not a regular expression here is left to the check of the whole schema, which is refused.
    let other = one(&json!({"type": "string", "pattern": "(?=a)"}));
    assert_eq!(other, optional("string"));
}

/// Branches that describe a property differently allow the values of each.
#[test]
fn a_property_of_several_branches_has_the_types_and_values_of_all() {
    let branch = |kind: &str, value: &str| json!({"properties": {"kind": {"const": kind}, "value": {"type": value}}, "required": ["kind"]});
    let (written, _) =
        brief(&json!({"oneOf": [branch("text", "string"), branch("size", "integer")]}));
    let mut kind = json!({"name": "kind", "type": "string", "required": false});
    kind["enum"] = json!(["text", "size"]);
    let value =
        json!({"name": "value", "type": "string", "other_types": ["integer"], "required": false});
    assert_eq!(written, [kind, value]);
}

#[test]
fn objects_are_named_by_their_fields() {
    let place = json!({
        "type": "object", "description": "Where.", "required": ["city", "code"],
        "properties": {"city": {"type": "string"}, "code": {"type": ["string", "null"]}, "street": {}},
    });
    let schema = json!({"properties": {"at": place, "any": {"type": "object"}}});
    let input = input(&schema);
    let described: Vec<&str> = input
        .parameters()
        .iter()
        .map(|p| p.description.as_str())
        .collect();
    let at = "Where. (an object with `city`; optional `code`, `street`)";
    assert_eq!(described, ["", at]);
    let field = |name: &str, required: bool, shape: Shape| Field {
        name: name.to_owned(),
        required,
        shape,
    };
    let fields = vec![
        field("city", true, Shape::Text),
        field("code", false, Shape::Text),
        field("street", false, Shape::Mixed),
    ];
    let shapes: Vec<_> = input
        .parameters()
        .iter()
        .map(|p| input.shape(p).unwrap())
        .collect();
    assert_eq!(shapes, [&Shape::Object, &Shape::Record(fields)]);
}

/// A schema that refers to itself has records to a limited depth, and a limited number of fields.
#[test]
fn records_are_bounded_in_depth_and_number() {
    fn size(shape: &Shape) -> (usize, usize) {
        let Shape::Record(fields) = shape else {
            return (0, 0);
        };
        let inner = fields.iter().map(|field| size(&field.shape));
        inner.fold((1, fields.len()), |(depth, count), (inner, more)| {
            (depth.max(inner + 1), count + more)
        })
    }
    let node = json!({"$ref": "#/$defs/node"});
    let fields = (0..20).map(|at| (format!("f{at}"), node.clone()));
    let fields: Map<String, Value> = fields.collect();
    let schema = json!({"properties": {"a": node}, "$defs": {"node": {"type": "object", "properties": fields}}});
    let input = input(&schema);
    let (depth, count) = size(input.shape(&input.parameters()[0]).unwrap());
    assert_eq!(depth, crate::bounds::INPUT_LEVELS);
    assert!(
        (20..=crate::bounds::INPUT_FIELDS).contains(&count),
        "{count}"
    );
}

#[test]
fn further_names_are_allowed_only_where_the_schema_says_so() {
    let open = |schema: Value| {
        let input = input(&schema);
        (input.takes_any_name(), input.name_patterns().to_vec())
    };
    let none = Vec::<String>::new();
    assert_eq!(
        open(json!({"properties": {"a": {}}})),
        (false, none.clone())
    );
    assert_eq!(
        open(json!({"additionalProperties": false})),
        (false, none.clone())
    );
    assert_eq!(
        open(json!({"additionalProperties": true})),
        (true, none.clone())
    );
    let typed = json!({"allOf": [{"additionalProperties": {"type": "string"}}]});
    assert_eq!(open(typed), (true, none.clone()));
    assert_eq!(
        open(json!({"anyOf": [{"additionalProperties": true}]})),
        (false, none)
    );
    let named = json!({"patternProperties": {"^x-": {}}});
    assert_eq!(open(named), (false, vec!["^x-".to_owned()]));
}

/// A list of parameters, and the schema that it is a shorthand for, describe the same parameters.
#[test]
fn a_list_is_a_shorthand_for_a_schema() {
    let list = json!([
        {"name": "count", "type": "integer", "required": false, "description": "How many.", "default": 3},
        {"name": "mode", "type": "string", "other_types": ["array"], "required": false, "description": ""},
        {"name": "region", "type": "string", "required": true, "description": "Where.", "example": "eu-1",
         "pattern": "^[a-z]+-[0-9]$"},
        {"name": "stage", "type": "string", "required": false, "description": "", "enum": ["a", "b"]},
    ]);
    let listed: Vec<Parameter> = serde_json::from_value(list.clone()).unwrap();
    let listed = ToolInput::from_list(&listed);
    assert_eq!(listed.form(), InputForm::List);
    assert_eq!(listed.schema().fault(), None);
    let expected = json!({
        "type": "object", "required": ["region"], "additionalProperties": false,
        "properties": {
            "count": {"type": "integer", "description": "How many.", "default": 3},
            "mode": {"type": ["string", "array"], "description": ""},
            "region": {
                "type": "string", "description": "Where.", "examples": ["eu-1"], "pattern": "^[a-z]+-[0-9]$",
            },
            "stage": {"type": "string", "description": "", "enum": ["a", "b"]},
        },
    });
    assert_eq!(json!(listed.schema()), expected);
    let read = ToolInput::from_schema(listed.schema());
    assert_eq!(json!(read.parameters()), list);
}

/// References in the schemas of listed parameters lead to their own parts in the schema of the list.
#[test]
fn the_schemas_of_listed_parameters_keep_their_references() {
    let list = json!([{"name": "tree", "type": "object", "schema": {
        "properties": {"left": {"$ref": "#"}, "name": {"$ref": "#/$defs/name"}},
        "$defs": {"name": {"type": "string"}},
    }}]);
    let list: Vec<Parameter> = serde_json::from_value(list).unwrap();
    let schema = ForeignSchema::from(schema_of(&list));
    assert_eq!(schema.fault(), None);
    let fits = |value: Value| schema.violations(&json!({ "tree": value })).is_empty();
    assert!(fits(json!({"left": {"name": "a"}})));
    assert!(!fits(json!({"left": {"name": 1}})));
}

/// Arguments are checked by their names in the schema, and required ones that may be null are null when absent.
#[test]
fn arguments_are_checked_by_the_whole_schema() {
    let schema = json!({
        "type": "object", "required": ["$top", "after"], "additionalProperties": false,
        "properties": {"$top": {"type": "integer", "minimum": 1}, "after": {"type": ["string", "null"]}},
    });
    let input = input(&schema);
    let check = |bound: Value| {
        let found = input.violations(bound.as_object().unwrap());
        let found = found
            .into_iter()
            .map(|found| (found.pointer, found.message));
        found.collect::<Vec<_>>()
    };
    assert_eq!(check(json!({"top": 1})), []);
    assert_eq!(
        check(json!({"top": 0, "after": "x"})),
        [("/$top".to_owned(), "0 is less than 1".to_owned())]
    );
}
