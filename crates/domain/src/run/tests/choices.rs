//! Decisions of the machine itself: choices, conclusions, and steps with several sources (B003-5, B003-6, B003-9).

use super::*;
use crate::graph::{Branch, Join};

fn choice(name: &str, branches: &[(&str, &str)], otherwise: &str) -> Step {
    let branch = |(when, next): &(&str, &str)| Branch {
        when: (*when).to_owned(),
        next: id(next),
    };
    let mut step = read(name, &["first"], AfterFailure::Abort);
    step.action = StepAction::Choose {
        branches: branches.iter().map(branch).collect(),
        otherwise: id(otherwise),
    };
    step
}

/// A branch of a choice, which concludes with `output`.
fn way(name: &str, output: &Value) -> Step {
    let mut step = read(name, &[], AfterFailure::Abort);
    step.action = StepAction::Conclude {
        output: output.clone(),
    };
    step.entry.edges = vec![Edge {
        from: id("choice"),
        on: EdgeCondition::Chosen,
    }];
    step
}

fn decided_as(branches: &[(&str, &str)]) -> Driven {
    let mut run = Driven::new(vec![
        read("first", &[], AfterFailure::Abort),
        choice("choice", branches, "right"),
        way("left", &json!({"said": "left"})),
        way("right", &json!({"said": "${user.bucket}"})),
    ]);
    run.done("first");
    run
}

/// The first branch that holds is chosen, or else the default; the other branches are skipped.
#[test]
fn b003_6_a_choice_takes_the_first_branch_that_holds() {
    let no = ("steps.first.output.of == 'other'", "left");
    let yes = ("steps.first.state == 'succeeded'", "left");
    let right = ("true", "right");
    let skipped = |reached: &str, unreached: &str, output: Value| {
        let expected = BTreeMap::from([
            (id("first"), json!({"of": "first"})),
            (id("choice"), json!({"chosen": reached})),
            (id(reached), output),
        ]);
        (expected, unreached.to_owned())
    };
    let left = || skipped("left", "right", json!({"said": "left"}));
    let otherwise = || skipped("right", "left", json!({"said": "b-1"}));
    for (branches, (outputs, unreached)) in [
        (vec![yes], left()),
        (vec![yes, right], left()),
        (vec![no], otherwise()),
        (vec![right, yes], otherwise()),
        (vec![], otherwise()),
    ] {
        let run = decided_as(&branches);
        assert_eq!(run.run.outputs(), &outputs);
        let expected = StepState::Skipped {
            reason: SkipReason::Source { step: id("choice") },
        };
        assert_eq!(run.run.steps().state_of(&id(&unreached)), Some(&expected));
        assert_eq!(run.outcome(), "completed");
        let by_itself = run.journal.iter().filter(|(event, _)| {
            matches!(
                event,
                RunEvent::StepSucceeded {
                    source: ResultSource::Decided,
                    duration_ms: 0,
                    ..
                }
            )
        });
        assert_eq!(by_itself.count(), 2, "the choice and the way it chose");
    }
}

/// B003-9: a choice that cannot be evaluated fails, and so does a conclusion with an unresolved reference.
#[test]
fn b003_9_a_choice_or_conclusion_without_an_answer_fails_its_step() {
    let failure_of = |run: &Driven, step: &str| match run.run.steps().state_of(&id(step)) {
        Some(StepState::Failed { failure }) => failure.clone(),
        other => panic!("{other:?}"),
    };
    let unanswered = decided_as(&[("steps.first.output.absent > 1", "left")]);
    let failure = failure_of(&unanswered, "choice");
    assert_eq!(
        (failure.kind, failure.code.as_str(), failure.retryable),
        (ErrorKind::ExecutionError, "expression_failed", false)
    );
    assert!(failure.message.starts_with("the step `choice`: "));
    assert_eq!(unanswered.outcome(), "failed");
    let mut says = read("says", &[], AfterFailure::Abort);
    says.action = StepAction::Conclude {
        output: json!({"said": "${user.absent}"}),
    };
    let mut run = Driven::new(vec![read("first", &[], AfterFailure::Abort), says]);
    run.done("first");
    let failure = failure_of(&run, "says");
    let expected = StepFailure {
        kind: ErrorKind::InputError,
        code: "invalid_parameters".into(),
        message: "the step `says`: the parameter `absent` has no value".into(),
        retryable: false,
        account: None,
    };
    assert_eq!(failure, expected);
}

/// A conclusion is an output: one that exceeds the depth limit fails its step and is never written.
#[test]
fn a_conclusion_that_references_make_too_deep_fails_its_step() {
    let concluded = |levels: usize| {
        let mut says = read("says", &[], AfterFailure::Abort);
        let output = (0..levels).fold(json!("${user.bucket}"), |inside, _| json!([inside]));
        says.action = StepAction::Conclude { output };
        let mut run = Driven::new(vec![read("first", &[], AfterFailure::Abort), says]);
        run.done("first");
        run
    };
    assert_eq!(concluded(64).state("says"), "succeeded");
    let deep = concluded(65);
    let Some(StepState::Failed { failure }) = deep.run.steps().state_of(&id("says")) else {
        panic!("{:?}", deep.run.steps().state_of(&id("says")));
    };
    let message = "the step `says`: the filled-in values nest more than 64 levels deep: refer to a part of the value";
    assert_eq!(
        (failure.code.as_str(), failure.message.as_str()),
        ("invalid_parameters", message)
    );
}

/// B003-9: an expression sees only ended steps, so that its result does not depend on their speed.
#[test]
fn b003_9_an_expression_does_not_see_what_is_under_way() {
    let mut asks = read("asks", &["first"], AfterFailure::Continue);
    asks.entry.when = Some("steps.other.state == 'running'".into());
    let mut run = Driven::new(vec![
        read("first", &[], AfterFailure::Abort),
        read("other", &[], AfterFailure::Abort),
        asks,
    ]);
    run.begin("other").unwrap();
    run.done("first");
    assert_eq!(run.state("asks"), "failed");
}

/// B003-9: the expressions of all ready steps share one limit; an expression that exceeds the rest of it fails its
/// step.
#[test]
fn b003_9_steps_that_are_ready_share_what_their_expressions_may_be() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let asks = |name: &str| {
        let mut step = read(name, &["first"], AfterFailure::Continue);
        step.entry.when = Some("steps.first.output.items.exists(i, i > 0)".into());
        step
    };
    let mut steps = vec![read("first", &[], AfterFailure::Abort)];
    steps.extend(names.map(asks));
    let mut run = Driven::new(steps);
    run.begin("first").unwrap();
    let succeeds = Command::Succeed {
        step: id("first"),
        output: json!({"items": vec![1; 10_000]}),
        source: ResultSource::Fresh,
        duration_ms: 1,
        brings: Box::default(),
    };
    run.command(succeeds).unwrap();
    let failed = names.iter().filter(|name| run.state(name) == "failed");
    let failed = failed.count();
    assert!((1..=3).contains(&failed), "{failed} failed");
    assert_eq!(run.next(), start(&names[..names.len() - failed]));
}

/// If one of several sources is sufficient, none is not. A step without sources has no unmet source.
#[test]
fn b003_5_one_met_source_is_enough_where_any_may_be() {
    let after = |fails: &[&str]| {
        let mut joins = read("joins", &["a", "b"], AfterFailure::Abort);
        joins.entry.join = Join::Any;
        let mut run = Driven::new(vec![
            read("a", &[], AfterFailure::Continue),
            read("b", &[], AfterFailure::Continue),
            joins,
        ]);
        for step in ["a", "b"] {
            run.begin(step).unwrap();
            if fails.contains(&step) {
                run.fail(step).unwrap();
            } else {
                run.succeed(step).unwrap();
            }
        }
        run
    };
    for fails in [&[][..], &["a"], &["b"]] {
        assert_eq!(after(fails).next(), start(&["joins"]), "{fails:?} fail");
    }
    let neither = after(&["a", "b"]);
    let reason = SkipReason::Source { step: id("a") };
    assert_eq!(
        neither.run.steps().state_of(&id("joins")),
        Some(&StepState::Skipped { reason })
    );
    let mut alone = read("alone", &[], AfterFailure::Abort);
    alone.entry.join = Join::Any;
    assert_eq!(Driven::new(vec![alone]).next(), start(&["alone"]));
}

/// A step that only follows another one starts after any result of that one.
#[test]
fn b003_5_order_without_dependence_waits_for_the_end_only() {
    for fails in [false, true] {
        let mut after = read("after", &[], AfterFailure::Abort);
        after.entry.edges = vec![Edge {
            from: id("a"),
            on: EdgeCondition::Settled,
        }];
        let mut run = Driven::new(vec![read("a", &[], AfterFailure::Continue), after]);
        assert_eq!(run.next(), start(&["a"]));
        run.begin("a").unwrap();
        if fails {
            run.fail("a").unwrap();
        } else {
            run.succeed("a").unwrap();
        }
        assert_eq!(run.next(), start(&["after"]), "fails: {fails}");
    }
}
