//! Steps that are repeated for each item of a list.

use super::*;

fn repeated(number: u8, items: Value) -> Value {
    let more =
        json!({"for_each": {"items": items, "concurrency": 2}, "parameters": {"n": "${item.n}"}});
    reads(number, more)
}

/// A list from an earlier output; a later step waits for all items.
#[test]
fn a_step_of_a_plan_is_repeated_for_each_item() {
    let steps = json!([
        reads(1, json!({})),
        repeated(2, json!("${step-001.items}")),
        reads(3, json!({"dependencies": ["step-002"]}))
    ]);
    let ended = run_plan(steps, json!({}), |step| match step {
        "step-001" => Ok(json!({"items": [{"n": 1}, {"n": 2}]})),
        other => succeeds(other),
    });
    let turns = [
        vec!["step-001"],
        vec!["step-002.1", "step-002.2"],
        vec!["step-003"],
    ];
    assert_eq!(ended.turns, turns);
    assert_eq!(ended.outcome(), "completed");
}

#[test]
fn only_a_repeated_step_has_an_item() {
    let steps = json!([reads(1, json!({"parameters": {"n": "${item.n}"}}))]);
    let report = compiled(&plan(PLAN, steps, json!({})), &[]).unwrap_err();
    let missing = (
        "/execution_plan/steps/0/parameters/n",
        "reference",
        "there is no step `item`",
    );
    assert_eq!(pointers(&report), [missing]);
    let steps = json!([repeated(1, json!("${step-009.items}"))]);
    let report = compiled(&plan(PLAN, steps, json!({})), &[]).unwrap_err();
    let missing = (
        "/execution_plan/steps/0/for_each/items",
        "reference",
        "there is no step `step-009`",
    );
    assert_eq!(pointers(&report), [missing]);
}

/// The field is outside the seed's schema, and is read with the plan.
#[test]
fn a_repetition_that_cannot_be_read_is_refused_with_its_location() {
    for (for_each, pointer) in [
        (json!("${user.list}"), "/steps/0/for_each"),
        (json!({"items": 1}), "/steps/0/for_each/items"),
        (
            json!({"items": [], "max_items": 501}),
            "/steps/0/for_each/max_items",
        ),
        (
            json!({"items": [], "concurrency": 21}),
            "/steps/0/for_each/concurrency",
        ),
    ] {
        let plan = json!({
            "id": PLAN, "request_id": "req-01930000-0000-7000-8000-000000000001",
            "steps": [reads(1, json!({"for_each": for_each}))],
        });
        let violations = read_value::<ExecutionPlan>(&plan).unwrap_err();
        let found: Vec<&str> = violations.iter().map(|v| v.pointer.as_str()).collect();
        assert_eq!(found, [pointer]);
    }
}
