//! The order of steps: which start, are skipped, retried or replaced (B003-5 to B003-9).

use super::*;

/// B003-5: independent steps run in parallel; ready steps start in listed order.
#[test]
fn b003_5_ready_steps_start_together_in_listed_order() {
    let abort = AfterFailure::Abort;
    let mut run = Driven::new(vec![
        read("z", &[], abort),
        read("join", &["z", "a"], abort),
        read("a", &[], abort),
    ]);
    assert_eq!(run.next(), start(&["z", "a"]));
    run.begin("z").unwrap();
    run.begin("a").unwrap();
    let in_hand = BTreeSet::from([id("z"), id("a")]);
    assert_eq!(run.run.next(&in_hand, |moment| moment <= at(0)), wait());
    run.succeed("a").unwrap();
    assert!(matches!(
        run.begin("join"),
        Err(IllegalTransition::Step { .. })
    ));
    run.succeed("z").unwrap();
    assert_eq!(run.next(), start(&["join"]));
    run.done("join");
    assert_eq!((run.next(), run.outcome()), (Next::Ended, "completed"));
}

/// B003-8: an abort cancels steps that have not started, waits for those that have, and fails the run.
#[test]
fn b003_8_abort_cancels_what_has_not_started() {
    let abort = AfterFailure::Abort;
    let mut run = Driven::new(vec![
        read("a", &[], abort),
        read("b", &[], abort),
        read("c", &["b"], abort),
    ]);
    run.begin("a").unwrap();
    run.begin("b").unwrap();
    run.fail("a").unwrap();
    assert_eq!((run.state("c"), run.outcome()), ("cancelled", "none"));
    run.succeed("b").unwrap();
    assert_eq!(run.outcome(), "failed");
}

/// B003-6: the handler of a failure runs even though the run was aborted; without a failure it is skipped.
#[test]
fn b003_6_a_failure_step_runs_after_an_abort() {
    let steps = || {
        vec![
            read("a", &[], AfterFailure::Abort),
            handler("mend", "a"),
            read("other", &["a"], AfterFailure::Abort),
        ]
    };
    let mut failed = Driven::new(steps());
    failed.begin("a").unwrap();
    failed.fail("a").unwrap();
    assert_eq!(
        (failed.next(), failed.state("other")),
        (start(&["mend"]), "cancelled")
    );
    failed.done("mend");
    assert_eq!(failed.outcome(), "failed");
    let mut succeeded = Driven::new(steps());
    succeeded.done("a");
    assert_eq!(succeeded.state("mend"), "skipped");
}

/// B003-6, B003-9: a false expression skips its step; one that cannot be evaluated fails it.
#[test]
fn b003_6_an_expression_decides_whether_a_step_runs() {
    let when = |expression: &str| {
        let mut step = read("b", &["a"], AfterFailure::Abort);
        step.entry.when = Some(expression.to_owned());
        let mut run = Driven::new(vec![read("a", &[], AfterFailure::Abort), step]);
        run.done("a");
        run
    };
    assert_eq!(when("steps.a.output.of == 'a'").next(), start(&["b"]));
    let skipped = when("parameters.bucket == 'other'");
    assert_eq!(
        (skipped.state("b"), skipped.outcome()),
        ("skipped", "completed")
    );
    let failed = when("steps.a.output.absent > 1");
    assert_eq!((failed.state("b"), failed.outcome()), ("failed", "failed"));
}

/// B003-8: otherwise only the dependants are skipped and the rest completes.
#[test]
fn b003_8_other_steps_go_on_when_only_dependants_are_skipped() {
    let mut run = Driven::new(vec![
        read("a", &[], AfterFailure::Continue),
        read("b", &["a"], AfterFailure::Abort),
        read("c", &[], AfterFailure::Abort),
    ]);
    run.begin("a").unwrap();
    run.fail("a").unwrap();
    assert_eq!((run.next(), run.state("b")), (start(&["c"]), "skipped"));
    run.done("c");
    assert_eq!(run.outcome(), "completed");
}

/// B003-8: the fallback runs once, in place of the failed plan, with separate idempotency keys.
#[test]
fn b003_8_a_fallback_runs_once() {
    let fallback = StepGraph::new(GraphParts {
        steps: vec![read("a", &[], AfterFailure::Abort)],
        ..GraphParts::default()
    });
    let mut run = Driven::of(GraphParts {
        steps: vec![read("a", &[], AfterFailure::Abort)],
        fallback: Some(Box::new(fallback.unwrap())),
        ..GraphParts::default()
    });
    let first = run.run.idempotency_key(&id("a"));
    run.begin_with("a", ask()).unwrap();
    run.grant("a").unwrap();
    run.begin_with("a", ask()).unwrap();
    run.fail("a").unwrap();
    assert_eq!(run.next(), start(&["a"]));
    assert_ne!(run.run.idempotency_key(&id("a")), first);
    run.begin("a").unwrap();
    let tool = ToolId::parse("t.x").unwrap();
    assert_eq!(
        run.run.steps().calls()[&tool],
        2,
        "policies see the whole run"
    );
    assert_eq!(run.run.steps().approvals(), 1);
    run.fail("a").unwrap();
    assert_eq!(run.outcome(), "failed");
}

/// B003-7: one attempt, then up to `max_attempts` retries, each after its delay. Errors of permission or input are not
/// retried.
#[test]
fn b003_7_a_step_is_tried_again_as_often_as_it_says() {
    let steps = || {
        let mut step = read("a", &[], AfterFailure::Abort);
        step.retry = Retry {
            retries: 2,
            delay_ms: 10_000,
        };
        vec![step]
    };
    let mut run = Driven::new(steps());
    for _ in 0..2 {
        run.begin("a").unwrap();
        run.fail("a").unwrap();
        let due = at(run.clock + 10);
        assert_eq!(run.next(), Next::Wait { until: Some(due) });
        run.clock += 10;
        assert_eq!(run.next(), start(&["a"]));
    }
    run.begin("a").unwrap();
    run.fail("a").unwrap();
    assert_eq!(run.outcome(), "failed");
    for kind in [ErrorKind::PermissionError, ErrorKind::InputError] {
        let mut run = Driven::new(steps());
        run.begin("a").unwrap();
        run.fail_as("a", kind).unwrap();
        assert_eq!(run.outcome(), "failed", "{kind}");
    }
}

/// An interrupted step is started again with the same key, as another attempt.
#[test]
fn an_interrupted_step_is_started_again_under_the_same_key() {
    let mut run = Driven::new(vec![read("a", &[], AfterFailure::Abort)]);
    let first = run.begin("a").unwrap();
    assert_eq!(run.next(), start(&["a"]));
    let second = run.begin("a").unwrap();
    let (RunEvent::StepBegun(first), RunEvent::StepBegun(second)) = (&first[0], &second[0]) else {
        panic!("not begun: {first:?} {second:?}");
    };
    assert_eq!((first.attempt, second.attempt), (1, 2));
    assert_eq!(first.idempotency_key, second.idempotency_key);
}

/// A step that is ready may fail before it begins, and is then not retried; a step that is not ready may not.
#[test]
fn b003_7_a_step_that_could_not_be_prepared_fails_for_good() {
    let mut first = read("a", &[], AfterFailure::Continue);
    first.retry.retries = 2;
    let mut run = Driven::new(vec![first, read("b", &["a"], AfterFailure::Abort)]);
    let early = IllegalTransition::Step {
        step: id("b"),
        state: "pending",
        wanted: "begun",
    };
    assert_eq!(run.fail("b"), Err(early));
    run.fail("a").unwrap();
    assert_eq!((run.state("a"), run.state("b")), ("failed", "skipped"));
}

/// B003-7, B003-8: after another step's failure, running steps may be retried; after an order to stop, only reversals
/// may.
#[test]
fn b003_7_a_stopped_run_tries_only_reversals_again() {
    let tried = |mut step: Step| {
        step.retry.retries = 1;
        step
    };
    let steps = || {
        vec![
            write("done", &[]),
            tried(reversal("undo", "done")),
            read("fails", &["done"], AfterFailure::Abort),
            tried(write("under_way", &["done"])),
        ]
    };
    let mut failed = Driven::new(steps());
    failed.done("done");
    failed.begin("fails").unwrap();
    failed.begin("under_way").unwrap();
    failed.fail("fails").unwrap();
    failed.fail("under_way").unwrap();
    assert_eq!(failed.state("under_way"), "retrying");
    let mut aborted = Driven::new(steps());
    aborted.done("done");
    aborted.begin("under_way").unwrap();
    aborted
        .command(RunOrder::Abort {
            by: user("op"),
            reason: "enough".into(),
            roll_back: true,
        })
        .unwrap();
    aborted.fail("under_way").unwrap();
    assert_eq!(aborted.state("under_way"), "failed");
    aborted.begin("undo").unwrap();
    aborted.fail("undo").unwrap();
    assert_eq!(aborted.state("undo"), "retrying");
    aborted.done("undo");
    assert_eq!(aborted.outcome(), "rolled_back");
}
