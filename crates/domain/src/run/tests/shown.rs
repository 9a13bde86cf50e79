//! Read access to a run: identity, status, calls and deadline.

use super::*;
use crate::guardrail::RequestTags;

fn graph(steps: Vec<Step>, timeout_ms: u64) -> GraphParts {
    GraphParts {
        steps,
        timeout_ms,
        ..GraphParts::default()
    }
}

fn abort(roll_back: bool) -> RunOrder {
    RunOrder::Abort {
        by: user("op"),
        reason: "enough".into(),
        roll_back,
    }
}

fn pause() -> RunOrder {
    RunOrder::Pause { by: user("op") }
}

fn resume() -> RunOrder {
    RunOrder::Resume { by: user("op") }
}

#[test]
fn a_run_is_what_it_was_started_as() {
    let pin = DocumentPin {
        kind: charter_contract::catalogue::DocumentKind::Tool,
        id: "t.x".into(),
        tenant: None,
        package: "p".into(),
        version: "1".into(),
        content_hash: "sha256:aa".into(),
    };
    let opening = RunPrerequisites {
        confirm: true,
        missing: vec![Label::parse("bucket").unwrap()],
        ..RunPrerequisites::default()
    };
    let parameters = json!({"region": "r-1"}).as_object().unwrap().clone();
    let graph = StepGraph::new(graph(vec![write("a", &[])], 0)).unwrap();
    let tags = RequestTags {
        flow: Some(charter_contract::catalogue::tags::Flow::Write),
        persona: Label::parse("auditor").unwrap(),
        tier: charter_contract::catalogue::vocabulary::Tier::Advanced,
    };
    let started = |dry_run| {
        let started = RunStart {
            run_id: RunId::from_uuid(uuid(7)),
            by: user("asker"),
            owner: None,
            askers: BTreeSet::new(),
            role: Role::Operator,
            graph: graph.clone(),
            parameters: parameters.clone(),
            pins: vec![pin.clone()],
            dry_run,
            opening: opening.clone(),
            tags: Some(tags.clone()),
        };
        Run::start(RunEvent::Started(Box::new(started)), at(0)).unwrap()
    };
    let run = started(true);
    assert_eq!(run.id(), &RunId::from_uuid(uuid(7)));
    assert_eq!((run.by(), run.role()), (&user("asker"), Role::Operator));
    assert_eq!(run.graph(), &graph);
    assert_eq!(run.pins(), std::slice::from_ref(&pin));
    assert_eq!((run.parameters(), run.opening()), (&parameters, &opening));
    assert_eq!(run.tags(), Some(&tags));
    assert!(run.is_dry_run() && !started(false).is_dry_run());
    assert_ne!(run.plan_digest(), started(false).plan_digest());
    let steps: Vec<_> = run.steps().states().collect();
    assert_eq!(steps, [(&id("a"), &StepState::Pending)]);
    let stray = RunEvent::Paused { by: user("op") };
    assert_eq!(Run::start(stray, at(0)), Err(FoldError::Start));
}

/// Ruling 28: the number of calls that people approved, and the number of calls per tool, including retries.
#[test]
fn a_run_counts_its_approvals_and_calls() {
    let mut tried = write("tried", &[]);
    tried.retry.retries = 1;
    let mut other = read("other", &[], AfterFailure::Abort);
    let StepAction::Call { tool, .. } = &mut other.action else {
        unreachable!("a reading step calls");
    };
    *tool = ToolId::parse("t.y").unwrap();
    let mut run = Driven::new(vec![
        tried,
        other,
        write("last", &["other"]),
        write("asked", &[]),
    ]);
    let calls = |run: &Driven| {
        let calls = run.run.steps().calls().into_iter();
        let named: Vec<_> = calls.map(|(tool, n)| (tool.to_string(), n)).collect();
        named
    };
    assert_eq!((run.run.steps().approvals(), calls(&run)), (0, vec![]));
    for step in ["tried", "asked"] {
        run.begin_with(step, ask()).unwrap();
        assert_eq!(calls(&run), [], "to ask is not to call");
        run.grant(step).unwrap();
    }
    run.begin_with("tried", ask()).unwrap();
    run.fail("tried").unwrap();
    run.begin_with("tried", ask()).unwrap();
    assert_eq!(calls(&run), [("t.x".into(), 2)]);
    run.done("other");
    run.done("last");
    assert_eq!(run.run.steps().approvals(), 2);
    assert_eq!(calls(&run), [("t.x".into(), 3), ("t.y".into(), 1)]);
}

#[test]
fn a_run_says_in_one_word_where_it_stands() {
    let two = || vec![read("a", &[], AfterFailure::Abort), write("b", &[])];
    let mut run = Driven::new(two());
    assert_eq!(run.run.status().as_str(), "working");
    run.command(pause()).unwrap();
    assert_eq!(
        (run.run.status().as_str(), run.run.is_paused()),
        ("paused", true)
    );
    run.command(resume()).unwrap();
    assert_eq!(
        (run.run.status().as_str(), run.run.is_paused()),
        ("working", false)
    );
    run.begin_with("b", ask()).unwrap();
    assert_eq!(run.run.status().as_str(), "awaiting_approval");
    run.begin("a").unwrap();
    run.command(abort(false)).unwrap();
    assert_eq!(run.run.status().as_str(), "stopping");
    run.succeed("a").unwrap();
    assert_eq!(
        (run.run.status().as_str(), run.outcome()),
        ("aborted", "aborted")
    );
    let mut back = Driven::new(two());
    back.begin("a").unwrap();
    back.command(abort(true)).unwrap();
    assert_eq!(back.run.status().as_str(), "rolling_back");
}

#[test]
fn b000_18_a_run_knows_which_writes_were_reversed() {
    let mut run = Driven::new(vec![
        write("one", &[]),
        write("two", &["one"]),
        read("fails", &["two"], AfterFailure::RollBack),
        reversal("undo_one", "one"),
        reversal("undo_two", "two"),
    ]);
    let undo =
        |run: &Driven, step: &str| run.run.steps().reversal_of(&id(step)).map(|s| s.id.clone());
    assert_eq!(undo(&run, "two"), Some(id("undo_two")));
    assert_eq!((undo(&run, "fails"), undo(&run, "nope")), (None, None));
    run.done("one");
    run.done("two");
    run.begin("fails").unwrap();
    run.fail("fails").unwrap();
    run.done("undo_two");
    let reversed = |step| run.run.steps().is_reversed(&id(step));
    assert!(reversed("two"));
    assert!(!reversed("one") && !reversed("fails") && !reversed("nope"));
    let written: Vec<_> = run
        .run
        .steps()
        .written()
        .map(|step| step.id.clone())
        .collect();
    assert_eq!(written, [id("one"), id("two")]);
}

/// B000-18: the time limit counts while the run waits for something other than a person.
#[test]
fn b000_18_a_deadline_stands_while_a_run_works() {
    let steps = || {
        let mut tried = read("a", &[], AfterFailure::Abort);
        tried.retry = Retry {
            retries: 1,
            delay_ms: 5_000,
        };
        vec![tried, write("b", &["a"])]
    };
    let deadline = |run: &Driven| run.run.deadline();
    let unlimited = Driven::of(graph(steps(), 0));
    assert_eq!(deadline(&unlimited), None);
    let mut run = Driven::of(graph(steps(), 60_000));
    let due = Some(at(60));
    assert_eq!(deadline(&run), due, "a step is ready");
    run.begin("a").unwrap();
    assert_eq!(deadline(&run), due, "one is under way");
    run.command(pause()).unwrap();
    assert_eq!(deadline(&run), due, "one is under way, paused or not");
    run.command(resume()).unwrap();
    run.fail("a").unwrap();
    assert_eq!(deadline(&run), due, "one is to be tried again");
    run.done("a");
    run.command(pause()).unwrap();
    assert_eq!(deadline(&run), None, "it waits to be resumed");
    run.command(resume()).unwrap();
    run.begin("b").unwrap();
    run.command(Command::TimeUp).unwrap();
    assert_eq!(deadline(&run), None, "it stops already");
    let opening = RunPrerequisites {
        confirm: true,
        ..RunPrerequisites::default()
    };
    let closed = Driven::opening(graph(steps(), 60_000), opening, false);
    assert_eq!(deadline(&closed), None, "it waits to be confirmed");
}

/// A confirmed run without a required value is not open, and neither is an unconfirmed run with all values.
#[test]
fn b000_18_a_run_is_open_when_nothing_is_missing_and_nothing_to_confirm() {
    let missing = || vec![Label::parse("bucket").unwrap()];
    for (confirm, missing, open) in [
        (false, vec![], true),
        (true, vec![], false),
        (false, missing(), false),
        (true, missing(), false),
    ] {
        let opening = RunPrerequisites {
            confirm,
            missing,
            ..RunPrerequisites::default()
        };
        let parts = graph(vec![read("a", &[], AfterFailure::Abort)], 0);
        let mut run = Driven::opening(parts, opening.clone(), false);
        assert_eq!(run.run.opening().is_met(), open, "{opening:?}");
        let next = if open { start(&["a"]) } else { wait() };
        assert_eq!(run.next(), next, "{opening:?}");
        assert_eq!(run.begin("a").is_ok(), open, "{opening:?}");
    }
}
