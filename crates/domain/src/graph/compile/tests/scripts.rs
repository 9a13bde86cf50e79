//! Scripts in a playbook: the values that reach them, and the scripts that are rejected.

use charter_contract::catalogue::playbook::Playbook;

use super::*;

/// The playbook of seed 000, with `changes` by JSON pointer.
fn seeds(changes: &[(&str, Value)]) -> Playbook {
    let text = include_str!("../../../../../contract/tests/seeds/playbook.json");
    let mut playbook: Value = serde_json::from_str(text).unwrap();
    for (pointer, value) in changes {
        *playbook.pointer_mut(pointer).unwrap() = value.clone();
    }
    document(&playbook)
}

/// The playbook, with the parts that the seed leaves undefined.
fn completed() -> Playbook {
    let body = "import boto3\nec2 = boto3.client('ec2', region_name='${user.region}')\n\
                rules = ec2.describe('${step_1.groups.0.id}')\nreturn rules\n";
    let undo = "put_back('${step_2}', '${user.profile}')\n";
    seeds(&[
        ("/scripts/1/body", json!(body)),
        (
            "/scripts/0",
            json!({"step_id": "step_2", "script_id": "step_2_rollback", "language": "python", "body": undo}),
        ),
    ])
}

fn arguments(graph: &StepGraph, step: &str) -> Value {
    let step = graph.steps().iter().find(|found| found.id.as_ref() == step);
    match &step.unwrap().action {
        StepAction::Call { arguments, .. } => Value::Object(arguments.written().clone()),
        other => panic!("{other:?}"),
    }
}

/// Ruling 12: exactly the parts that the seed leaves undefined are reported, each with its location.
#[test]
fn ruling_12_the_seeds_playbook_says_what_it_lacks() {
    let found: Vec<_> = seeds(&[])
        .undefined()
        .into_iter()
        .map(|undefined| (undefined.violation.pointer, undefined.script_line))
        .collect();
    assert_eq!(
        found,
        [
            ("/scripts/1/body".to_owned(), Some(4)),
            ("/rollback_steps/0/script_id".to_owned(), None)
        ]
    );
    assert_eq!(completed().undefined(), []);
}

/// Ruling 31: each placeholder of a script is an argument under its own text, and waits for the step that it names.
#[test]
fn ruling_31_what_a_script_reads_is_among_its_arguments() {
    let graph = from_playbook(&completed()).unwrap();
    assert_eq!(
        arguments(&graph, "step_2"),
        json!({
            "profile": "${user.profile}", "region": "${user.region}",
            "${user.region}": "${user.region}", "${step_1.groups.0.id}": "${step_1.groups.0.id}",
        })
    );
    assert_eq!(
        arguments(&graph, "rollback_2"),
        json!({
            "output": "${step_2}", "${step_2}": "${step_2}", "${user.profile}": "${user.profile}",
        })
    );
    let ended = drive(graph, json!({"region": "r", "profile": "p"}), |_| {
        Ok(
            json!({"groups": [{"id": "sg-1"}], "security_group_state_before": 1,
            "security_group_state_after": 2, "api_calls_made": []}),
        )
    });
    assert_eq!(ended.outcome(), "completed");
}

/// A placeholder that is not a quoted value is reported with its script and line.
#[test]
fn ruling_31_a_script_with_a_misplaced_placeholder_is_refused() {
    let playbook = seeds(&[(
        "/scripts/0/body",
        json!("import os\nos.exec(${user.region})\n"),
    )]);
    let refused = from_playbook(&playbook).unwrap_err().to_string();
    let named = "the step `step_1`: the script `step_1`: line 2 of the script: `${user.region}` ";
    assert!(refused.starts_with(named), "{refused}");
}
