//! When a run rolls back, which steps still continue, and which writes remain (B000-18, B003-8).

use super::*;

fn abort(roll_back: bool) -> RunOrder {
    RunOrder::Abort {
        by: user("op"),
        reason: "enough".into(),
        roll_back,
    }
}

fn tried(mut step: Step) -> Step {
    step.retry = Retry {
        retries: 1,
        delay_ms: 10_000,
    };
    step
}

fn left(run: &Driven) -> Vec<StepId> {
    match run.run.outcome() {
        Some(RunOutcome::RollbackFailed { left, .. }) => left.clone(),
        other => panic!("{other:?}"),
    }
}

/// A running write ends before any reversal, because otherwise it would remain unnoticed.
#[test]
fn b000_18_reversals_wait_for_what_is_under_way() {
    let mut run = Driven::new(vec![
        write("done", &[]),
        read("fails", &["done"], AfterFailure::RollBack),
        write("under_way", &["done"]),
        reversal("undo", "done"),
        reversal("undo_other", "under_way"),
    ]);
    run.done("done");
    assert!(run.begin("undo").is_err(), "nothing is to be reversed");
    run.begin("fails").unwrap();
    run.begin("under_way").unwrap();
    run.fail("fails").unwrap();
    let in_hand = BTreeSet::from([id("under_way")]);
    assert_eq!(run.run.next(&in_hand, |moment| moment <= at(0)), wait());
    assert!(run.begin("undo").is_err(), "a write is under way");
    run.succeed("under_way").unwrap();
    assert_eq!(run.next(), start(&["undo_other"]));
    run.done("undo_other");
    run.done("undo");
    assert_eq!(run.outcome(), "rolled_back");
}

/// The handler of a failure runs before any reversal.
#[test]
fn b003_6_what_a_failure_calls_for_runs_before_the_rollback() {
    let mut run = Driven::new(vec![
        write("done", &[]),
        read("fails", &["done"], AfterFailure::RollBack),
        handler("mend", "fails"),
        reversal("undo", "done"),
    ]);
    run.done("done");
    run.begin("fails").unwrap();
    run.fail("fails").unwrap();
    assert_eq!(run.next(), start(&["mend"]));
    assert!(run.begin("undo").is_err(), "a handler is ready");
    run.done("mend");
    assert_eq!(run.next(), start(&["undo"]));
    run.done("undo");
    assert_eq!(run.outcome(), "rolled_back");
}

/// An order to stop cancels everything that is not running: handlers, steps that wait for approval, and steps that are
/// due for a retry.
#[test]
fn b000_18_an_abort_cancels_all_that_is_not_under_way() {
    let mut run = Driven::new(vec![
        read("fails", &[], AfterFailure::Continue),
        handler("mend", "fails"),
        write("asks", &[]),
        tried(read("again", &[], AfterFailure::Abort)),
        read("goes", &[], AfterFailure::Abort),
    ]);
    run.begin("fails").unwrap();
    run.fail("fails").unwrap();
    run.begin_with("asks", ask()).unwrap();
    run.begin("again").unwrap();
    run.fail("again").unwrap();
    run.begin("goes").unwrap();
    run.command(abort(false)).unwrap();
    let states = ["mend", "asks", "again", "goes"].map(|step| run.state(step));
    assert_eq!(states, ["cancelled", "cancelled", "cancelled", "running"]);
    run.succeed("goes").unwrap();
    assert_eq!(run.outcome(), "aborted");
}

/// A failure cancels steps that have not begun. A step that is due for a retry has begun, and handlers of failures
/// still run.
#[test]
fn b003_8_a_failure_lets_what_has_begun_and_its_handlers_go_on() {
    let mut run = Driven::new(vec![
        read("fails", &[], AfterFailure::Abort),
        handler("mend", "fails"),
        write("asks", &[]),
        tried(read("again", &[], AfterFailure::Abort)),
        read("fresh", &[], AfterFailure::Abort),
    ]);
    run.begin_with("asks", ask()).unwrap();
    run.begin("again").unwrap();
    run.fail("again").unwrap();
    run.begin("fails").unwrap();
    run.fail("fails").unwrap();
    let states = ["mend", "asks", "again", "fresh"].map(|step| run.state(step));
    assert_eq!(states, ["pending", "cancelled", "retrying", "cancelled"]);
    assert_eq!(run.next(), start(&["mend"]));
    run.done("mend");
    assert_eq!(
        run.next(),
        Next::Wait {
            until: Some(at(10))
        }
    );
    run.clock = 10;
    assert_eq!(run.next(), start(&["again"]));
    run.done("again");
    assert_eq!(run.outcome(), "failed");
}

/// A paused run neither retries nor ends.
#[test]
fn b000_18_a_paused_run_neither_tries_again_nor_ends() {
    let mut run = Driven::new(vec![tried(read("a", &[], AfterFailure::Abort))]);
    run.begin("a").unwrap();
    run.fail("a").unwrap();
    run.command(RunOrder::Pause { by: user("op") }).unwrap();
    run.clock = 20;
    assert_eq!(run.next(), wait());
    run.command(RunOrder::Resume { by: user("op") }).unwrap();
    let resumed = run.command(RunOrder::Resume { by: user("op") });
    assert_eq!(resumed, Err(IllegalTransition::Already("running")));
    assert_eq!(run.next(), start(&["a"]));
    run.begin("a").unwrap();
    run.command(RunOrder::Pause { by: user("op") }).unwrap();
    run.succeed("a").unwrap();
    assert_eq!((run.outcome(), run.next()), ("none", wait()));
    run.command(RunOrder::Resume { by: user("op") }).unwrap();
    assert_eq!(run.outcome(), "completed");
}

/// A stopping run is not paused and cannot be paused, because it would never end.
#[test]
fn b000_18_stopping_a_paused_run_brings_it_to_its_end() {
    let mut run = Driven::new(vec![write("a", &[]), write("b", &["a"])]);
    run.begin("a").unwrap();
    run.command(RunOrder::Pause { by: user("op") }).unwrap();
    run.command(abort(false)).unwrap();
    let pause = run.command(RunOrder::Pause { by: user("op") });
    assert_eq!(pause, Err(IllegalTransition::Already("stopping")));
    run.succeed("a").unwrap();
    assert_eq!(run.outcome(), "aborted");
}

/// B000-18: at its time limit, a run rolls back if it can reverse something, and otherwise ends without a rollback.
#[test]
fn b000_18_over_time_a_run_turns_back_only_where_it_can() {
    let mut bare = Driven::new(vec![write("a", &[]), write("b", &["a"])]);
    bare.done("a");
    bare.command(Command::TimeUp).unwrap();
    let timed_out = RunOutcome::Failed {
        cause: StopCause::TimedOut,
    };
    assert_eq!(bare.run.outcome(), Some(&timed_out));
    let mut run = Driven::new(vec![
        write("a", &[]),
        write("b", &["a"]),
        reversal("undo", "a"),
    ]);
    run.done("a");
    run.command(Command::TimeUp).unwrap();
    let again = run.command(Command::TimeUp);
    assert_eq!(again, Err(IllegalTransition::Already("stopping")));
    run.done("undo");
    assert_eq!(run.outcome(), "rolled_back");
}

/// B003-8: a fallback replaces a failed plan, but not a rollback or an abort.
#[test]
fn b003_8_a_fallback_follows_a_failure_only() {
    let parts = |after_failure| {
        let mut step = read("a", &[], after_failure);
        step.after_failure = after_failure;
        let fallback = GraphParts {
            steps: vec![read("instead", &[], AfterFailure::Abort)],
            ..GraphParts::default()
        };
        GraphParts {
            steps: vec![step],
            fallback: Some(Box::new(StepGraph::new(fallback).unwrap())),
            ..GraphParts::default()
        }
    };
    let mut failed = Driven::of(parts(AfterFailure::Abort));
    failed.begin("a").unwrap();
    failed.fail("a").unwrap();
    assert_eq!(failed.next(), start(&["instead"]));
    let key = failed.run.idempotency_key(&id("instead"));
    assert_eq!(key, format!("{}/fallback-1/instead", failed.run.id()));
    failed.done("instead");
    assert_eq!(failed.outcome(), "completed");
    let mut back = Driven::of(parts(AfterFailure::RollBack));
    back.begin("a").unwrap();
    back.fail("a").unwrap();
    assert_eq!(back.outcome(), "rolled_back");
    for command in [abort(false).into(), Command::TimeUp] {
        let mut stopped = Driven::of(parts(AfterFailure::Abort));
        stopped.command(command).unwrap();
        assert!(
            matches!(stopped.run.outcome(), Some(RunOutcome::Failed { .. })),
            "{:?}",
            stopped.run.outcome()
        );
    }
}

/// The outcome lists writes that may remain in effect, but not those that were reversed, that only read, or that failed
/// by themselves.
#[test]
fn b000_18_a_write_with_unknown_result_is_reported_as_left() {
    let steps = || {
        vec![
            write("in_doubt", &[]),
            write("refused", &[]),
            read("late", &[], AfterFailure::RollBack),
        ]
    };
    let interrupted = || GateDecision::NeedsApproval {
        rules: vec![RuleResult::new(
            RuleKind::Interrupted,
            "t.x",
            "may have happened",
        )],
        permitted_by: vec![],
        warnings: vec![],
    };
    // A person rejects a repeat, but the write may still have happened.
    let mut run = Driven::new(steps());
    run.begin("in_doubt").unwrap();
    run.begin_with("in_doubt", interrupted()).unwrap();
    let Some(StepState::AwaitingApproval { approval, .. }) =
        run.run.steps().state_of(&id("in_doubt"))
    else {
        panic!("nobody was asked");
    };
    let refusal = Command::Refuse {
        step: id("in_doubt"),
        approval: approval.clone(),
        by: Some(user("approver")),
        failure: failure(ErrorKind::PermissionError),
    };
    run.command(refusal).unwrap();
    assert_eq!(left(&run), [id("in_doubt")]);
    // The gate denies a repeat.
    let mut run = Driven::new(steps());
    run.begin("in_doubt").unwrap();
    run.begin_with("in_doubt", deny(RuleKind::Policy)).unwrap();
    assert_eq!(left(&run), [id("in_doubt")]);
    // It was repeated with a known outcome.
    let mut run = Driven::new(steps());
    run.begin("in_doubt").unwrap();
    run.begin_with("in_doubt", interrupted()).unwrap();
    run.grant("in_doubt").unwrap();
    run.begin_with("in_doubt", interrupted()).unwrap();
    run.fail("in_doubt").unwrap();
    assert_eq!(run.outcome(), "rolled_back");
    // No write began, so none remains; and steps that only read leave nothing behind.
    let mut run = Driven::new(steps());
    run.begin("late").unwrap();
    run.begin_with("refused", deny(RuleKind::Policy)).unwrap();
    run.fail_as("late", ErrorKind::TimeoutError).unwrap();
    assert_eq!(run.outcome(), "denied");
}

/// A reversal is not a forward step: its failure is reported as a remaining write, and stops nothing.
#[test]
fn b000_18_a_reversal_that_failed_stops_nothing() {
    let mut run = Driven::new(vec![write("a", &[]), reversal("undo", "a")]);
    let failed = RunEvent::StepFailed {
        step: id("undo"),
        failure: failure(ErrorKind::ExecutionError),
        tokens: TokenUsage::default(),
    };
    run.run.apply(failed, at(0)).unwrap();
    assert_eq!(
        (run.run.status().as_str(), run.next()),
        ("working", start(&["a"]))
    );
}

/// B000-18: a dry run produces no evidence, so none is missing.
#[test]
fn b000_18_a_dry_run_lacks_no_evidence() {
    let parts = GraphParts {
        steps: vec![read("a", &[], AfterFailure::Abort)],
        evidence: vec![Label::parse("absent").unwrap()],
        ..GraphParts::default()
    };
    let mut dry = Driven::opening(parts, RunPrerequisites::default(), true);
    dry.done("a");
    assert_eq!(dry.outcome(), "completed");
}

/// An event of an unknown step does not affect another step.
#[test]
fn b002_14_an_event_of_an_unknown_step_is_not_folded() {
    let mut run = Driven::new(vec![write("a", &[]), write("b", &[])]);
    let stray = RunEvent::StepSucceeded {
        step: id("nope"),
        output: json!(1),
        source: ResultSource::Fresh,
        duration_ms: 1,
        brings: Box::default(),
    };
    let folded = run.run.apply(stray, at(0));
    assert_eq!(folded, Err(FoldError::UnknownStep(id("nope"))));
    assert_eq!((run.state("a"), run.state("b")), ("pending", "pending"));
    assert!(run.run.outputs().is_empty());
}
