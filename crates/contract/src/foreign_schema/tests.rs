use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jsonschema::{Keyword, PatternOptions, ValidationError, Validator};
use proptest::collection::vec;
use proptest::prelude::*;

use super::walk::Structure;
use super::*;
use crate::catalogue::tool::Tool;
use crate::schema::Faults;

const TOOL: &str = include_str!("../../tests/seeds/tool.json");

fn schema(json: &Value) -> ForeignSchema {
    ForeignSchema::from(json.as_object().unwrap().clone())
}

/// Returns the pointer and keyword of each violation.
fn violations(json: &Value, value: &Value) -> Vec<(String, String)> {
    let found = schema(json).violations(value);
    found
        .into_iter()
        .map(|found| (found.pointer, found.keyword))
        .collect()
}

fn limit(pointer: &str) -> [(String, String); 1] {
    [(pointer.to_owned(), "schema_limit".to_owned())]
}

fn fits(json: &Value, value: &Value) -> bool {
    schema(json).violations(value).is_empty()
}

/// Nests `bottom` under `levels` fields named `x`.
fn nested(levels: usize, bottom: Value) -> Value {
    (0..levels).fold(bottom, |inside, _| json!({ "x": inside }))
}

/// Builds definitions in which each `aN` refers twice to the next; `level` combines the two references.
fn doubling_schema(levels: usize, level: impl Fn(Value, Value) -> Value, last: Value) -> Value {
    let mut defs = Map::new();
    for at in 0..levels {
        let next = json!({"$ref": format!("#/$defs/a{}", at + 1)});
        defs.insert(format!("a{at}"), level(next.clone(), next));
    }
    defs.insert(format!("a{levels}"), last);
    json!({"$defs": defs, "$ref": "#/$defs/a0"})
}

#[test]
fn schemas_whose_references_double_are_refused_before_they_are_compiled() {
    let unevaluated =
        |one: Value, other: Value| json!({"allOf": [one, other], "unevaluatedProperties": false});
    let any = |one: Value, other: Value| json!({"anyOf": [one, other]});
    for levels in [10, 12, 14, 16, 40, 240] {
        for bomb in [
            doubling_schema(levels, unevaluated, json!({})),
            doubling_schema(levels, any, json!({"type": "null"})),
        ] {
            let fault = schema(&bomb).fault().unwrap();
            assert_eq!(fault.keyword(), "schema_limit", "{levels}: {fault}");
            assert_eq!(violations(&bomb, &json!(1)), limit(""));
        }
    }
}

#[test]
fn alternatives_that_double_with_each_level_of_the_value_end_with_the_budget() {
    let below = |one: Value, other: Value| json!({"anyOf": [{"properties": {"x": one}}, {"properties": {"x": other}}]});
    let bomb = doubling_schema(30, below, json!({"type": "null"}));
    assert_eq!(schema(&bomb).fault(), None);
    assert_eq!(violations(&bomb, &nested(30, json!(1))), limit(""));
    // The same schema still validates ordinary values.
    assert!(fits(&bomb, &nested(30, json!(null))));
    assert!(fits(&bomb, &json!({"x": {"y": [1, 2, 3]}})));
}

#[test]
fn recursion_through_alternatives_reports_the_fault_or_the_spent_budget() {
    let node = json!({"$ref": "#/$defs/a"});
    for alternatives in [
        json!({"oneOf": [
            {"properties": {"x": node}, "required": ["y"]},
            {"properties": {"x": node}, "required": ["z"]}
        ]}),
        json!({"dependentSchemas": {
            "x": {"anyOf": [{"properties": {"x": node}, "required": ["y"]}, {"required": ["z"]}]},
            "y": {"properties": {"x": node}}
        }}),
        json!({"anyOf": [
            {"type": "object", "properties": {"x": node}, "unevaluatedProperties": false, "required": ["y"]},
            {"allOf": [{"properties": {"x": node}}], "unevaluatedProperties": false, "required": ["z"]}
        ]}),
    ] {
        let bomb = json!({"$defs": {"a": alternatives}, "$ref": "#/$defs/a"});
        assert_eq!(schema(&bomb).fault(), None);
        let found = violations(&bomb, &nested(62, json!(1)));
        assert!(!found.is_empty(), "{bomb}");
    }
}

#[test]
fn long_lists_against_long_lists_end_with_the_budget() {
    let choices: Vec<Value> = (0..5_000).map(|at| json!([at])).collect();
    let items: Vec<Value> = (0..100_000).map(|at| json!([at + 5_000])).collect();
    let bomb = json!({"items": {"enum": choices}});
    assert_eq!(violations(&bomb, &json!(items)), limit(""));
    // Lists that the validator's own check considers equal at first sight.
    let alike: Vec<Value> = (0..10_000_u32)
        .map(|cuts| {
            let mut lists = vec![json!([])];
            lists.extend((0..16).map(|at| {
                if (cuts >> at) & 1 == 1 {
                    json!([[]])
                } else {
                    json!([])
                }
            }));
            json!(lists)
        })
        .collect();
    assert!(fits(&json!({"uniqueItems": true}), &json!(alike)));
    let patterns: Map<String, Value> = (0..64)
        .map(|at| (format!("^{at}[a-z]+$"), json!({"type": "null"})))
        .collect();
    let names: Map<String, Value> = (0..100_000)
        .map(|at| (format!("n{at}"), json!(1)))
        .collect();
    let bomb = json!({"patternProperties": patterns});
    assert_eq!(violations(&bomb, &json!(names)), limit(""));
}

#[test]
fn large_values_of_usual_schemas_are_checked() {
    let row = json!({
        "type": "object", "additionalProperties": false, "required": ["id", "name"],
        "properties": {
            "id": {"type": "string", "pattern": "^[a-z]{2}-[0-9]+$"},
            "name": {"type": "string", "minLength": 1},
            "size": {"type": ["integer", "null"], "minimum": 0},
            "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true},
        },
    });
    let rows: Vec<Value> = (0..30_000)
        .map(|at| json!({"id": format!("ab-{at}"), "name": "A name", "size": at, "tags": ["a", "b"]}))
        .collect();
    let rows = json!(rows);
    let list = schema(&json!({"type": "array", "items": row}));
    assert!(list.violations(&rows).is_empty());
    assert!(!list.accepts_at_once(&rows));
    let text = json!("A".repeat(8 << 20));
    let encoded = json!({"type": "string", "pattern": "^[A-Za-z0-9+/]+={0,2}$"});
    assert!(fits(&encoded, &text));
}

#[test]
fn a_compiled_schema_checks_a_small_value_at_once() {
    let numbers = schema(&json!({"items": {"type": "integer"}}));
    let few = json!([1, 2, 3]);
    assert!(!numbers.accepts_at_once(&few), "nothing is compiled yet");
    assert!(numbers.violations(&few).is_empty());
    let copy = numbers.clone();
    for one in [&numbers, &copy] {
        assert!(one.accepts_at_once(&few), "copies share what was compiled");
    }
    assert!(!copy.accepts_at_once(&json!(["a"])));
    assert!(!copy.accepts_at_once(&(0..50_000).collect()));
}

#[test]
fn a_schema_that_compiles_to_a_large_form_is_not_cached() {
    let one =
        |one: Value, other: Value| json!({"allOf": [one, other], "unevaluatedProperties": false});
    let large = schema(&doubling_schema(8, one, json!({})));
    assert_eq!(large.fault(), None);
    assert!(large.violations(&json!({})).is_empty());
    assert!(!large.accepts_at_once(&json!({})));
}

#[test]
fn a_schema_over_a_limit_is_read_and_fails_on_use() {
    let bomb = doubling_schema(
        40,
        |one: Value, other: Value| json!({"anyOf": [one, other]}),
        json!({}),
    );
    let mut tool: Value = serde_json::from_str(TOOL).unwrap();
    let fields = tool.as_object_mut().unwrap();
    fields.retain(|name, _| !name.starts_with('_'));
    fields.insert("output_schema".to_owned(), bomb.clone());
    let read: Tool = serde_json::from_value(tool).unwrap();
    let declared = read.output_schema.unwrap();
    assert_eq!(declared, schema(&bomb));
    let found = declared.violations(&json!({}));
    assert_eq!(
        found[0].message,
        "cannot be checked, since its schema cannot be used: `/$defs/a15/anyOf/0` exceeds the limit SCHEMA_CHAIN of \
         32: let fewer subschemas apply to one value by way of each other"
    );
}

#[test]
fn faults_are_reported_with_their_pointers() {
    let mut report = Report::new();
    schema(&json!({"items": {"$dynamicRef": "#a"}})).check("/output_schema", &mut report);
    schema(&json!({"type": "lots"})).check("/output_schema", &mut report);
    let found: Vec<(&str, &str)> = report
        .violations
        .iter()
        .map(|found| (found.pointer.as_str(), found.keyword.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("/output_schema/items", "json_schema"),
            ("/output_schema", "json_schema")
        ]
    );
}

/// The validator fetches nothing, not even meta-schemas.
#[test]
fn a_reference_to_another_schema_is_refused() {
    for outside in [
        "http://json-schema.org/draft-07/schema#",
        "https://a.example/b",
    ] {
        let declared = schema(&json!({"items": {"$ref": outside}}));
        let fault = declared.fault().unwrap();
        assert_eq!(fault.pointer(), "/items");
        assert!(fault.to_string().contains(outside), "{fault}");
    }
}

/// A keyword that is always kept and counts its evaluations.
struct Visit(Arc<AtomicU64>);

impl<'i> Keyword<'i> for Visit {
    fn validate(&self, value: &'i Value) -> Result<(), ValidationError<'i>> {
        self.is_valid(value);
        Ok(())
    }

    fn is_valid(&self, _: &'i Value) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed);
        true
    }
}

/// The validator without a budget, configured as in this crate; it counts the evaluated subschemas.
fn plain(json: &Value, visits: &Arc<AtomicU64>) -> Validator {
    let mut counting = json.clone();
    for subschema in &Structure::parse(json).unwrap().subschemas {
        if let Some(Value::Object(fields)) = counting.pointer_mut(&subschema.pointer) {
            fields.insert("visit".to_owned(), true.into());
        }
    }
    let visits = Arc::clone(visits);
    jsonschema::options()
        .should_validate_formats(true)
        .with_pattern_options(PatternOptions::regex())
        .with_keyword("visit", move |_: &Map<String, Value>, _, _| {
            Ok(Box::new(Visit(Arc::clone(&visits))) as Box<dyn for<'i> Keyword<'i>>)
        })
        .build(&counting)
        .unwrap()
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-2_i64..3).prop_map(Value::from),
        Just(json!(1.0)),
        Just(json!(2.5)),
        "[ab]{0,2}".prop_map(Value::from),
        Just(json!("127.0.0.1")),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            vec(("[ab]{1,2}", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A subschema whose only references are to `#/$defs/d`, and to the root from below.
fn subschema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(false)),
        Just(json!({})),
        prop::sample::select(vec![
            "null", "integer", "number", "string", "array", "object"
        ])
        .prop_map(|kind| json!({ "type": kind })),
        value().prop_map(|value| json!({ "const": value })),
        vec(value(), 1..4).prop_map(|values| json!({ "enum": values })),
        (-1_i64..2).prop_map(|limit| json!({"minimum": limit, "multipleOf": 0.5})),
        (0_u64..3).prop_map(|limit| json!({"maxLength": limit, "maxItems": limit})),
        Just(json!({"pattern": "^a", "format": "ipv4"})),
        Just(json!({"uniqueItems": true, "minProperties": 1})),
        Just(json!({"required": ["a"], "dependentRequired": {"b": ["a"]}})),
        Just(json!({"$ref": "#/$defs/d"})),
        Just(json!({"items": {"$ref": "#"}, "properties": {"a": {"$ref": "#"}}})),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let several = || vec(inner.clone(), 1..4);
        let one = || inner.clone();
        prop_oneof![
            several().prop_map(|all| json!({ "allOf": all })),
            several().prop_map(|any| json!({ "anyOf": any })),
            several().prop_map(|one| json!({ "oneOf": one })),
            one().prop_map(|not| json!({ "not": not })),
            (one(), one(), one()).prop_map(|(a, b, c)| json!({"if": a, "then": b, "else": c})),
            (one(), one()).prop_map(|(a, b)| json!({"properties": {"a": a, "b": b}})),
            (one(), one()).prop_map(
                |(a, b)| json!({"patternProperties": {"^a": a}, "additionalProperties": b})
            ),
            one().prop_map(|names| json!({ "propertyNames": names })),
            (several(), one()).prop_map(|(a, b)| json!({"prefixItems": a, "items": b})),
            one().prop_map(|any| json!({ "contains": any })),
            one().prop_map(|a| json!({"dependentSchemas": {"a": a}})),
            (several(), one()).prop_map(|(a, b)| json!({"anyOf": a, "unevaluatedProperties": b})),
            (several(), one()).prop_map(|(a, b)| json!({"allOf": a, "unevaluatedItems": b})),
        ]
    })
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": ["string", "null"]})),
        Just(json!({"required": ["a"]})),
        Just(json!({"minimum": 0})),
    ];
    (subschema(), leaf).prop_map(|(top, leaf)| json!({"$defs": {"d": leaf}, "allOf": [top]}))
}

proptest! {
    #[test]
    fn counting_changes_no_verdict_and_no_fault_and_counts_each_subschema(
        json in any_schema(), value in value()
    ) {
        let visits = Arc::new(AtomicU64::new(0));
        let plain = plain(&json, &visits);
        let expected = plain.is_valid(&value);
        let foreign = schema(&json);
        let found = foreign.with_checker(|checker| {
            let (accepted, steps) = checker.measure(&value, SCHEMA_STEPS);
            let faults = match checker.faults(&value, SCHEMA_STEPS) {
                Faults::All(faults) => faults.len(),
                Faults::First(_) | Faults::Unknown => 0,
            };
            (accepted, steps, faults)
        });
        let (accepted, steps, faults) = found.unwrap();
        prop_assert_eq!(accepted, Ok(expected));
        prop_assert!(steps >= visits.load(Ordering::Relaxed), "{} steps", steps);
        prop_assert_eq!(faults, plain.iter_errors(&value).count());
        prop_assert_eq!(foreign.violations(&value).is_empty(), expected);
    }
}
