//! Conditions before the first step, evidence, and refusals.

use super::*;
use crate::parameters::ValueSource;

/// B000-18: no step begins before the parameters are complete and exactly this plan is confirmed.
#[test]
fn b000_18_a_plan_is_confirmed_before_anything_begins() {
    let bucket = Label::parse("bucket").unwrap();
    let opening = RunPrerequisites {
        confirm: true,
        missing: vec![bucket.clone()],
        typed: Some(bucket),
        ..RunPrerequisites::default()
    };
    let parts = GraphParts {
        steps: vec![write("w", &[])],
        ..GraphParts::default()
    };
    let mut run = Driven::opening(parts, opening, false);
    let confirm = |run: &mut Driven, digest: Digest, typed: Option<&str>| {
        run.command(RunOrder::Confirm {
            by: user("asker"),
            makers: BTreeSet::new(),
            digest,
            typed: typed.map(str::to_owned),
            approves: false,
        })
    };
    assert_eq!(
        (run.run.status().as_str(), run.next()),
        ("awaiting_parameters", wait())
    );
    assert!(run.begin("w").is_err());
    let digest = run.run.plan_digest();
    assert!(matches!(
        confirm(&mut run, digest.clone(), None),
        Err(IllegalTransition::NotOpen(_))
    ));
    let parameters = json!({"bucket": "b-2"}).as_object().unwrap().clone();
    let give = |to: &Map<String, Value>| RunOrder::Give {
        by: Some(user("asker")),
        makers: BTreeSet::new(),
        to: to.clone(),
        parameters: parameters.clone(),
        missing: vec![],
        sources: BTreeMap::from([("bucket".to_owned(), ValueSource::Given)]),
    };
    let crossed = run.command(give(&Map::new()));
    assert_eq!(crossed, Err(IllegalTransition::Crossed));
    run.command(give(&run.run.parameters().clone())).unwrap();
    assert_eq!(run.run.status().as_str(), "awaiting_confirmation");
    let sources = BTreeMap::from([("bucket".to_owned(), ValueSource::Given)]);
    assert_eq!(run.run.opening().sources, sources);
    assert!(matches!(
        confirm(&mut run, digest, Some("b-2")),
        Err(IllegalTransition::Changed { .. })
    ));
    let digest = run.run.plan_digest();
    for typed in [None, Some("b-1")] {
        let refused = confirm(&mut run, digest.clone(), typed);
        assert!(
            matches!(refused, Err(IllegalTransition::Typed(_))),
            "{refused:?}"
        );
    }
    confirm(&mut run, digest.clone(), Some("b-2")).unwrap();
    assert_eq!(run.next(), start(&["w"]));
    assert_eq!(
        confirm(&mut run, digest, Some("b-2")),
        Err(IllegalTransition::Begun)
    );
    assert_eq!(
        run.command(give(&parameters)),
        Err(IllegalTransition::Begun)
    );
}

/// Tokens for drafts of parameters count for the run, and are distinguished from those of its steps.
#[test]
fn tokens_of_drafted_parameters_are_counted() {
    let tokens = |input, output| TokenUsage { input, output };
    let opening = RunPrerequisites {
        tokens: tokens(30, 5),
        ..RunPrerequisites::default()
    };
    let text = serde_json::to_string(&opening).unwrap();
    assert_eq!(
        serde_json::from_str::<RunPrerequisites>(&text).unwrap(),
        opening
    );
    let parts = GraphParts {
        steps: vec![write("w", &[])],
        ..GraphParts::default()
    };
    let run = Driven::opening(parts, opening, false).run;
    assert_eq!(run.tokens(), tokens(30, 5));
    let of_steps = tokens(32, 5).without(run.opening().tokens);
    assert_eq!(of_steps, tokens(2, 0));
    assert_eq!(
        tokens(1, 1).without(run.opening().tokens),
        TokenUsage::default()
    );
}

/// B000-18: a run that lacks required evidence is incomplete.
#[test]
fn b000_18_missing_evidence_leaves_a_run_incomplete() {
    let run = |key: &str| {
        let mut run = Driven::of(GraphParts {
            steps: vec![read("a", &[], AfterFailure::Abort)],
            evidence: vec![Label::parse(key).unwrap()],
            ..GraphParts::default()
        });
        run.done("a");
        run.outcome()
    };
    assert_eq!((run("of"), run("absent")), ("completed", "incomplete"));
}

/// B000-18: a dry run skips writes that cannot be previewed.
#[test]
fn b000_18_a_dry_run_skips_writes() {
    let parts = || GraphParts {
        steps: vec![write("w", &[])],
        ..GraphParts::default()
    };
    let mut dry = Driven::opening(parts(), RunPrerequisites::default(), true);
    dry.command(Command::SkipForDryRun { step: id("w") })
        .unwrap();
    assert_eq!((dry.state("w"), dry.outcome()), ("skipped", "completed"));
    let mut real = Driven::opening(parts(), RunPrerequisites::default(), false);
    let refused = IllegalTransition::Step {
        step: id("w"),
        state: "pending",
        wanted: "left out of a run that is not a dry run",
    };
    let skip = Command::SkipForDryRun { step: id("w") };
    assert_eq!(real.command(skip), Err(refused));
    assert_eq!(real.next(), start(&["w"]));
}

#[test]
fn an_illegal_command_changes_nothing() {
    let mut run = Driven::new(vec![read("a", &[], AfterFailure::Abort)]);
    let before = run.run.clone();
    assert!(run.succeed("a").is_err());
    assert!(matches!(
        run.begin("nope"),
        Err(IllegalTransition::UnknownStep(_))
    ));
    let grant = Command::Grant {
        step: id("a"),
        approval: approval(1),
        digest: Digest::claimed("x"),
        by: user("op"),
    };
    assert!(run.command(grant).is_err());
    assert_eq!(run.run, before);
    run.done("a");
    assert_eq!(run.begin("a"), Err(IllegalTransition::Ended));
}

/// B002-14: a forged event is detected at its position.
#[test]
fn b002_14_a_made_up_event_is_found_at_its_position() {
    let mut run = Driven::new(vec![write("a", &[]), write("b", &["a"])]);
    run.done("a");
    run.done("b");
    let (whole, divergence) = StrictReplay::replay(run.journal.clone()).unwrap();
    assert_eq!(
        (whole.state_digest(), divergence),
        (run.run.state_digest(), None)
    );
    for left_out in 1..run.journal.len() - 1 {
        let mut journal = run.journal.clone();
        journal.remove(left_out);
        let (_, divergence) = StrictReplay::replay(journal).unwrap();
        let found = divergence.unwrap().sequence;
        assert_eq!(found, left_out as u64 + 1, "event {left_out} left out");
    }
    let mut denied = run.journal.clone();
    if let RunEvent::StepBegun(begun) = &mut denied[1].0 {
        begun.policy_decision = deny(RuleKind::Policy);
    }
    let (_, divergence) = StrictReplay::replay(denied).unwrap();
    assert_eq!(divergence.unwrap().sequence, 2);
}
