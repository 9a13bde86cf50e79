//! Pause, abort, time limit and rollback (B000-18).

use super::*;

/// B000-18: completed writes are reversed, the last one first, without asking anybody.
#[test]
fn b000_18_a_rollback_reverses_completed_writes_last_first() {
    let mut run = Driven::new(vec![
        write("one", &[]),
        write("two", &["one"]),
        write("three", &["two"]),
        reversal("undo_one", "one"),
        reversal("undo_two", "two"),
        reversal("undo_three", "three"),
    ]);
    run.done("one");
    run.done("two");
    run.begin("three").unwrap();
    run.fail("three").unwrap();
    assert_eq!(
        (run.run.status().as_str(), run.next()),
        ("rolling_back", start(&["undo_two"]))
    );
    assert!(run.begin("undo_one").is_err(), "not its turn");
    let begun = run.begin_with("undo_two", ask()).unwrap();
    assert!(matches!(begun[..], [RunEvent::StepBegun(_)]), "{begun:?}");
    run.succeed("undo_two").unwrap();
    assert_eq!(run.next(), start(&["undo_one"]));
    run.done("undo_one");
    assert_eq!(
        (run.outcome(), run.state("undo_three")),
        ("rolled_back", "pending")
    );
}

/// B000-18: a rollback that fails says what is left; a write that nothing reverses is left too.
#[test]
fn b000_18_a_failing_rollback_says_what_is_left() {
    let mut run = Driven::new(vec![
        write("one", &[]),
        write("two", &["one"]),
        write("three", &["two"]),
        reversal("undo_one", "one"),
        reversal("undo_two", "two"),
    ]);
    run.done("one");
    run.done("two");
    run.begin("three").unwrap();
    run.fail("three").unwrap();
    run.begin("undo_two").unwrap();
    run.fail("undo_two").unwrap();
    let Some(RunOutcome::RollbackFailed { left, .. }) = run.run.outcome() else {
        panic!("{:?}", run.run.outcome());
    };
    assert_eq!(*left, [id("one"), id("two")]);
    let mut bare = Driven::new(vec![write("one", &[]), write("two", &["one"])]);
    bare.done("one");
    bare.begin("two").unwrap();
    bare.fail("two").unwrap();
    assert_eq!(bare.outcome(), "rollback_failed");
}

/// B000-18: the time limit counts work, not waiting for people; then it aborts and rolls back.
#[test]
fn b000_18_the_time_limit_does_not_count_waiting_for_people() {
    let mut run = Driven::of(GraphParts {
        steps: vec![write("a", &[]), write("b", &["a"]), reversal("undo", "a")],
        timeout_ms: 60_000,
        ..GraphParts::default()
    });
    run.clock = 10;
    run.begin_with("a", ask()).unwrap();
    assert_eq!(run.run.deadline(), None, "a person is awaited");
    run.clock = 3_000;
    run.grant("a").unwrap();
    assert_eq!(run.run.deadline(), Some(at(3_050)));
    run.begin_with("a", ask()).unwrap();
    run.clock = 3_020;
    run.succeed("a").unwrap();
    run.begin("b").unwrap();
    assert_eq!(run.run.deadline(), Some(at(3_050)));
    run.clock = 3_050;
    run.command(Command::TimeUp).unwrap();
    run.fail_as("b", ErrorKind::TimeoutError).unwrap();
    assert_eq!(run.next(), start(&["undo"]));
    run.done("undo");
    let Some(RunOutcome::RollbackFailed { left, cause }) = run.run.outcome() else {
        panic!("{:?}", run.run.outcome());
    };
    assert_eq!(
        (left.as_slice(), cause),
        ([id("b")].as_slice(), &StopCause::TimedOut)
    );
}

#[test]
fn b000_18_a_paused_run_starts_nothing_and_an_aborted_one_ends() {
    let mut run = Driven::new(vec![
        write("a", &[]),
        write("b", &["a"]),
        reversal("undo", "a"),
    ]);
    run.begin("a").unwrap();
    run.command(RunOrder::Pause { by: user("op") }).unwrap();
    run.succeed("a").unwrap();
    assert_eq!((run.run.status().as_str(), run.next()), ("paused", wait()));
    assert!(run.begin("b").is_err());
    let again = run.command(RunOrder::Pause { by: user("op") });
    assert_eq!(again, Err(IllegalTransition::Already("paused")));
    run.command(RunOrder::Resume { by: user("op") }).unwrap();
    assert_eq!(run.next(), start(&["b"]));
    let abort = || RunOrder::Abort {
        by: user("op"),
        reason: "enough".into(),
        roll_back: true,
    };
    run.command(abort()).unwrap();
    assert_eq!(
        run.command(abort()),
        Err(IllegalTransition::Already("stopping"))
    );
    run.done("undo");
    assert_eq!(run.outcome(), "rolled_back");
    let mut kept = Driven::new(vec![write("a", &[]), write("b", &["a"])]);
    kept.done("a");
    let abort = RunOrder::Abort {
        by: user("op"),
        reason: "enough".into(),
        roll_back: false,
    };
    kept.command(abort).unwrap();
    assert_eq!(kept.outcome(), "aborted");
}

/// B000-18: whoever aborts a run says whether its writes are reversed; a step that fails afterwards
/// does not change that.
#[test]
fn b000_18_a_later_failure_does_not_turn_an_abort_into_a_rollback() {
    for (roll_back, outcome) in [(false, "aborted"), (true, "rolled_back")] {
        let mut run = Driven::new(vec![
            write("first", &[]),
            write("second", &["first"]),
            reversal("undo", "first"),
        ]);
        run.done("first");
        run.begin("second").unwrap();
        run.command(RunOrder::Abort {
            by: user("operator"),
            reason: "enough".into(),
            roll_back,
        })
        .unwrap();
        run.fail("second").unwrap();
        if roll_back {
            run.done("undo");
        }
        assert_eq!(run.outcome(), outcome);
    }
}

/// B003-8, B000-18: of two failures one that asks for the rollback is enough.
#[test]
fn b003_8_a_second_failure_may_add_the_rollback() {
    let mut run = Driven::new(vec![
        write("done", &[]),
        reversal("undo", "done"),
        read("mild", &["done"], AfterFailure::Abort),
        read("grave", &["done"], AfterFailure::RollBack),
    ]);
    run.done("done");
    run.begin("mild").unwrap();
    run.begin("grave").unwrap();
    run.fail("mild").unwrap();
    run.fail("grave").unwrap();
    assert_eq!(run.next(), start(&["undo"]));
    run.done("undo");
    assert_eq!(run.outcome(), "rolled_back");
}

/// B000-18: a worker that takes an aborted run up begins no read again that it finds interrupted: the run ends.
#[test]
fn b000_18_an_interrupted_read_of_an_aborted_run_is_not_repeated() {
    let abort = || RunOrder::Abort {
        by: user("op"),
        reason: "enough".into(),
        roll_back: true,
    };
    let mut retried = read("look", &["done"], AfterFailure::RollBack);
    retried.retry.retries = 3;
    let mut run = Driven::new(vec![
        write("done", &[]),
        reversal("undo", "done"),
        retried,
        write("more", &["done"]),
    ]);
    run.done("done");
    run.begin("look").unwrap();
    run.begin("more").unwrap();
    assert_eq!(run.run.not_repeated(&id("look")), None, "it goes on");
    run.command(abort()).unwrap();
    // Nobody knows whether the write happened.
    assert_eq!(run.run.not_repeated(&id("more")), None);
    let failure = run.run.not_repeated(&id("look")).unwrap();
    assert_eq!(failure.code, "cancelled");
    run.command(Command::Fail {
        step: id("look"),
        failure,
        at: at(run.clock),
        tokens: TokenUsage::default(),
    })
    .unwrap();
    assert_eq!(
        (run.state("look"), run.next()),
        ("failed", start(&["more"]))
    );
    run.done("more");
    run.begin("undo").unwrap();
    assert_eq!(run.run.not_repeated(&id("undo")), None);
    run.succeed("undo").unwrap();
    assert_eq!(run.outcome(), "rollback_failed", "nothing reverses `more`");
}

/// In a run that fails, what has begun goes on to its end: a step that a failure calls for may wait for it.
#[test]
fn b000_18_an_interrupted_read_of_a_failing_run_is_repeated() {
    let mut run = Driven::new(vec![
        read("one", &[], AfterFailure::Abort),
        read("two", &[], AfterFailure::Abort),
        handler("tidy", "two"),
    ]);
    run.begin("one").unwrap();
    run.begin("two").unwrap();
    run.fail("one").unwrap();
    assert_eq!(run.run.not_repeated(&id("two")), None);
    assert_eq!(run.next(), start(&["two"]));
}
