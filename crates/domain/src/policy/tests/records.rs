//! Tests of policies about tools with an input schema: nested objects, values of several types, further names.

use super::*;

fn find() -> Tool {
    serde_json::from_value(json!({
        "tool_id": "aws.find", "name": "t", "provider": "aws", "tool_class": "write", "domain": "security",
        "description": "d", "language": "python",
        "input_schema": {
            "type": "object", "required": ["filter"], "additionalProperties": true,
            "properties": {
                "filter": {"$ref": "#/$defs/filter"},
                "labels": {"type": "object"},
                "value": {"type": ["string", "integer"]},
            },
            "$defs": {"filter": {
                "type": "object", "required": ["region"],
                "properties": {
                    "region": {"type": "string"}, "size": {"type": ["integer", "null"]}, "ids": {"type": "array"},
                    "all_of": {"$ref": "#/$defs/filter"}, "any": {"anyOf": [{"type": "string"}, {"type": "array"}]},
                },
            }},
        },
    }))
    .unwrap()
}

fn decide(arguments: Value, condition: &str) -> String {
    let policies = [policy("p.one", "aws.*", &permit(condition))];
    let asked = Call {
        tool: find(),
        arguments,
        ..call()
    };
    asked.decide(&view(&[find()], &policies, &[])).to_string()
}

fn refused(condition: &str) -> Vec<String> {
    let policy = policy("p.one", "aws.*", &permit(condition));
    let tools = [find()];
    let view = view(&tools, &[], &[]);
    let found = misfits_of(&policy, &view);
    let errors = found.filter_map(|misfit| match misfit {
        Misfit::Error(fault) => Some(fault.message),
        Misfit::Warning(_) => None,
    });
    errors.collect()
}

#[test]
fn a_nested_object_is_a_record_of_its_fields() {
    let arguments = json!({
        "filter": {"region": "eu-1", "size": 3, "ids": ["i-1"], "other": true, "all_of": {"region": "eu-2"}},
        "labels": {"team": "db"},
    });
    for condition in [
        "context.parameters.filter.region == \"eu-1\"",
        "context.parameters.filter has size && context.parameters.filter.size == 3",
        "context.parameters.filter has ids && context.parameters.filter.ids.texts.contains(\"i-1\")",
        "context.parameters.filter has all_of && context.parameters.filter.all_of.region == \"eu-2\"",
        "context.parameters has labels && context.parameters.labels.keys.contains(\"team\")",
    ] {
        assert_eq!(refused(condition), Vec::<String>::new(), "{condition}");
        assert_eq!(decide(arguments.clone(), condition), ALLOWED, "{condition}");
        let other = decide(arguments.clone(), &format!("!({condition})"));
        assert_eq!(other, UNPERMITTED, "{condition}");
    }
    // A field that may be absent or null has to be asked for first, and an unknown one does not exist.
    for condition in [
        "context.parameters.filter.size == 3",
        "context.parameters.filter.other == true",
    ] {
        assert!(!refused(condition).is_empty(), "{condition}");
    }
}

#[test]
fn a_policy_cannot_look_into_values_of_several_types() {
    for value in [json!("x"), json!(7)] {
        let arguments = json!({"filter": {"region": "eu-1", "any": ["a"]}, "value": value});
        assert_eq!(decide(arguments, "context.parameters has value"), ALLOWED);
    }
    assert_eq!(
        refused("context.parameters has value && context.parameters.value == \"x\"").len(),
        1
    );
}

#[test]
fn further_arguments_are_not_visible_and_null_fields_are_absent() {
    let arguments = json!({"filter": {"region": "eu-1", "size": null}, "more": 0.123_456});
    assert_eq!(
        decide(arguments, "!(context.parameters.filter has size)"),
        ALLOWED
    );
}

#[test]
fn a_field_that_cedar_cannot_hold_denies() {
    let arguments = json!({"filter": {"region": "eu-1", "size": u64::MAX}});
    assert_eq!(
        decide(arguments, "true"),
        "denied: the argument `filter` cannot be passed to policies: an integer has at most 63 bits"
    );
}

/// The longest text counts where it is nested, because a rule may compare it.
#[test]
fn the_work_of_comparing_nested_texts_is_bounded() {
    let pattern = format!("*{}*", "a".repeat(900));
    let condition = format!("context.parameters.filter.region like \"{pattern}\"");
    let arguments = json!({"filter": {"region": "a".repeat(1 << 20)}});
    let decided = decide(arguments, &condition);
    assert!(decided.contains("CEDAR_STEPS"), "{decided}");
}
