//! Tests of rendered outputs.

use charter_contract::foreign_schema::ForeignSchema;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn shown(output: &Value) -> String {
    outline("List the crates", output, None)
}

fn schema(schema: &Value) -> ForeignSchema {
    schema.as_object().unwrap().clone().into()
}

#[test]
fn a_list_of_objects_is_a_table_of_what_tells_them_apart() {
    let output = json!([
        {"Shelf": "east", "CrateId": "c-1", "Weight": 12, "Notes": "x".repeat(90), "Status": "full",
         "Labels": [{"Key": "owner", "Value": "Mo"}], "Gone": null},
        {"Shelf": "east", "CrateId": "c-2", "Weight": 7, "Notes": "y".repeat(90), "Status": "empty",
         "Labels": [], "Gone": null},
    ]);
    let lines: Vec<String> = shown(&output).lines().map(str::to_owned).collect();
    assert_eq!(lines[0], "List the crates: 2 items.");
    assert_eq!(lines[2], "| CrateId | Weight | Notes | Status | Labels |");
    assert_eq!(lines[3], "| --- | --- | --- | --- | --- |");
    let long = format!("{}…", "x".repeat(59));
    assert_eq!(
        lines[4],
        format!("| c-1 | 12 | {long} | full | Key owner, Value Mo |")
    );
    assert_eq!(lines[5].rsplit(" | ").next(), Some("– |"));
    assert_eq!(lines[7], "(identical in all: Shelf east)");
}

#[test]
fn an_object_shows_its_fields_and_each_of_its_lists() {
    let output = json!({
        "as_of": "2031-02-03", "next": null, "crates": [{"id": "c-1"}, {"id": "c-2"}],
        "doors": [], "owner": {"name": "Mo"},
    });
    assert_eq!(
        shown(&output),
        "List the crates: as_of 2031-02-03, no doors, owner Mo\n\ncrates: 2 items.\n\n| id |\n| --- |\n| c-1 |\n| c-2 |"
    );
}

/// An empty list can be the answer, so it is mentioned beside the other fields.
#[test]
fn a_list_without_items_is_mentioned() {
    for (output, expected) in [
        (
            json!({"hosts": [], "asked": {"region": "ap-1"}}),
            "no hosts, asked ap-1",
        ),
        (json!({"hosts": [], "next": null}), "no hosts"),
        (
            json!({"data": {"hosts": [], "asked": "ap-1"}}),
            "data no hosts, asked ap-1",
        ),
        (json!({"data": {"page": {"hosts": []}}}), "data no hosts"),
        (json!({"hosts": {}, "next": ""}), "nothing."),
    ] {
        assert_eq!(shown(&output), format!("List the crates: {expected}"));
    }
}

/// A value inside nested objects with one field each is shown at any depth.
#[test]
fn a_wrapped_value_is_shown() {
    let wrapped = (0..20).fold(
        json!({"left": 1, "right": 2}),
        |inner, at| json!({format!("level{at}"): inner}),
    );
    assert_eq!(shown(&wrapped), "List the crates: level19 left 1, right 2");
}

#[test]
fn a_schema_says_which_fields_come_first_and_which_count() {
    let declared = schema(&json!({
        "type": "object",
        "properties": {"second": {}, "first": {}, "rows": {"type": "array", "items": {
            "type": "object", "required": ["g"], "properties": {"g": {"type": "string"}},
        }}},
    }));
    let row = |at: u32| {
        let mut row = json!({"g": format!("g{at}")});
        for name in ["a", "b", "c", "d", "e", "f"] {
            row[name] = json!(format!("{name}{at}"));
        }
        row
    };
    let output = json!({"extra": 3, "first": 1, "rows": [row(1), row(2)], "second": 2});
    let text = outline("Look", &output, Some(&declared));
    assert!(
        text.starts_with("Look: second 2, first 1, extra 3\n\n"),
        "{text}"
    );
    // There are seven columns, of which six are shown, including the declared one.
    assert!(text.contains("| g | a | b | c | d | e |"), "{text}");
    assert!(text.ends_with("(1 more columns)"), "{text}");
}

#[test]
fn other_outputs_are_shown_as_what_they_are() {
    for (output, expected) in [
        (json!([]), "List the crates: no items."),
        (json!({}), "List the crates: nothing."),
        (json!(null), "List the crates: nothing."),
        (json!(41), "List the crates: 41"),
        (json!(["a", "b"]), "List the crates: 2 items: a, b"),
        (json!([[1, 2], [3]]), "List the crates: 2 items: 1; 2, 3"),
    ] {
        assert_eq!(shown(&output), expected);
    }
}

#[test]
fn many_rows_are_counted() {
    let rows: Vec<Value> = (0..50).map(|at| json!({"id": at})).collect();
    let text = shown(&json!(rows));
    assert_eq!(text.matches("\n| ").count(), 22, "{text}");
    assert!(text.ends_with("(and 30 more)"), "{text}");
}

/// A tool's output is shown as text: it cannot end a cell, link to anything or become an element.
#[test]
fn an_output_cannot_become_markup() {
    let output = json!([{"id": "a|b", "text": "![x](https://h.example/?q)\n<img src=x> 1 < 2"}]);
    let text = shown(&output);
    let row = text.lines().nth(4).unwrap();
    assert_eq!(
        row,
        "| a\\|b | ![x] (https://h.example/?q) < img src=x> 1 < 2 |"
    );
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,30}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 120, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..30).prop_map(Value::from),
            proptest::collection::vec(("[a-f]{1,3}", inner), 0..12)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Every output is rendered within bounds, however large and unusual it is.
    #[test]
    fn every_output_is_shown_in_bounds(output in value()) {
        let text = shown(&output);
        prop_assert!(text.starts_with("List the crates:"));
        prop_assert!(text.chars().count() < 100_000);
        prop_assert!(!text.contains("]("));
    }

    /// The number of items is exact, even if not all rows are shown.
    #[test]
    fn items_are_counted(count in 2_usize..60) {
        let rows: Vec<Value> = (0..count).map(|at| json!({"id": at, "name": format!("n{at}")})).collect();
        let text = shown(&json!(rows));
        let head = format!("List the crates: {count} items.");
        prop_assert!(text.starts_with(&head));
        let written = text.matches("\n| ").count() - 2;
        prop_assert_eq!(written, count.min(20));
    }
}
