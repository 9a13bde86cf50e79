//! Properties of every run: random graphs with lists, random decisions of the gate and of people, random failures, and
//! a crash after any event.

use proptest::prelude::*;

use super::*;
use crate::graph::Join;

/// Draws decisions from bytes; all zeros once they are exhausted, so that every run ends.
struct Draw<'b> {
    bytes: std::slice::Iter<'b, u8>,
}

impl Draw<'_> {
    fn below(&mut self, bound: u8) -> u8 {
        self.bytes.next().map_or(0, |byte| byte % bound)
    }
}

/// Repeats a step for each item of a list of up to three items, which may be more than it allows.
fn repeat(step: &mut Step, draw: &mut Draw<'_>) {
    let items: Vec<u8> = (0..draw.below(4)).collect();
    step.action = StepAction::ForEach {
        items: json!(items),
        max_items: 2 + usize::from(draw.below(2)),
        concurrency: 1 + usize::from(draw.below(3)),
        each: Box::new(step.action.clone()),
    };
}

/// Generates a graph of up to eight steps, each with edges from earlier ones, some with reversals, some repeated.
fn graph(draw: &mut Draw<'_>) -> GraphParts {
    let count = 1 + draw.below(8);
    let mut steps = Vec::new();
    for number in 0..count {
        let name = format!("s{number}");
        let mut step = if draw.below(2) == 0 {
            read(&name, &[], AfterFailure::Abort)
        } else {
            write(&name, &[])
        };
        step.after_failure = match draw.below(3) {
            0 => AfterFailure::Abort,
            1 => AfterFailure::RollBack,
            _ => AfterFailure::Continue,
        };
        step.retry.retries = u32::from(draw.below(3));
        step.entry.join = if draw.below(4) == 1 {
            Join::Any
        } else {
            Join::All
        };
        for from in 0..number {
            if draw.below(3) == 1 {
                let on = [
                    EdgeCondition::Success,
                    EdgeCondition::Success,
                    EdgeCondition::Failure,
                    EdgeCondition::Settled,
                ];
                step.entry.edges.push(Edge {
                    from: id(&format!("s{from}")),
                    on: on[usize::from(draw.below(4))],
                });
            }
        }
        if draw.below(4) == 1 {
            repeat(&mut step, draw);
        }
        let reversed = step.writes() && draw.below(3) > 0;
        steps.push(step);
        if reversed {
            steps.push(reversal(&format!("undo{number}"), &name));
        }
    }
    GraphParts {
        steps,
        ..GraphParts::default()
    }
}

/// Drives a run to its end with random results, and checks the invariants after each event.
fn drive(bytes: &[u8]) -> Driven {
    let mut draw = Draw {
        bytes: bytes.iter(),
    };
    let mut run = Driven::of(graph(&mut draw));
    let mut in_flight: BTreeSet<StepId> = BTreeSet::new();
    // Applies the events that follow from the start.
    loop {
        let next = run.run.advance();
        if next.is_empty() {
            break;
        }
        run.apply(&next);
    }
    for _ in 0..500 {
        if run.run.outcome().is_some() {
            return run;
        }
        match draw.below(12) {
            1 => drop(run.command(RunOrder::Pause { by: user("op") })),
            2 => drop(run.command(RunOrder::Abort {
                by: user("op"),
                reason: "enough".into(),
                roll_back: draw.below(2) == 0,
            })),
            // A crash: running effects are lost, and only the journal remains.
            3 => {
                run.run = Run::replay(run.journal.clone()).unwrap();
                in_flight.clear();
            }
            // Time passes, even while people and effects are awaited.
            4 => run.clock += i64::from(draw.below(4)) * 1_200,
            _ => turn(&mut run, &mut in_flight, &mut draw),
        }
    }
    panic!("the run did not end: {:#?}", run.run);
}

fn turn(run: &mut Driven, in_flight: &mut BTreeSet<StepId>, draw: &mut Draw<'_>) {
    match run.run.next(in_flight, |moment| moment <= at(run.clock)) {
        Next::Ended => {}
        Next::Start(steps) => {
            let step = steps[usize::from(draw.below(steps.len() as u8))].to_string();
            let decision = match draw.below(8) {
                1 | 2 => ask(),
                3 => deny(RuleKind::Guardrail),
                4 if run.run.steps().is_interrupted(&id(&step)) => ask_to_repeat(),
                _ => allow(),
            };
            let reverses = run.run.graph().step(&id(&step)).unwrap().reverses.is_some();
            let events = run.begin_with(&step, decision.clone()).unwrap();
            let begun = matches!(events[0], RunEvent::StepBegun(_));
            match decision {
                GateDecision::Deny { .. } => assert!(!begun, "the gate refused"),
                GateDecision::NeedsApproval { .. } if begun => {
                    assert!(reverses || granted(run, &step), "no approval covers it");
                }
                GateDecision::Allow { .. } | GateDecision::NeedsApproval { .. } => {}
            }
            if begun {
                in_flight.insert(id(&step));
            } else if draw.below(2) == 1 {
                ask_ahead(run);
            }
        }
        Next::Wait { until } => {
            if run.run.is_paused() && draw.below(2) == 0 {
                run.command(RunOrder::Resume { by: user("op") }).unwrap();
            } else if let Some(step) = in_flight.pop_first() {
                let kinds = [ErrorKind::ExecutionError, ErrorKind::InputError];
                match draw.below(4) {
                    1 => drop(
                        run.fail_as(step.as_ref(), kinds[usize::from(draw.below(2))])
                            .unwrap(),
                    ),
                    _ => drop(run.succeed(step.as_ref()).unwrap()),
                }
            } else if let Some(step) = awaiting(run) {
                decide(run, &step, draw);
            } else if let Some(until) = until {
                run.clock = run
                    .clock
                    .max((until.as_micros() - at(0).as_micros()) / 1_000_000 + 1);
            } else if run.run.is_paused() {
                run.command(RunOrder::Resume { by: user("op") }).unwrap();
            } else {
                panic!("nothing to do, and not over: {:#?}", run.run);
            }
        }
    }
}

/// Requests the approvals of the later calls that are known already.
fn ask_ahead(run: &mut Driven) {
    while let Some(step) = run.run.askable_ahead().first() {
        let events = run.begin_with(step.as_ref(), ask()).unwrap();
        assert!(
            matches!(events[0], RunEvent::ApprovalRequested(_)),
            "{events:?}"
        );
    }
}

fn awaiting(run: &Driven) -> Option<StepId> {
    let mut steps = run.run.steps().states();
    let found = steps.find(|(_, state)| matches!(state, StepState::AwaitingApproval { .. }));
    found.map(|(step, _)| step.clone())
}

/// Returns whether an attempt of a step began with an unknown outcome.
fn is_unheard(run: &Driven, step: &StepId) -> bool {
    let ends = position(run, |event| match event {
        RunEvent::StepSucceeded { step: ended, .. }
        | RunEvent::StepFailed { step: ended, .. }
        | RunEvent::RetryScheduled { step: ended, .. } => ended == step,
        _ => false,
    });
    let last = began(run, step).last().copied();
    last.is_some_and(|last| ends.iter().all(|end| *end < last))
}

fn decide(run: &mut Driven, step: &StepId, draw: &mut Draw<'_>) {
    // A report that the call happened is accepted only if it may have.
    if draw.below(3) == 1 {
        let may_have_happened = is_unheard(run, step);
        assert_eq!(run.report(step.as_ref()).is_ok(), may_have_happened);
        if may_have_happened {
            return;
        }
    }
    let answer = draw.below(6);
    let Some(StepState::AwaitingApproval { approval, .. }) =
        run.run.steps().state_of(step).cloned()
    else {
        return;
    };
    // A call of a list may be excluded. The question whether to repeat a call is no list.
    if answer == 2 && !is_unheard(run, step) {
        let exclude = Command::Exclude {
            step: step.clone(),
            approval,
            by: user("op"),
        };
        run.command(exclude).unwrap();
        return;
    }
    if answer != 1 {
        run.grant(step.as_ref()).unwrap();
        return;
    }
    run.command(Command::Refuse {
        step: step.clone(),
        approval,
        by: Some(user("op")),
        failure: failure(ErrorKind::PermissionError),
    })
    .unwrap();
}

/// Returns whether a person approved the step's call, with an approval that has not lapsed.
fn granted(run: &Driven, wanted: &str) -> bool {
    let agreed = |asked: &ApprovalRequest| {
        run.journal.iter().any(|(event, _)| {
            matches!(event, RunEvent::ApprovalGranted { approval, .. } if *approval == asked.approval)
        })
    };
    run.journal.iter().any(|(event, _)| match event {
        RunEvent::ApprovalRequested(asked) => {
            asked.step.as_ref() == wanted && asked.expires_at > at(run.clock) && agreed(asked)
        }
        _ => false,
    })
}

fn position(run: &Driven, found: impl Fn(&RunEvent) -> bool) -> Vec<usize> {
    let events = run.journal.iter().enumerate();
    events
        .filter(|(_, (event, _))| found(event))
        .map(|(at, _)| at)
        .collect()
}

fn began(run: &Driven, step: &StepId) -> Vec<usize> {
    position(
        run,
        |event| matches!(event, RunEvent::StepBegun(begun) if begun.step == *step),
    )
}

fn succeeded(run: &Driven, step: &StepId) -> Vec<usize> {
    position(
        run,
        |event| matches!(event, RunEvent::StepSucceeded { step: done, .. } if done == step),
    )
}

fn settled(run: &Driven, step: &StepId) -> bool {
    run.run.steps().state_of(step).unwrap().is_settled()
}

/// Every event is one that the machine could have written, and both the journal and its JSON replay to the same state.
fn replays_to_itself(run: &Driven) {
    let (again, divergence) = StrictReplay::replay(run.journal.clone()).unwrap();
    assert_eq!((divergence, &again), (None, &run.run));
    assert_eq!(again.state_digest(), run.run.state_digest());
    let written = run.journal.iter().map(|(event, at)| {
        let text = serde_json::to_string(event).unwrap();
        (serde_json::from_str(&text).unwrap(), *at)
    });
    assert_eq!(Run::replay(written).unwrap(), run.run);
}

/// A step succeeds at most once, and every attempt of it has the same key.
fn succeeds_once(run: &Driven, step: &Step) {
    assert!(succeeded(run, &step.id).len() <= 1, "{} twice", step.id);
    let keys: BTreeSet<&str> = run
        .journal
        .iter()
        .filter_map(|(event, _)| match event {
            RunEvent::StepBegun(begun) if begun.step == step.id => {
                Some(begun.idempotency_key.as_str())
            }
            _ => None,
        })
        .collect();
    assert!(keys.len() <= 1, "{keys:?}");
}

/// A step that requires a success begins after it.
fn waits_for_its_sources(run: &Driven, step: &Step) {
    let Some(first) = began(run, &step.id).first().copied() else {
        return;
    };
    if step.entry.join == Join::All {
        for edge in step
            .entry
            .edges
            .iter()
            .filter(|edge| edge.on == EdgeCondition::Success)
        {
            let done = succeeded(run, &edge.from);
            assert!(
                done.first().is_some_and(|done| *done < first),
                "{}",
                step.id
            );
        }
    }
}

/// A call that an approver excluded does not begin.
fn omits_excluded_calls(run: &Driven, step: &Step) {
    let excluded = position(run, |event| {
        matches!(
            event,
            RunEvent::StepSkipped { step: skipped, reason: SkipReason::Excluded { .. } } if *skipped == step.id
        )
    });
    if let Some(excluded) = excluded.first() {
        let mut begun = began(run, &step.id).into_iter();
        assert!(begun.all(|begun| begun < *excluded), "{} begins", step.id);
    }
}

/// No more items of a list run at the same time than it allows.
fn keeps_the_concurrency(run: &Driven, step: &Step) {
    let StepAction::ForEach { concurrency, .. } = &step.action else {
        return;
    };
    let is_item = |id: &StepId| {
        let found = run.run.graph().step(id);
        let item = found.and_then(|found| found.item.as_deref());
        item.is_some_and(|item| item.of == step.id)
    };
    let mut running: BTreeSet<&StepId> = BTreeSet::new();
    for (event, _) in &run.journal {
        match event {
            RunEvent::StepBegun(begun) if is_item(&begun.step) => {
                running.insert(&begun.step);
            }
            RunEvent::StepSucceeded { step, .. }
            | RunEvent::StepFailed { step, .. }
            | RunEvent::StepRefused { step, .. }
            | RunEvent::StepSkipped { step, .. }
            | RunEvent::ApprovalDenied { step, .. } => {
                running.remove(step);
            }
            _ => {}
        }
        assert!(running.len() <= *concurrency, "{running:?}");
    }
}

/// The items of a list are added once, and the list ends after them.
fn ends_after_its_items(run: &Driven, step: &Step) {
    let expanded = position(
        run,
        |event| matches!(event, RunEvent::StepExpanded { step: of, .. } if *of == step.id),
    );
    assert!(expanded.len() <= 1, "{} twice", step.id);
    let Some(end) = succeeded(run, &step.id).first().copied() else {
        return;
    };
    let items = run.run.graph().steps().iter().filter(|found| {
        let item = found.item.as_deref();
        found.reverses.is_none() && item.is_some_and(|item| item.of == step.id)
    });
    for item in items {
        assert!(settled(run, &item.id), "{} is open", item.id);
        let begun = began(run, &item.id);
        assert!(begun.iter().all(|begun| *begun < end), "{}", item.id);
    }
}

/// After a stop, only handlers of failures begin in the forward direction.
fn starts_nothing_after_a_stop(run: &Driven, step: &Step) {
    let is_failure = |cause: &StopCause| matches!(cause, StopCause::Failure { .. });
    let stops = position(
        run,
        |event| matches!(event, RunEvent::Stopping { cause, .. } if !is_failure(cause)),
    );
    let Some(stop) = stops.first() else { return };
    if step.reverses.is_some() {
        return;
    }
    let first = began(run, &step.id).first().copied();
    assert!(
        first.is_none_or(|first| first < *stop),
        "{} begins late",
        step.id
    );
}

/// Reversals run in the reverse order of the writes, each after its write.
fn reverses_last_first(run: &Driven) {
    let mut reversed: Vec<(usize, usize)> = run
        .run
        .graph()
        .steps()
        .iter()
        .filter_map(|step| {
            let done = *succeeded(run, &step.id).first()?;
            let write = *succeeded(run, step.reverses.as_ref()?).first()?;
            Some((done, write))
        })
        .collect();
    reversed.sort_unstable();
    let writes: Vec<usize> = reversed.iter().map(|(_, write)| *write).collect();
    assert!(
        writes.windows(2).all(|pair| pair[0] > pair[1]),
        "{reversed:?}"
    );
    assert!(reversed.iter().all(|(done, write)| write < done));
}

/// Returns writes that began with an unknown outcome: interrupted and never repeated.
fn in_doubt(run: &Driven) -> BTreeSet<StepId> {
    let steps = run.run.graph().steps().iter();
    let unheard = steps.filter(|step| {
        let forward = step.writes() && step.reverses.is_none();
        forward && is_unheard(run, &step.id)
    });
    unheard.map(|step| step.id.clone()).collect()
}

/// The outcome lists the writes that remain in effect, or may: none after a rollback, exactly the listed ones after a
/// failed rollback.
fn tells_what_stands(run: &Driven) {
    let written = run.run.steps().written();
    let mut stands: BTreeSet<StepId> = written
        .filter(|step| !run.run.steps().is_reversed(&step.id))
        .map(|step| step.id.clone())
        .collect();
    let doubted: BTreeSet<StepId> = run.run.steps().in_doubt().cloned().collect();
    assert_eq!(doubted, in_doubt(run));
    stands.append(&mut in_doubt(run));
    match run.run.outcome().unwrap() {
        RunOutcome::RolledBack { .. } => assert!(stands.is_empty(), "{stands:?}"),
        RunOutcome::RollbackFailed { left, .. } => {
            let left: BTreeSet<StepId> = left.iter().cloned().collect();
            assert_eq!(left, stands);
        }
        RunOutcome::Completed { .. } | RunOutcome::Failed { .. } => {}
    }
}

/// No forward step remains open, and the last event is the only final one.
fn ends_whole(run: &Driven) {
    for step in run.run.graph().steps() {
        assert!(
            step.reverses.is_some() || settled(run, &step.id),
            "{} is open",
            step.id
        );
    }
    let ends = position(run, RunEvent::is_final);
    assert_eq!(ends, [run.journal.len() - 1]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn b003_5_every_run_keeps_the_invariants(bytes in prop::collection::vec(any::<u8>(), 0..160)) {
        let run = drive(&bytes);
        replays_to_itself(&run);
        ends_whole(&run);
        reverses_last_first(&run);
        tells_what_stands(&run);
        for step in run.run.graph().steps() {
            succeeds_once(&run, step);
            waits_for_its_sources(&run, step);
            omits_excluded_calls(&run, step);
            keeps_the_concurrency(&run, step);
            ends_after_its_items(&run, step);
            starts_nothing_after_a_stop(&run, step);
        }
    }
}
