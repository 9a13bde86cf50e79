//! The conditions that steps wait for before they begin.

use super::*;

fn waits(run: &Driven, step: &str) -> Vec<StepWait> {
    StepWait::list(&run.run, &id(step))
}

#[test]
fn a_step_waits_for_its_sources_and_a_reversal_for_a_rollback() {
    let mut run = Driven::new(vec![
        write("a", &[]),
        read("b", &["a"], AfterFailure::Abort),
        handler("c", "a"),
        reversal("undo", "a"),
    ]);
    let of_a = |on| {
        let step = id("a");
        vec![StepWait::Step { step, on }]
    };
    assert_eq!(waits(&run, "a"), []);
    assert_eq!(waits(&run, "b"), of_a(EdgeCondition::Success));
    assert_eq!(waits(&run, "c"), of_a(EdgeCondition::Failure));
    assert_eq!(waits(&run, "undo"), [StepWait::Rollback { of: id("a") }]);
    assert_eq!(waits(&run, "nowhere"), []);
    run.done("a");
    assert_eq!(waits(&run, "a"), []);
    assert_eq!(waits(&run, "b"), []);
    assert_eq!(run.next(), start(&["b"]));
    run.done("b");
    assert_eq!(run.outcome(), "completed");
    assert_eq!(waits(&run, "undo"), [], "nothing goes on after the end");
}

#[test]
fn a_step_waits_for_people_and_for_its_next_attempt() {
    let mut tried = write("w", &[]);
    tried.retry = Retry {
        retries: 1,
        delay_ms: 5_000,
    };
    let mut run = Driven::new(vec![tried]);
    run.begin_with("w", ask()).unwrap();
    let Some(StepState::AwaitingApproval {
        approval,
        expires_at,
        ..
    }) = run.run.steps().state_of(&id("w")).cloned()
    else {
        panic!("it asks");
    };
    let asked = StepWait::Approval {
        approval,
        expires_at,
    };
    assert_eq!(waits(&run, "w"), std::slice::from_ref(&asked));
    let by = user("asker");
    run.command(RunOrder::Pause { by: by.clone() }).unwrap();
    assert_eq!(waits(&run, "w"), [StepWait::Resumption, asked]);
    run.command(RunOrder::Resume { by }).unwrap();
    run.grant("w").unwrap();
    run.begin_with("w", ask()).unwrap();
    assert_eq!(waits(&run, "w"), [], "it has begun");
    run.fail("w").unwrap();
    assert_eq!(waits(&run, "w"), [StepWait::Moment { due: at(5) }]);
}

#[test]
fn b000_18_a_step_waits_for_parameters_and_the_confirmation_of_the_plan() {
    let bucket = Label::parse("bucket").unwrap();
    let opening = RunPrerequisites {
        confirm: true,
        missing: vec![bucket.clone()],
        ..RunPrerequisites::default()
    };
    let parts = GraphParts {
        steps: vec![write("w", &[])],
        ..GraphParts::default()
    };
    let run = Driven::opening(parts, opening, false);
    let missing = vec![bucket];
    assert_eq!(
        waits(&run, "w"),
        [StepWait::Parameters { missing }, StepWait::Confirmation]
    );
}
