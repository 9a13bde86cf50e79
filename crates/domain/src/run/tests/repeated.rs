//! Steps that are repeated for each item of a list: each item is a step of its own.

use super::*;

/// A write for each item of `items`, at most `concurrency` at the same time.
fn repeated(items: Value, concurrency: usize, after_failure: AfterFailure) -> Step {
    let parameters = json!({"of": "${item.id}", "from": "${list.region}"});
    Step {
        action: StepAction::ForEach {
            items,
            max_items: 3,
            concurrency,
            each: Box::new(StepAction::Call {
                tool: ToolId::parse("t.x").unwrap(),
                arguments: Arguments::Template(parameters.as_object().unwrap().clone()),
                script: None,
                writes: true,
            }),
        },
        ..read("lock", &["list"], after_failure)
    }
}

fn undo() -> Step {
    let parameters = json!({"of": "${item.id}", "was": "${lock.of}", "all": "${list.region}"});
    Step {
        action: StepAction::Call {
            tool: ToolId::parse("t.x").unwrap(),
            arguments: Arguments::Template(parameters.as_object().unwrap().clone()),
            script: None,
            writes: true,
        },
        ..reversal("undo", "lock")
    }
}

/// A run whose step `list` has returned this list.
fn listed(items: &Value, concurrency: usize, after_failure: AfterFailure) -> Driven {
    let mut run = Driven::new(vec![
        read("list", &[], AfterFailure::Abort),
        repeated(json!("${list.items}"), concurrency, after_failure),
        undo(),
        read("after", &["lock"], AfterFailure::Abort),
    ]);
    run.begin("list").unwrap();
    run.command(Command::Succeed {
        step: id("list"),
        output: json!({"items": items, "region": "eu-1"}),
        source: ResultSource::Fresh,
        duration_ms: 1,
        brings: Box::default(),
    })
    .unwrap();
    run
}

fn three() -> Value {
    json!([{"id": "a"}, {"id": "b"}, {"id": "c"}])
}

fn arguments(run: &Driven, step: &str) -> Value {
    let step = run.run.graph().step(&id(step)).unwrap();
    let StepAction::Call { arguments, .. } = &step.action else {
        panic!("{step:?}");
    };
    let mut filling = charter_contract::filling::FillBudget::with_limit(10_000);
    let values = arguments.resolve(run.run.bindings_of(step), &mut filling);
    Value::Object(values.unwrap())
}

#[test]
fn each_item_is_a_step_with_its_own_arguments_and_key() {
    let mut run = listed(&three(), 1, AfterFailure::RollBack);
    assert_eq!(run.next(), start(&["lock.1"]));
    assert_eq!(
        arguments(&run, "lock.1"),
        json!({"of": "a", "from": "eu-1"})
    );
    assert_eq!(
        arguments(&run, "lock.3"),
        json!({"of": "c", "from": "eu-1"})
    );
    let keys = ["lock.1", "lock.2"].map(|step| run.run.idempotency_key(&id(step)));
    assert_ne!(keys[0], keys[1]);
    for step in ["lock.1", "lock.2", "lock.3"] {
        assert_eq!(run.next(), start(&[step]));
        run.done(step);
    }
    let collected = json!([{"of": "lock.1"}, {"of": "lock.2"}, {"of": "lock.3"}]);
    assert_eq!(run.run.outputs()[&id("lock")], collected);
    run.done("after");
    assert_eq!(run.outcome(), "completed");
    let written: Vec<&str> = run
        .run
        .steps()
        .written()
        .map(|step| step.id.as_str())
        .collect();
    assert_eq!(written, ["lock.1", "lock.2", "lock.3"]);
    let again = Run::replay(run.journal.clone()).unwrap();
    assert_eq!(again.state_digest(), run.run.state_digest());
}

#[test]
fn no_more_items_run_at_once_than_allowed() {
    let mut run = listed(&three(), 2, AfterFailure::RollBack);
    assert_eq!(run.next(), start(&["lock.1", "lock.2"]));
    run.begin("lock.1").unwrap();
    run.done("lock.2");
    assert_eq!(run.state("lock.3"), "pending");
    run.succeed("lock.1").unwrap();
    assert_eq!(run.next(), start(&["lock.3"]));
}

/// Each completed item is reversed, last first, with its own output.
#[test]
fn a_failed_item_rolls_back_the_items_before_it() {
    let mut run = listed(&three(), 1, AfterFailure::RollBack);
    run.done("lock.1");
    run.done("lock.2");
    run.begin("lock.3").unwrap();
    run.fail("lock.3").unwrap();
    assert_eq!(run.next(), start(&["undo.2"]));
    let undone = json!({"of": "b", "was": "lock.2", "all": "eu-1"});
    assert_eq!(arguments(&run, "undo.2"), undone);
    run.done("undo.2");
    run.done("undo.1");
    assert_eq!(run.outcome(), "rolled_back");
}

#[test]
fn an_ended_run_is_rolled_back_item_by_item() {
    let mut run = listed(&three(), 3, AfterFailure::RollBack);
    for step in ["lock.1", "lock.2", "lock.3", "after"] {
        run.done(step);
    }
    let graph = rolling_back(&run.run).unwrap();
    let ids: Vec<&str> = graph.steps().iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["undo.3", "undo.2", "undo.1"]);
    let StepAction::Call { arguments, .. } = &graph.steps()[1].action else {
        panic!("{graph:?}");
    };
    let undone = json!({"of": "b", "was": "lock.2", "all": "eu-1"});
    assert_eq!(Value::Object(arguments.written().clone()), undone);
}

#[test]
fn a_step_with_a_failed_item_fails_after_the_others() {
    let mut run = listed(&three(), 1, AfterFailure::Continue);
    run.done("lock.1");
    run.begin("lock.2").unwrap();
    run.fail("lock.2").unwrap();
    run.done("lock.3");
    assert_eq!(
        (run.state("lock"), run.state("after")),
        ("failed", "skipped")
    );
    let Some(StepState::Failed { failure }) = run.run.steps().state_of(&id("lock")) else {
        panic!("it failed");
    };
    assert!(
        failure.message.ends_with("1 of 3 items failed: `lock.2`"),
        "{failure:?}"
    );
}

#[test]
fn a_list_without_items_has_no_outputs_and_a_wrong_list_fails_the_step() {
    let run = listed(&json!([]), 1, AfterFailure::RollBack);
    assert_eq!(run.run.outputs()[&id("lock")], json!([]));
    assert_eq!(run.next(), start(&["after"]));
    for (items, message) in [
        (
            json!({"a": 1}),
            "`for_each` needs a list, and its `items` is none",
        ),
        (
            json!([1, 2, 3, 4]),
            "the list has 4 items, more than the limit of 3",
        ),
    ] {
        let run = listed(&items, 1, AfterFailure::Abort);
        let Some(StepState::Failed { failure }) = run.run.steps().state_of(&id("lock")) else {
            panic!("it failed");
        };
        assert_eq!(failure.message, format!("the step `lock`: {message}"));
        assert_eq!(run.outcome(), "failed");
    }
}

/// The items are part of the journal, so that a changed one is detected.
#[test]
fn items_that_the_list_does_not_have_are_detected() {
    let run = listed(&three(), 1, AfterFailure::RollBack);
    let at_expansion = |event: &RunEvent| matches!(event, RunEvent::StepExpanded { .. });
    let mut journal = run.journal;
    let expanded = journal.iter_mut().find(|(event, _)| at_expansion(event));
    let Some((RunEvent::StepExpanded { growth, .. }, _)) = expanded else {
        panic!("no items were added");
    };
    growth.steps[0].item.as_mut().unwrap().value = json!({"id": "z"});
    let (_, divergence) = StrictReplay::replay(journal).unwrap();
    assert!(divergence.is_some());
}
