//! The requesters of a run's calls (ruling 33).

use super::*;

fn names(names: &[&str]) -> BTreeSet<UserId> {
    names.iter().map(|name| user(name)).collect()
}

/// A run that waits for a value and for a confirmation.
fn waiting(steps: Vec<Step>) -> Driven {
    let parts = GraphParts {
        steps,
        ..GraphParts::default()
    };
    let opening = RunPrerequisites {
        confirm: true,
        missing: vec![Label::parse("bucket").unwrap()],
        ..RunPrerequisites::default()
    };
    Driven::opening(parts, opening, false)
}

fn give(run: &Driven, by: &str, makers: &[&str]) -> RunOrder {
    RunOrder::Give {
        by: Some(user(by)),
        makers: names(makers),
        to: run.run.parameters().clone(),
        parameters: run.run.parameters().clone(),
        missing: vec![],
        sources: BTreeMap::new(),
    }
}

fn confirm(run: &Driven, by: &str, makers: &[&str]) -> RunOrder {
    RunOrder::Confirm {
        by: user(by),
        makers: names(makers),
        digest: run.run.plan_digest(),
        typed: None,
        approves: false,
    }
}

/// Requesters are the users that started a run, supplied values or confirmed it, and the makers of their keys.
#[test]
fn ruling_33_who_started_gave_or_confirmed_has_asked() {
    let mut run = waiting(vec![write("w", &[])]);
    assert_eq!(run.run.requesters().all(), names(&["asker"]));
    run.command(give(&run, "giver", &["m1"])).unwrap();
    assert_eq!(run.run.requesters().all(), names(&["asker", "giver", "m1"]));
    run.command(confirm(&run, "confirmer", &["m1", "m2"]))
        .unwrap();
    let all = names(&["asker", "giver", "confirmer", "m1", "m2"]);
    assert_eq!(run.run.requesters().all(), all);
    // Pausing and resuming choose nothing.
    for order in [
        RunOrder::Pause { by: user("op") },
        RunOrder::Resume { by: user("op") },
    ] {
        run.command(order).unwrap();
    }
    run.begin_with("w", ask()).unwrap();
    run.grant("w").unwrap();
    assert_eq!(run.run.requesters().all(), all);
    assert_eq!(run.run.requesters().of_step(&id("w"), run.run.graph()), all);
    assert_eq!(Run::replay(run.journal).unwrap().requesters().all(), all);
}

/// A run has the requesters of the run that it follows from.
#[test]
fn ruling_33_a_run_that_follows_from_another_has_its_askers() {
    let mut started = Driven::new(vec![write("w", &[])]).journal[0].0.clone();
    if let RunEvent::Started(started) = &mut started {
        started.askers = names(&["earlier", "maker"]);
    }
    let run = Run::start(started, at(0)).unwrap();
    assert_eq!(
        run.requesters().all(),
        names(&["asker", "earlier", "maker"])
    );
}

/// A write whose arguments refer to these steps, after another one.
fn referring(name: &str, after: &str, to: &[&str]) -> Step {
    let mut step = write(name, &[after]);
    let StepAction::Call { arguments, .. } = &mut step.action else {
        unreachable!("a writing step calls");
    };
    let refers = |to: &&str| ((*to).to_owned(), json!(format!("${{{to}.of}}")));
    *arguments = Arguments::Template(to.iter().map(refers).collect());
    step
}

/// A user that reports the output of an interrupted write has chosen the arguments that come from it, also through
/// another step, but no others.
#[test]
fn ruling_33_the_reporter_of_a_result_is_an_asker_of_what_follows() {
    for (output, asks) in [(json!({"of": "w"}), true), (Value::Null, false)] {
        let mut run = Driven::new(vec![
            write("w", &[]),
            referring("direct", "w", &["w"]),
            referring("later", "direct", &["direct"]),
            referring("apart", "w", &[]),
        ]);
        run.begin_with("w", ask()).unwrap();
        run.grant("w").unwrap();
        run.begin_with("w", ask()).unwrap();
        run.begin_with("w", ask_to_repeat()).unwrap();
        let Some(StepState::AwaitingApproval {
            approval, digest, ..
        }) = run.run.steps().state_of(&id("w")).cloned()
        else {
            panic!("{:?}", run.run);
        };
        run.command(Command::Report(Box::new(Report {
            step: id("w"),
            approval,
            digest,
            by: user("reporter"),
            makers: names(&["maker"]),
            reason: None,
            output,
        })))
        .unwrap();
        let (asker, with) = (names(&["asker"]), names(&["asker", "reporter", "maker"]));
        let expected = if asks { &with } else { &asker };
        assert_eq!(
            run.run.requesters().of_step(&id("direct"), run.run.graph()),
            *expected
        );
        assert_eq!(
            run.run.requesters().of_step(&id("later"), run.run.graph()),
            *expected
        );
        assert_eq!(
            run.run.requesters().of_step(&id("apart"), run.run.graph()),
            asker
        );
        assert_eq!(run.run.requesters().all(), *expected);
    }
}

/// Journals without the new fields are still read, and requesters change no digest of a state.
#[test]
fn who_asked_is_no_part_of_a_states_digest() {
    let mut run = waiting(vec![write("w", &[])]);
    let mut unnamed = Driven::opening(
        GraphParts {
            steps: vec![write("w", &[])],
            ..GraphParts::default()
        },
        run.run.opening().clone(),
        false,
    );
    run.command(give(&run, "giver", &["m"])).unwrap();
    run.command(confirm(&run, "confirmer", &["m"])).unwrap();
    let old = json!([
        {"event": "parameters_given", "parameters": run.run.parameters(), "missing": []},
        {"event": "confirmed", "by": "confirmer", "digest": run.run.plan_digest()},
    ]);
    let old: Vec<RunEvent> = serde_json::from_value(old).unwrap();
    unnamed.apply(&old);
    assert_eq!(
        unnamed.run.requesters().all(),
        names(&["asker", "confirmer"])
    );
    assert_eq!(unnamed.run.state_digest(), run.run.state_digest());
    let written = serde_json::to_value(&old).unwrap();
    let fields = |event: &Value| event.as_object().unwrap().len();
    assert_eq!((fields(&written[0]), fields(&written[1])), (3, 3));
}

/// The agents that made a result have requested the calls that use it.
#[test]
fn ruling_33_the_contributors_of_a_result_have_asked() {
    let mut run = Driven::new(vec![
        read("a", &[], AfterFailure::RollBack),
        write("w", &["a"]),
    ]);
    run.begin("a").unwrap();
    run.command(Command::Succeed {
        step: id("a"),
        output: json!({}),
        source: ResultSource::Fresh,
        duration_ms: 1,
        brings: Box::new(StepYield {
            contributors: names(&["scout", "maker"]),
            ..StepYield::default()
        }),
    })
    .unwrap();
    let all = run.run.requesters().all();
    assert!(all.is_superset(&names(&["scout", "maker"])), "{all:?}");
    let (event, _) = run.journal.last().unwrap();
    let text = serde_json::to_string(event).unwrap();
    assert!(
        text.contains(r#""contributors":["maker","scout"]"#),
        "{text}"
    );
    assert_eq!(Run::replay(run.journal).unwrap().requesters().all(), all);
}
