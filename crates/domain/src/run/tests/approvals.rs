//! Steps that wait for an approval, and the calls that an approval covers (B000-13, B000-18, ruling 28).

use super::*;

/// B000-13: exactly the step that needs the approval waits; the others continue.
#[test]
fn b000_13_only_the_step_that_needs_an_approval_waits() {
    let mut run = Driven::new(vec![write("w", &[]), read("r", &[], AfterFailure::Abort)]);
    let asked = run.begin_with("w", ask()).unwrap();
    assert!(matches!(asked[..], [RunEvent::ApprovalRequested(_)]));
    assert_eq!(
        (run.run.status().as_str(), run.next()),
        ("awaiting_approval", start(&["r"]))
    );
    run.done("r");
    assert_eq!(
        run.next(),
        Next::Wait {
            until: Some(at(3_600))
        }
    );
    assert!(run.succeed("w").is_err(), "it has not begun");
    let granted = |run: &Driven| ["w", "r"].map(|step| run.run.steps().is_granted(&id(step)));
    assert_eq!(granted(&run), [false, false]);
    run.grant("w").unwrap();
    assert_eq!(granted(&run), [true, false]);
    assert_eq!(run.next(), start(&["w"]));
    let begun = run.begin_with("w", ask()).unwrap();
    let RunEvent::StepBegun(begun) = &begun[0] else {
        panic!("{begun:?}");
    };
    let by: Vec<RuleKind> = begun
        .policy_decision
        .rules()
        .iter()
        .map(|r| r.kind)
        .collect();
    assert_eq!(by, [RuleKind::Safety, RuleKind::Approval]);
}

/// An approval is bound to the exact call: another call needs a new one.
#[test]
fn ruling_28_an_approval_covers_exactly_the_call_it_is_for() {
    let mut run = Driven::new(vec![write("w", &[])]);
    run.begin_with("w", ask()).unwrap();
    run.grant("w").unwrap();
    let mut other = run.call("w");
    other.parameters.insert("more".into(), json!(1));
    let beginning = StepStart {
        call: other,
        decision: ask(),
        now: at(0),
        approval: approval(99),
        expires_at: at(60),
    };
    let events = run.command(Command::Begin(Box::new(beginning))).unwrap();
    assert!(
        matches!(events[..], [RunEvent::ApprovalRequested(_)]),
        "{events:?}"
    );
}

/// A decision counts only for the requested approval and for the displayed call.
#[test]
fn ruling_28_a_decision_counts_only_for_the_approval_that_is_awaited() {
    let mut run = Driven::new(vec![write("w", &[])]);
    run.begin_with("w", ask()).unwrap();
    let Some(StepState::AwaitingApproval {
        approval: awaited,
        digest,
        ..
    }) = run.run.steps().state_of(&id("w")).cloned()
    else {
        panic!("nobody was asked");
    };
    let grant = |approval: &ApprovalId, digest: &Digest| Command::Grant {
        step: id("w"),
        approval: approval.clone(),
        digest: digest.clone(),
        by: user("approver"),
    };
    let refuse = |approval: &ApprovalId| Command::Refuse {
        step: id("w"),
        approval: approval.clone(),
        by: Some(user("approver")),
        failure: failure(ErrorKind::PermissionError),
    };
    let before = run.run.clone();
    let (other, unseen) = (approval(99), Digest::claimed("sha256:other"));
    let wrong = [
        grant(&other, &digest),
        grant(&awaited, &unseen),
        grant(&other, &unseen),
        refuse(&other),
    ];
    for command in wrong {
        let refused = IllegalTransition::Step {
            step: id("w"),
            state: "awaiting_approval",
            wanted: "decided on",
        };
        assert_eq!(run.command(command), Err(refused));
    }
    assert_eq!(run.run, before);
    run.command(refuse(&awaited)).unwrap();
    assert_eq!(run.state("w"), "failed");
}

/// An interrupted write that may have happened is not repeated with an old approval.
#[test]
fn b000_18_an_interrupted_write_asks_anew_before_it_is_repeated() {
    let interrupted = GateDecision::NeedsApproval {
        rules: vec![RuleResult::new(
            RuleKind::Interrupted,
            "t.x",
            "it may have happened",
        )],
        permitted_by: vec![],
        warnings: vec![],
    };
    let mut run = Driven::new(vec![write("w", &[])]);
    run.begin_with("w", ask()).unwrap();
    run.grant("w").unwrap();
    assert!(
        !run.run.steps().is_interrupted(&id("w")),
        "it has not begun"
    );
    run.begin_with("w", ask()).unwrap();
    assert!(run.run.steps().is_interrupted(&id("w")));
    let again = run.begin_with("w", interrupted.clone()).unwrap();
    assert!(
        matches!(again[..], [RunEvent::ApprovalRequested(_)]),
        "{again:?}"
    );
    assert!(
        !run.run.steps().is_interrupted(&id("w")),
        "a person is asked already"
    );
    run.grant("w").unwrap();
    let again = run.begin_with("w", interrupted).unwrap();
    assert!(matches!(again[..], [RunEvent::StepBegun(_)]), "{again:?}");
}

#[test]
fn b000_13_what_the_gate_refuses_never_begins() {
    let refused = ErrorKind::PermissionError;
    let codes = [
        (RuleKind::Guardrail, "guardrail_blocked", refused, "denied"),
        (RuleKind::Policy, "policy_denied", refused, "denied"),
        (
            RuleKind::Permission,
            "permission_denied",
            refused,
            "rolled_back",
        ),
        // The only denial that ends with time.
        (
            RuleKind::RateLimit,
            "rate_limited",
            ErrorKind::ResourceError,
            "rolled_back",
        ),
    ];
    for (kind, code, failed_as, outcome) in codes {
        let mut run = Driven::new(vec![write("w", &[])]);
        let events = run.begin_with("w", deny(kind)).unwrap();
        let RunEvent::StepRefused { failure, .. } = &events[0] else {
            panic!("{events:?}");
        };
        let expected = StepFailure {
            kind: failed_as,
            code: code.to_owned(),
            message: "r: no".to_owned(),
            retryable: kind == RuleKind::RateLimit,
            account: None,
        };
        assert_eq!(*failure, expected);
        assert_eq!(run.outcome(), outcome, "nothing was written");
    }
}

/// A worker checks this before it counts a call: the result is the same as when the step begins.
#[test]
fn what_a_run_permits_is_what_it_begins() {
    let interrupted = || {
        let rule = RuleResult::new(RuleKind::Interrupted, "t.x", "it may have happened");
        GateDecision::NeedsApproval {
            rules: vec![rule],
            permitted_by: vec![],
            warnings: vec![],
        }
    };
    let mut run = Driven::new(vec![write("w", &[]), reversal("undo", "w")]);
    let (call, undo) = (run.call("w"), run.call("undo"));
    assert!(run.run.steps().permits(&call, &allow(), at(0)));
    assert!(
        !run.run
            .steps()
            .permits(&call, &deny(RuleKind::Policy), at(0))
    );
    assert!(!run.run.steps().permits(&call, &ask(), at(0)));
    assert!(
        run.run.steps().permits(&undo, &ask(), at(0)),
        "a reversal asks nobody"
    );
    assert!(
        !run.run
            .steps()
            .permits(&undo, &deny(RuleKind::Guardrail), at(0))
    );
    run.begin_with("w", ask()).unwrap();
    run.grant("w").unwrap();
    assert!(run.run.steps().permits(&call, &ask(), at(0)));
    assert_eq!(
        run.run.steps().approver(&call, &ask(), at(0)),
        Some(&user("approver"))
    );
    let mut other = call.clone();
    other.parameters.insert("bucket".into(), json!("b-2"));
    assert!(!run.run.steps().permits(&other, &ask(), at(0)));
    assert_eq!(run.run.steps().approver(&other, &ask(), at(0)), None);
    assert!(run.run.steps().permits(&call, &interrupted(), at(0)));
    run.begin_with("w", ask()).unwrap();
    assert!(
        run.run.steps().permits(&call, &ask(), at(0)),
        "another attempt of the same"
    );
    assert!(
        !run.run.steps().permits(&call, &interrupted(), at(0)),
        "it may have happened"
    );
    assert_eq!(run.run.steps().approver(&call, &interrupted(), at(0)), None);
}

/// Returns a run with a write that was approved at second 0 until second 3,600.
fn approved() -> Driven {
    let mut write = write("w", &[]);
    write.retry.retries = 1;
    let mut run = Driven::new(vec![write]);
    run.begin_with("w", ask()).unwrap();
    run.grant("w").unwrap();
    run
}

/// The events between an approval and the step that needs it.
#[derive(Debug, Clone, Copy)]
enum Between {
    Nothing,
    Pause,
    Restart,
    Retry,
}

/// An approval is valid until its end and no longer, for any events in between.
#[test]
fn ruling_28_a_lapsed_approval_permits_nothing() {
    for between in [
        Between::Nothing,
        Between::Pause,
        Between::Restart,
        Between::Retry,
    ] {
        for (clock, begins) in [(3_599, true), (3_600, false), (90_000, false)] {
            let mut run = approved();
            match between {
                Between::Nothing => run.clock = clock,
                Between::Pause => {
                    let by = user("asker");
                    run.command(RunOrder::Pause { by: by.clone() }).unwrap();
                    run.clock = clock;
                    run.command(RunOrder::Resume { by }).unwrap();
                }
                Between::Restart => {
                    run.clock = clock;
                    run.run = Run::replay(run.journal.clone()).unwrap();
                }
                Between::Retry => {
                    run.begin_with("w", ask()).unwrap();
                    run.fail("w").unwrap();
                    run.clock = clock;
                }
            }
            let (call, now) = (run.call("w"), at(clock));
            assert_eq!(run.run.steps().permits(&call, &ask(), now), begins);
            let approver = run.run.steps().approver(&call, &ask(), now).cloned();
            assert_eq!(approver, begins.then(|| user("approver")));
            let end = begins.then(|| at(3_600));
            assert_eq!(run.run.steps().approval_end(&call, &ask(), now), end);
            assert_eq!(run.next(), start(&["w"]), "{between:?}");
            let events = run.begin_with("w", ask()).unwrap();
            match &events[..] {
                [RunEvent::StepBegun(begun)] if begins => {
                    assert_eq!(begun.approval_expires_at, end, "{between:?}");
                }
                [RunEvent::ApprovalRequested(asked)] if !begins => {
                    assert_eq!(asked.expires_at, at(clock + 3_600), "{between:?}");
                }
                other => panic!("{between:?} at {clock}: {other:?}"),
            }
        }
    }
}

/// A step with a new approval request begins with the new approval.
#[test]
fn ruling_28_an_approval_after_one_that_lapsed_counts() {
    let mut run = approved();
    run.clock = 3_600;
    run.begin_with("w", ask()).unwrap();
    run.grant("w").unwrap();
    let events = run.begin_with("w", ask()).unwrap();
    let RunEvent::StepBegun(begun) = &events[0] else {
        panic!("{events:?}");
    };
    assert_eq!(begun.approval_expires_at, Some(at(7_200)));
}

/// A call that the gate allows, and a reversal, need no approval, so none can lapse.
#[test]
fn a_step_that_needs_no_approval_begins_whenever_it_may() {
    let mut run = approved();
    run.clock = 3_600;
    let (call, now) = (run.call("w"), at(3_600));
    assert!(run.run.steps().permits(&call, &allow(), now));
    assert_eq!(run.run.steps().approval_end(&call, &allow(), at(0)), None);
    let events = run.begin("w").unwrap();
    assert!(
        matches!(&events[..], [RunEvent::StepBegun(begun)] if begun.approval_expires_at.is_none()),
        "{events:?}"
    );
    let mut run = Driven::new(vec![write("w", &[]), reversal("undo", "w")]);
    run.clock = 90_000;
    let undo = run.call("undo");
    assert!(run.run.steps().permits(&undo, &ask(), at(90_000)));
    assert_eq!(
        run.run.steps().approval_end(&undo, &ask(), at(90_000)),
        None
    );
}

/// Strict replay detects a step that began with a lapsed approval, or with another end than the approval has. A journal
/// that does not name the end is read as before.
#[test]
fn b002_14_a_step_that_began_after_its_approvals_end_is_found() {
    let run = approved();
    let begun = |end| {
        RunEvent::StepBegun(EffectStart {
            step: id("w"),
            attempt: 1,
            idempotency_key: run.run.idempotency_key(&id("w")),
            parameters: Map::new(),
            policy_decision: ask().approved(&approval(1)),
            approval_expires_at: end,
        })
    };
    let lapsed = Err("its approval had expired".to_owned());
    for (end, now, expected) in [
        (Some(3_600), 3_599, Ok(())),
        (Some(3_600), 3_600, lapsed.clone()),
        (Some(7_200), 3_600, lapsed.clone()),
        (Some(7_200), 10, lapsed),
        (None, 90_000, Ok(())),
    ] {
        let event = begun(end.map(at));
        assert_eq!(
            check_event(&run.run, &event, at(now)),
            expected,
            "{end:?} at {now}"
        );
    }
    let written = json!(begun(None));
    assert_eq!(written.get("approval_expires_at"), None);
}

/// The digest of a state does not depend on the end of an approval, so that digests of earlier versions remain valid.
#[test]
fn a_states_digest_does_not_name_the_end_of_an_approval() {
    let run = approved();
    let state = json!(run.run);
    let grant = state["slots"][0]["grant"].as_object().unwrap();
    let fields: Vec<&String> = grant.keys().collect();
    assert_eq!(fields, ["approval", "by", "digest", "used"]);
}
