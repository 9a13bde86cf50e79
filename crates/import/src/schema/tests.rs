use super::*;
use crate::documents::Location;

fn open(document: &Value) -> DocumentSet {
    DocumentSet::open(Location::file("a.json"), &document.to_string(), []).unwrap()
}

/// Translates the member `s` of a document.
fn translated(document: &Value, direction: Direction) -> (Value, Vec<String>) {
    let documents = open(document);
    let translator = SchemaTranslator::new(&documents);
    let part = documents.root().member("s").unwrap();
    let schema = translator.translate(part, direction, 500).unwrap();
    let notes = translator.take_notes().into_iter().collect();
    (Value::Object(schema), notes)
}

fn input(schema: &Value) -> Value {
    translated(&json!({ "s": schema }), Direction::Input).0
}

#[test]
fn openapi_3_0_and_swagger_2_0_become_2020_12() {
    for (written, expected) in [
        (
            json!({"type": "string", "nullable": true, "enum": ["a", "b"]}),
            json!({"type": ["string", "null"], "enum": ["a", "b", null]}),
        ),
        (
            json!({"type": "integer", "minimum": 1, "exclusiveMinimum": true, "maximum": 9}),
            json!({"type": "integer", "exclusiveMinimum": 1, "maximum": 9}),
        ),
        (
            json!({"type": "integer", "minimum": 1, "exclusiveMinimum": false, "exclusiveMaximum": 9}),
            json!({"type": "integer", "minimum": 1, "exclusiveMaximum": 9}),
        ),
        (json!({"type": "file"}), json!({"type": "string"})),
        (
            json!({"type": ["string", "null"]}),
            json!({"type": ["string", "null"]}),
        ),
        (
            json!({"properties": {"a": {"type": "boolean"}}}),
            json!({"type": "object", "properties": {"a": {"type": "boolean"}}}),
        ),
        (
            json!({"nullable": true, "allOf": [{"type": "string", "format": "date"}]}),
            json!({"type": ["string", "null"], "format": "date"}),
        ),
        (
            json!({"type": "string", "uniqueItems": true}),
            json!({"type": "string"}),
        ),
        (
            json!({"type": "array", "nullable": true, "uniqueItems": true}),
            json!({"type": ["array", "null"], "uniqueItems": true}),
        ),
        (json!({"const": "a"}), json!({"enum": ["a"]})),
        (json!(true), json!({})),
    ] {
        assert_eq!(input(&written), expected, "{written}");
    }
}

#[test]
fn malformed_keywords_are_left_out() {
    for (written, expected) in [
        (
            json!({"type": "integer", "default": "ten", "enum": ["a"], "minimum": "1", "required": true}),
            json!({"type": "integer"}),
        ),
        (
            json!({"type": "string", "pattern": "(?=a)", "minLength": -1, "enum": []}),
            json!({"type": "string"}),
        ),
        (
            json!({"type": "string", "enum": ["a", "a", 1, "b"], "default": "c", "example": "d"}),
            json!({"type": "string", "enum": ["a", "b"]}),
        ),
        (json!({"type": "any", "multipleOf": 0}), json!({})),
        (
            json!({"type": "array", "items": [{}, {}]}),
            json!({"type": "array", "items": {}}),
        ),
        (json!(["not", "a", "schema"]), json!({})),
    ] {
        assert_eq!(input(&written), expected, "{written}");
    }
}

#[test]
fn objects_that_all_apply_are_merged() {
    let document = json!({
        "s": {"allOf": [
            {"$ref": "#/base"},
            {"type": "object", "required": ["b", "absent"], "properties": {"b": {"type": "integer"}}},
            {"required": ["c"]},
        ], "description": "Both"},
        "base": {"type": "object", "required": ["a", "id"], "properties": {
            "a": {"type": "string"}, "c": {"type": "string"}, "id": {"type": "string", "readOnly": true}}},
    });
    let (schema, _) = translated(&document, Direction::Input);
    assert_eq!(
        schema,
        json!({
            "description": "Both", "type": "object", "required": ["a", "b", "c"],
            "properties": {"a": {"type": "string"}, "c": {"type": "string"}, "b": {"type": "integer"}},
        })
    );
}

#[test]
fn received_values_are_described_and_not_restricted() {
    let document = json!({"s": {
        "type": "object", "required": ["a"], "additionalProperties": false,
        "properties": {
            "a": {"type": "string", "enum": ["x"], "pattern": "^x$"},
            "secret": {"type": "string", "writeOnly": true},
        },
    }});
    let (schema, _) = translated(&document, Direction::Output);
    let expected = json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}});
    assert_eq!(schema, expected);
}

#[test]
fn a_binary_part_is_a_file() {
    let document = json!({"s": {"type": "object", "properties": {"f": {"type": "string", "format": "binary"}}}});
    let (schema, _) = translated(&document, Direction::Parts);
    assert_eq!(
        schema["properties"]["f"]["properties"]["base64"]["type"],
        "string"
    );
}

#[test]
fn a_schema_that_contains_itself_is_opaque_inside() {
    let document = json!({
        "s": {"$ref": "#/node"},
        "node": {"type": "object", "properties": {"next": {"$ref": "#/node"}, "name": {"type": "string"}}},
    });
    let (schema, notes) = translated(&document, Direction::Input);
    assert_eq!(
        schema["properties"],
        json!({"next": {"description": "The same again, nested."}, "name": {"type": "string"}})
    );
    assert_eq!(
        notes,
        ["the schema `#/node` contains itself; the inner one accepts every value"]
    );
}

#[test]
fn references_that_may_not_be_followed_are_opaque_and_noted() {
    for reference in ["/etc/passwd", "https://evil.example/a.json", "#/nothing"] {
        let document = json!({"s": {"type": "object", "properties": {"a": {"$ref": reference}}}});
        let (schema, notes) = translated(&document, Direction::Input);
        assert_eq!(schema["properties"], json!({"a": {}}), "{reference}");
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains(reference), "{notes:?}");
    }
}

#[test]
fn a_large_schema_is_cut_to_one_depth() {
    let leaf = |count: usize| -> Map<String, Value> {
        let names = (0..count).map(|at| (format!("p{at}"), json!({"type": "string"})));
        names.collect()
    };
    let inner = json!({"type": "object", "properties": leaf(100)});
    let outer: Map<String, Value> = (0..20)
        .map(|at| (format!("o{at}"), inner.clone()))
        .collect();
    let document = json!({"s": {"type": "object", "properties": outer}});
    let (schema, notes) = translated(&document, Direction::Input);
    assert_eq!(schema["properties"]["o0"], json!({"type": "object"}));
    assert_eq!(schema["properties"]["o19"], json!({"type": "object"}));
    assert_eq!(notes.len(), 1);
}

/// Each level doubles the number of references: 2^60 parts without a budget.
#[test]
fn references_that_multiply_are_bounded() {
    let mut document = Map::new();
    for at in 0..60 {
        let next = json!({"$ref": format!("#/n{}", at + 1)});
        let node = json!({"type": "object", "properties": {"a": next, "b": next}});
        document.insert(format!("n{at}"), node);
    }
    document.insert("n60".to_owned(), json!({"type": "string"}));
    document.insert("s".to_owned(), json!({"$ref": "#/n0"}));
    let (schema, _) = translated(&Value::Object(document), Direction::Input);
    assert!(schema["properties"]["a"].is_object());
}

#[test]
fn a_huge_list_of_allowed_values_is_left_to_the_api() {
    let values: Vec<String> = (0..100_000).map(|at| format!("v{at}")).collect();
    assert_eq!(
        input(&json!({"type": "string", "enum": values})),
        json!({"type": "string"})
    );
}
