//! Approvals of a list of calls: requested before the later calls may begin, and used call by call.

use super::*;

/// A read, and writes that follow it in sequence.
fn sequence() -> Driven {
    let mut run = Driven::new(vec![
        read("look", &[], AfterFailure::Abort),
        write("a", &["look"]),
        write("b", &["a"]),
        write("c", &["b"]),
        reversal("undo_a", "a"),
    ]);
    run.done("look");
    run
}

impl Driven {
    /// Requests one approval for the calls of these steps.
    fn ask_for(&mut self, steps: &[&str]) {
        for step in steps {
            let beginning = StepStart {
                call: self.call(step),
                decision: ask(),
                now: at(self.clock),
                approval: approval(7),
                expires_at: at(self.clock + 3_600),
            };
            self.command(Command::Begin(Box::new(beginning))).unwrap();
        }
    }

    fn exclude(&mut self, step: &str) -> Result<Vec<RunEvent>, IllegalTransition> {
        self.command(Command::Exclude {
            step: id(step),
            approval: approval(7),
            by: user("approver"),
        })
    }
}

#[test]
fn the_list_is_known_before_the_first_write() {
    let mut run = sequence();
    assert_eq!(run.run.askable_ahead(), [id("b"), id("c")]);
    run.ask_for(&["a", "b", "c"]);
    assert_eq!(run.run.status().as_str(), "awaiting_approval");
    assert!(run.run.askable_ahead().is_empty());
    for step in ["a", "b", "c"] {
        run.grant(step).unwrap();
    }
    for step in ["a", "b", "c"] {
        assert_eq!(run.next(), start(&[step]));
        run.begin_with(step, ask()).unwrap();
        run.succeed(step).unwrap();
    }
    assert_eq!(run.outcome(), "completed");
}

/// A later call begins only when its own conditions hold, although it is approved.
#[test]
fn an_approved_call_still_waits_for_its_sources() {
    let mut run = sequence();
    run.ask_for(&["a", "b", "c"]);
    for step in ["a", "b", "c"] {
        run.grant(step).unwrap();
    }
    assert!(run.begin_with("b", ask()).is_err());
    run.begin_with("a", ask()).unwrap();
    run.fail("a").unwrap();
    assert_eq!((run.state("b"), run.state("c")), ("cancelled", "cancelled"));
}

#[test]
fn a_call_that_differs_from_the_approved_one_asks_again() {
    let mut run = sequence();
    run.ask_for(&["a", "b"]);
    run.grant("a").unwrap();
    run.grant("b").unwrap();
    run.begin_with("a", ask()).unwrap();
    run.succeed("a").unwrap();
    let mut other = run.call("b");
    other.parameters.insert("more".into(), json!(1));
    let beginning = StepStart {
        call: other,
        decision: ask(),
        now: at(0),
        approval: approval(9),
        expires_at: at(60),
    };
    let events = run.command(Command::Begin(Box::new(beginning))).unwrap();
    assert!(
        matches!(events[..], [RunEvent::ApprovalRequested(_)]),
        "{events:?}"
    );
}

#[test]
fn an_excluded_call_does_not_happen() {
    let mut run = sequence();
    run.ask_for(&["a", "b", "c"]);
    run.grant("a").unwrap();
    run.exclude("b").unwrap();
    run.grant("c").unwrap();
    assert!(run.exclude("a").is_err(), "it is decided");
    run.begin_with("a", ask()).unwrap();
    run.succeed("a").unwrap();
    // `c` requires the success of `b`.
    assert_eq!((run.state("b"), run.state("c")), ("skipped", "skipped"));
    assert_eq!(run.outcome(), "completed");
    let account = RunAccount::new(&run.run);
    let why: Vec<UndoneReason> = account.undone.iter().map(|undone| undone.why).collect();
    assert_eq!(why, [UndoneReason::Excluded, UndoneReason::Skipped]);
    let again = Run::replay(run.journal.clone()).unwrap();
    assert_eq!(again.state_digest(), run.run.state_digest());
}

/// The items of a list run in sequence, although the one between them is excluded.
#[test]
fn the_steps_after_an_excluded_call_wait_for_the_calls_before_it() {
    let after = |name: &str, source: &str| {
        let mut step = write(name, &[source]);
        step.entry.edges[0].on = EdgeCondition::Settled;
        step
    };
    let mut run = Driven::new(vec![write("a", &[]), after("b", "a"), after("c", "b")]);
    run.ask_for(&["a", "b", "c"]);
    run.grant("a").unwrap();
    run.exclude("b").unwrap();
    run.grant("c").unwrap();
    assert_eq!(run.next(), start(&["a"]));
    run.begin_with("a", ask()).unwrap();
    assert!(run.begin_with("c", ask()).is_err(), "`a` has not ended");
    run.succeed("a").unwrap();
    assert_eq!(run.next(), start(&["c"]));
    run.begin_with("c", ask()).unwrap();
    run.succeed("c").unwrap();
    assert_eq!(run.outcome(), "completed");
}

#[test]
fn a_rejected_list_writes_nothing() {
    let mut run = sequence();
    run.ask_for(&["a", "b", "c"]);
    let refuse = Command::Refuse {
        step: id("a"),
        approval: approval(7),
        by: Some(user("approver")),
        failure: rejected(),
    };
    run.command(refuse).unwrap();
    assert_eq!((run.state("b"), run.state("c")), ("cancelled", "cancelled"));
    assert_eq!(run.outcome(), "rejected");
}

fn rejected() -> StepFailure {
    StepFailure {
        code: "approval_rejected".into(),
        ..failure(ErrorKind::PermissionError)
    }
}

/// A rejection, or a denial, after a write reverses what was written, for every failure policy of the step.
#[test]
fn a_refusal_after_a_write_rolls_back() {
    for (has_reversal, outcome) in [(true, "rolled_back"), (false, "rollback_failed")] {
        let mut later = write("b", &["a"]);
        later.after_failure = AfterFailure::Abort;
        let mut steps = vec![write("a", &[]), later];
        steps.extend(has_reversal.then(|| reversal("undo_a", "a")));
        let mut run = Driven::new(steps);
        run.done("a");
        run.begin_with("b", deny(RuleKind::Policy)).unwrap();
        if has_reversal {
            run.done("undo_a");
        }
        assert_eq!(run.outcome(), outcome);
        let cause = match run.run.outcome() {
            Some(RunOutcome::RolledBack { cause } | RunOutcome::RollbackFailed { cause, .. }) => {
                cause
            }
            other => panic!("{other:?}"),
        };
        let StopCause::Failure { failure, .. } = cause else {
            panic!("{cause:?}");
        };
        assert_eq!(failure.code, "policy_denied");
    }
}

/// A later call that the gate denies is refused before the others are asked about.
#[test]
fn a_later_call_is_refused_ahead() {
    let mut run = sequence();
    let events = run.begin_with("c", deny(RuleKind::Policy)).unwrap();
    assert!(
        matches!(events[0], RunEvent::StepRefused { .. }),
        "{events:?}"
    );
    assert_eq!(run.outcome(), "denied");
}

/// Writes with conditions of their own, reversals and reads are not asked about ahead.
#[test]
fn only_calls_that_nothing_but_other_steps_hold_back_are_listed() {
    let mut conditional = write("conditional", &["a"]);
    conditional.entry.when = Some("parameters.bucket == 'b-1'".into());
    let mut failing = handler("failing", "a");
    let StepAction::Call { writes, .. } = &mut failing.action else {
        unreachable!("it calls");
    };
    *writes = true;
    let run = Driven::new(vec![
        write("a", &[]),
        conditional,
        failing,
        read("check", &["a"], AfterFailure::Abort),
        write("late", &["check"]),
        reversal("undo_a", "a"),
    ]);
    assert_eq!(run.run.askable_ahead(), [id("late")]);
}
