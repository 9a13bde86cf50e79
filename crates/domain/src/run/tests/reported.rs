//! An interrupted write that a person reports as happened.

use super::*;
use crate::run::rolling_back;

/// Returns a run with an interrupted write that waits for approval of a repeat.
fn interrupted(steps: Vec<Step>) -> Driven {
    let mut run = Driven::new(steps);
    run.begin_with("w", ask()).unwrap();
    run.grant("w").unwrap();
    run.begin_with("w", ask()).unwrap();
    run.begin_with("w", ask_to_repeat()).unwrap();
    assert_eq!(run.state("w"), "awaiting_approval");
    run
}

/// It succeeds with the reported output, which later steps and the reversal can use.
#[test]
fn b000_18_an_interrupted_write_that_happened_succeeds_on_a_persons_word() {
    let mut run = interrupted(vec![
        write("w", &[]),
        reversal("undo", "w"),
        read("r", &["w"], AfterFailure::Abort),
    ]);
    let doubted: Vec<&str> = run.run.steps().in_doubt().map(AsRef::as_ref).collect();
    assert_eq!(doubted, ["w"]);
    let events = run.report("w").unwrap();
    let RunEvent::StepSucceeded { source, output, .. } = &events[0] else {
        panic!("{events:?}");
    };
    let ResultSource::Reported { by, reason, .. } = source else {
        panic!("{source:?}");
    };
    assert_eq!(
        (by, reason.as_deref()),
        (&user("approver"), Some("I saw it"))
    );
    assert_eq!(run.run.outputs()[&id("w")], *output);
    assert_eq!(run.run.steps().in_doubt().count(), 0);
    assert_eq!(run.next(), Next::Start(vec![id("r")]));
    run.done("r");
    assert_eq!(run.outcome(), "completed");
    let graph = rolling_back(&run.run).unwrap();
    assert_eq!(graph.steps()[0].id, id("undo"));
    let (_, divergence) = StrictReplay::replay(run.journal).unwrap();
    assert_eq!(divergence, None);
}

/// B000-18: a failed rollback is repeated only if none of its effects would happen twice.
#[test]
fn b000_18_a_run_wrote_nothing_unless_a_write_succeeded_or_is_in_doubt() {
    let run = Driven::new(vec![write("w", &[])]);
    assert!(run.run.steps().wrote_nothing());
    let doubted = interrupted(vec![write("w", &[])]);
    assert!(!doubted.run.steps().wrote_nothing());
    let mut failed = Driven::new(vec![write("w", &[])]);
    failed.begin("w").unwrap();
    failed.fail("w").unwrap();
    assert!(failed.run.steps().wrote_nothing());
    let mut done = Driven::new(vec![write("w", &[])]);
    done.done("w");
    assert!(!done.run.steps().wrote_nothing());
}

/// The older formats of the journal are unchanged; this one is added.
#[test]
fn the_sources_of_results_are_written_as_they_were() {
    let reported = ResultSource::Reported {
        by: user("bob"),
        makers: BTreeSet::new(),
        approval: approval(7),
        reason: None,
    };
    let written = json!([
        ResultSource::Fresh,
        ResultSource::Cached,
        ResultSource::Decided,
        reported
    ]);
    let report = json!({"reported": {"by": "bob", "approval": approval(7)}});
    assert_eq!(written, json!(["fresh", "cached", "decided", report]));
}

/// A report requires that an attempt began, and applies only to the displayed call.
#[test]
fn b000_18_what_was_not_begun_is_not_reported_as_done() {
    let mut run = Driven::new(vec![write("w", &[])]);
    run.begin_with("w", ask()).unwrap();
    let refused = run.report("w").unwrap_err().to_string();
    assert_eq!(
        refused,
        "the step `w` is awaiting_approval, so it cannot be reported as done"
    );
    let mut journal = run.journal.clone();
    let StepState::AwaitingApproval { approval, .. } = run.run.steps().state_of(&id("w")).unwrap()
    else {
        panic!("{:?}", run.run);
    };
    let made_up = RunEvent::StepSucceeded {
        step: id("w"),
        output: Value::Null,
        source: ResultSource::Reported {
            by: user("eve"),
            makers: BTreeSet::new(),
            approval: approval.clone(),
            reason: None,
        },
        duration_ms: 0,
        brings: Box::default(),
    };
    journal.push((made_up, at(1)));
    let (_, divergence) = StrictReplay::replay(journal).unwrap();
    let detail = divergence.unwrap().detail;
    assert_eq!(detail, "no started attempt has an unknown outcome");
}

/// A run whose only write has an unknown outcome reports that, not that it wrote nothing.
#[test]
fn b000_18_a_run_whose_write_is_in_doubt_says_so_when_it_is_to_be_rolled_back() {
    let mut run = interrupted(vec![write("w", &[]), reversal("undo", "w")]);
    let roll_back = false;
    run.command(RunOrder::Abort {
        by: user("op"),
        reason: "enough".into(),
        roll_back,
    })
    .unwrap();
    assert_eq!(run.outcome(), "aborted");
    let refused = rolling_back(&run.run).unwrap_err();
    assert_eq!(refused, crate::run::Unreversible::InDoubt(vec![id("w")]));
}
