//! Events that the machine would not have written, each with its problem (B002-14).

use super::*;

fn refused(run: &Driven, event: &RunEvent, detail: &str) {
    assert_eq!(
        check_event(&run.run, event, at(0)),
        Err(detail.to_owned()),
        "{event:?}"
    );
}

fn one_step() -> GraphParts {
    GraphParts {
        steps: vec![write("a", &[])],
        ..GraphParts::default()
    }
}

fn given() -> RunEvent {
    RunEvent::ParametersGiven {
        by: None,
        makers: BTreeSet::new(),
        parameters: Map::new(),
        missing: vec![],
        sources: BTreeMap::new(),
    }
}

fn confirmed(run: &Driven) -> RunEvent {
    RunEvent::Confirmed {
        by: user("asker"),
        makers: BTreeSet::new(),
        digest: run.run.plan_digest(),
        approves: false,
    }
}

fn paused() -> RunEvent {
    RunEvent::Paused { by: user("op") }
}

fn abort() -> RunOrder {
    RunOrder::Abort {
        by: user("op"),
        reason: "enough".into(),
        roll_back: false,
    }
}

#[test]
fn b002_14_values_are_given_only_before_a_run_is_open() {
    let closed = || RunPrerequisites {
        missing: vec![Label::parse("bucket").unwrap()],
        ..RunPrerequisites::default()
    };
    let open = Driven::of(one_step());
    refused(&open, &given(), "the plan is already fixed");
    let mut stopped = Driven::opening(one_step(), closed(), false);
    assert_eq!(check_event(&stopped.run, &given(), at(0)), Ok(()));
    let stopping = stopped.run.decide(abort().into()).unwrap();
    stopped.apply(&stopping);
    refused(&stopped, &given(), "the plan is already fixed");
}

#[test]
fn b002_14_a_plan_is_confirmed_once_it_is_whole_and_only_as_it_is() {
    let open = Driven::of(one_step());
    refused(
        &open,
        &confirmed(&open),
        "the run does not wait for a confirmation",
    );
    let opening = RunPrerequisites {
        confirm: true,
        missing: vec![Label::parse("bucket").unwrap()],
        ..RunPrerequisites::default()
    };
    let mut run = Driven::opening(one_step(), opening, false);
    refused(
        &run,
        &confirmed(&run),
        "the run does not wait for a confirmation",
    );
    let earlier = confirmed(&run);
    run.apply(&[given()]);
    refused(&run, &earlier, "another plan was confirmed");
    assert_eq!(check_event(&run.run, &confirmed(&run), at(0)), Ok(()));
}

#[test]
fn b002_14_a_run_is_paused_resumed_and_stopped_once() {
    let mut run = Driven::new(vec![write("a", &[])]);
    let resumed = RunEvent::Resumed { by: user("op") };
    refused(&run, &resumed, "it is not paused");
    run.apply(&[paused()]);
    refused(&run, &paused(), "it cannot be paused");
    run.apply(&[resumed]);
    run.begin("a").unwrap();
    let stopping = run.run.decide(abort().into()).unwrap();
    run.apply(&stopping);
    refused(&run, &paused(), "it cannot be paused");
    refused(&run, &stopping[0], "it is already stopping");
}

#[test]
fn b002_14_nothing_follows_an_end_and_no_end_comes_early() {
    let mut run = Driven::new(vec![write("a", &[])]);
    let completed = RunEvent::Completed {
        missing_evidence: vec![],
    };
    refused(&run, &completed, "it is not the next automatic transition");
    run.done("a");
    refused(&run, &paused(), "the journal continues after its end");
    let (start, _) = run.journal[0].clone();
    let fresh = Driven::new(vec![write("a", &[])]);
    refused(
        &fresh,
        &start,
        "the journal does not start with its start event",
    );
}

/// The number and the key of an attempt follow from the journal, and the gate must have allowed it.
#[test]
fn b002_14_a_step_begins_as_its_next_attempt_under_its_key_and_allowed() {
    let mut run = Driven::new(vec![write("a", &[])]);
    run.begin("a").unwrap();
    let honest = EffectStart {
        step: id("a"),
        attempt: 2,
        idempotency_key: run.run.idempotency_key(&id("a")),
        parameters: Map::new(),
        policy_decision: allow(),
        approval_expires_at: None,
    };
    assert_eq!(
        check_event(&run.run, &RunEvent::StepBegun(honest.clone()), at(0)),
        Ok(())
    );
    for attempt in [1, 3] {
        let event = RunEvent::StepBegun(EffectStart {
            attempt,
            ..honest.clone()
        });
        refused(&run, &event, "an attempt is missing or counted twice");
    }
    let event = RunEvent::StepBegun(EffectStart {
        idempotency_key: "another".into(),
        ..honest.clone()
    });
    refused(
        &run,
        &event,
        "its idempotency key belongs to another effect",
    );
    for policy_decision in [ask(), deny(RuleKind::Policy)] {
        let event = RunEvent::StepBegun(EffectStart {
            policy_decision,
            ..honest.clone()
        });
        refused(&run, &event, "the gate did not allow it");
    }
}

#[test]
fn b002_14_what_is_refused_or_asked_is_what_the_gate_said() {
    let later = read("b", &["a"], AfterFailure::Abort);
    let mut run = Driven::new(vec![write("a", &[]), later]);
    let refusal = |step: &str, policy_decision| RunEvent::StepRefused {
        step: id(step),
        parameters: Map::new(),
        policy_decision,
        failure: failure(ErrorKind::PermissionError),
    };
    refused(&run, &refusal("a", allow()), "the gate did not deny it");
    let policy = deny(RuleKind::Policy);
    assert_eq!(
        check_event(&run.run, &refusal("a", policy.clone()), at(0)),
        Ok(())
    );
    let early = "the step `b` is pending, so it cannot be begun";
    refused(&run, &refusal("b", policy), early);
    let request = |policy_decision, digest: Option<&str>| {
        let call = run.call("a");
        let digest = digest.map_or_else(|| call.digest(), Digest::claimed);
        RunEvent::ApprovalRequested(Box::new(ApprovalRequest {
            step: id("a"),
            approval: approval(7),
            digest,
            call,
            policy_decision,
            expires_at: at(60),
        }))
    };
    refused(
        &run,
        &request(ask(), Some("sha256:other")),
        "its digest belongs to another call",
    );
    refused(
        &run,
        &request(allow(), None),
        "the gate did not require an approval",
    );
    let asked = request(ask(), None);
    run.apply(&[asked]);
    let granted = |step: &str, n| RunEvent::ApprovalGranted {
        step: id(step),
        approval: approval(n),
        by: user("approver"),
    };
    refused(&run, &granted("a", 8), "no approval was requested");
    refused(&run, &granted("b", 7), "no approval was requested");
    assert_eq!(check_event(&run.run, &granted("a", 7), at(0)), Ok(()));
}

#[test]
fn b002_14_a_step_ends_only_once_it_runs_and_is_tried_again_as_often_as_it_says() {
    let mut tried = write("a", &[]);
    tried.retry.retries = 1;
    let mut run = Driven::new(vec![tried, write("b", &["a"])]);
    let succeeded = RunEvent::StepSucceeded {
        step: id("a"),
        output: json!(1),
        source: ResultSource::Cached,
        duration_ms: 0,
        brings: Box::default(),
    };
    let again = RunEvent::RetryScheduled {
        step: id("a"),
        failure: failure(ErrorKind::ExecutionError),
        due: at(0),
        tokens: TokenUsage::default(),
    };
    let failed = |step: &str| RunEvent::StepFailed {
        step: id(step),
        failure: failure(ErrorKind::ExecutionError),
        tokens: TokenUsage::default(),
    };
    let pending = |wanted: &str| format!("the step `a` is pending, so it cannot be {wanted}");
    refused(&run, &succeeded, &pending("completed"));
    refused(&run, &again, &pending("retried"));
    let early = "the step `b` is pending, so it cannot be begun";
    refused(&run, &failed("b"), early);
    assert_eq!(check_event(&run.run, &failed("a"), at(0)), Ok(()));
    run.begin("a").unwrap();
    assert_eq!(check_event(&run.run, &succeeded, at(0)), Ok(()));
    run.apply(std::slice::from_ref(&again));
    run.begin("a").unwrap();
    refused(&run, &again, "no retries are left");
    assert_eq!(check_event(&run.run, &failed("a"), at(0)), Ok(()));
}

#[test]
fn b000_18_only_a_dry_run_leaves_a_write_out() {
    let skipped = RunEvent::StepSkipped {
        step: id("a"),
        reason: SkipReason::DryRun,
    };
    let real = Driven::of(one_step());
    refused(&real, &skipped, "the run is not a dry run");
    let dry = Driven::opening(one_step(), RunPrerequisites::default(), true);
    assert_eq!(check_event(&dry.run, &skipped, at(0)), Ok(()));
}
