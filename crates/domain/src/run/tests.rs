//! The run machine, driven by commands; what holds of every run is in `properties`.

mod properties;

use std::collections::BTreeSet;

use charter_contract::catalogue::vocabulary::Role;
use charter_contract::ids::{RunId, ToolId};
use serde_json::json;

use super::*;
use crate::gate::Rule;
use crate::graph::{Action, AfterFailure, Edge, Entry, GraphParts, On, Retry, Step, StepGraph};

fn id(text: &str) -> StepId {
    StepId::parse(text).unwrap()
}

fn user(text: &str) -> UserId {
    UserId::parse(text).unwrap()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros((1_776_168_000 + seconds) * 1_000_000).unwrap()
}

fn approval(n: u128) -> ApprovalId {
    ApprovalId::from_uuid(uuid(n))
}

fn uuid(n: u128) -> uuid::Uuid {
    uuid::Uuid::from_u128(n)
}

/// A reading step that waits for the success of `sources`.
fn read(name: &str, sources: &[&str], after_failure: AfterFailure) -> Step {
    let edge = |from: &&str| Edge {
        from: id(from),
        on: On::Success,
    };
    Step {
        id: id(name),
        action: Action::Call {
            tool: ToolId::parse("t.x").unwrap(),
            parameters: Map::new(),
            script: None,
            writes: false,
        },
        entry: Entry {
            edges: sources.iter().map(edge).collect(),
            ..Entry::default()
        },
        after_failure,
        reviewed: false,
        retry: Retry::default(),
        timeout_ms: 0,
        cache_ttl_seconds: 0,
        reverses: None,
    }
}

fn write(name: &str, sources: &[&str]) -> Step {
    let mut step = read(name, sources, AfterFailure::RollBack);
    let Action::Call { writes, .. } = &mut step.action else {
        unreachable!("a reading step calls");
    };
    *writes = true;
    step
}

fn reversal(name: &str, reverses: &str) -> Step {
    Step {
        reverses: Some(id(reverses)),
        ..write(name, &[])
    }
}

fn handler(name: &str, of: &str) -> Step {
    let mut step = read(name, &[], AfterFailure::Abort);
    step.entry.edges = vec![Edge {
        from: id(of),
        on: On::Failure,
    }];
    step
}

fn failure(kind: ErrorKind) -> StepFailure {
    StepFailure {
        kind,
        code: "tool_failed".into(),
        message: "it broke".into(),
        retryable: false,
    }
}

fn allow() -> Decision {
    Decision::Allow {
        permitted_by: vec![],
        warnings: vec![],
    }
}

fn ask() -> Decision {
    Decision::NeedsApproval {
        rules: vec![Rule::new(RuleKind::Safety, "p", "supervised")],
    }
}

fn deny(kind: RuleKind) -> Decision {
    Decision::Deny {
        rules: vec![Rule::new(kind, "r", "no")],
    }
}

/// A run with its journal.
struct Driven {
    run: Run,
    journal: Vec<(RunEvent, Timestamp)>,
    clock: i64,
}

impl Driven {
    fn new(steps: Vec<Step>) -> Self {
        Self::of(GraphParts {
            steps,
            ..GraphParts::default()
        })
    }

    fn of(parts: GraphParts) -> Self {
        Self::opening(parts, Opening::default(), false)
    }

    fn opening(parts: GraphParts, opening: Opening, dry_run: bool) -> Self {
        let event = RunEvent::Started(Box::new(Started {
            run_id: RunId::from_uuid(uuid(1)),
            by: user("asker"),
            role: Role::User,
            graph: StepGraph::new(parts).unwrap(),
            parameters: json!({"bucket": "b-1"}).as_object().unwrap().clone(),
            pins: Vec::new(),
            dry_run,
            opening,
        }));
        Self {
            run: Run::start(event.clone(), at(0)).unwrap(),
            journal: vec![(event, at(0))],
            clock: 0,
        }
    }

    fn apply(&mut self, events: &[RunEvent]) {
        for event in events {
            self.run.follows(event).unwrap();
            self.run.apply(event.clone(), at(self.clock)).unwrap();
            self.journal.push((event.clone(), at(self.clock)));
        }
    }

    /// Decides, and lets everything follow that follows by itself.
    fn command(&mut self, command: Command) -> Result<Vec<RunEvent>, IllegalTransition> {
        let mut all = self.run.decide(command)?;
        self.apply(&all.clone());
        loop {
            let more = self.run.advance();
            if more.is_empty() {
                return Ok(all);
            }
            self.apply(&more);
            all.extend(more);
        }
    }

    fn call(&self, step: &str) -> ExactCall {
        ExactCall {
            run_id: self.run.id().clone(),
            step: id(step),
            tool: ToolId::parse("t.x").unwrap(),
            tool_hash: "sha256:0".into(),
            parameters: Map::new(),
        }
    }

    fn begin_with(
        &mut self,
        step: &str,
        decision: Decision,
    ) -> Result<Vec<RunEvent>, IllegalTransition> {
        let beginning = Beginning {
            call: self.call(step),
            decision,
            approval: approval(self.journal.len() as u128),
            expires_at: at(self.clock + 3_600),
        };
        self.command(Command::Begin(Box::new(beginning)))
    }

    fn begin(&mut self, step: &str) -> Result<Vec<RunEvent>, IllegalTransition> {
        self.begin_with(step, allow())
    }

    fn succeed(&mut self, step: &str) -> Result<Vec<RunEvent>, IllegalTransition> {
        self.command(Command::Succeed {
            step: id(step),
            output: json!({"of": step}),
            source: ResultSource::Fresh,
            duration_ms: 1,
        })
    }

    fn fail_as(&mut self, step: &str, kind: ErrorKind) -> Result<Vec<RunEvent>, IllegalTransition> {
        self.command(Command::Fail {
            step: id(step),
            failure: failure(kind),
            at: at(self.clock),
        })
    }

    fn fail(&mut self, step: &str) -> Result<Vec<RunEvent>, IllegalTransition> {
        self.fail_as(step, ErrorKind::ExecutionError)
    }

    fn done(&mut self, step: &str) {
        self.begin(step).unwrap();
        self.succeed(step).unwrap();
    }

    fn grant(&mut self, step: &str) -> Result<Vec<RunEvent>, IllegalTransition> {
        let Some(StepState::AwaitingApproval {
            approval, digest, ..
        }) = self.run.state_of(&id(step)).cloned()
        else {
            panic!("`{step}` waits for nobody");
        };
        self.command(Command::Grant {
            step: id(step),
            approval,
            digest,
            by: user("approver"),
        })
    }

    fn next(&self) -> Next {
        self.run.next(&BTreeSet::new(), at(self.clock))
    }

    fn state(&self, step: &str) -> &'static str {
        self.run.state_of(&id(step)).unwrap().word()
    }

    fn outcome(&self) -> &'static str {
        self.run.outcome().map_or("none", Outcome::word)
    }
}

fn start(steps: &[&str]) -> Next {
    Next::Start(steps.iter().map(|step| id(step)).collect())
}

fn wait() -> Next {
    Next::Wait { until: None }
}

/// B003-5: independent steps run at the same time, ready steps start in listed order.
#[test]
fn b003_5_ready_steps_start_together_in_listed_order() {
    let abort = AfterFailure::Abort;
    let mut run = Driven::new(vec![
        read("z", &[], abort),
        read("join", &["z", "a"], abort),
        read("a", &[], abort),
    ]);
    assert_eq!(run.next(), start(&["z", "a"]));
    run.begin("z").unwrap();
    run.begin("a").unwrap();
    let in_hand = BTreeSet::from([id("z"), id("a")]);
    assert_eq!(run.run.next(&in_hand, at(0)), wait());
    run.succeed("a").unwrap();
    assert!(matches!(
        run.begin("join"),
        Err(IllegalTransition::Step { .. })
    ));
    run.succeed("z").unwrap();
    assert_eq!(run.next(), start(&["join"]));
    run.done("join");
    assert_eq!((run.next(), run.outcome()), (Next::Ended, "completed"));
}

/// B003-8: an abort cancels what has not started, waits for what has, and fails the run.
#[test]
fn b003_8_abort_cancels_what_has_not_started() {
    let abort = AfterFailure::Abort;
    let mut run = Driven::new(vec![
        read("a", &[], abort),
        read("b", &[], abort),
        read("c", &["b"], abort),
    ]);
    run.begin("a").unwrap();
    run.begin("b").unwrap();
    run.fail("a").unwrap();
    assert_eq!((run.state("c"), run.outcome()), ("cancelled", "none"));
    run.succeed("b").unwrap();
    assert_eq!(run.outcome(), "failed");
}

/// B003-6: what handles a failure runs even though the run was aborted; without one it is skipped.
#[test]
fn b003_6_a_failure_step_runs_after_an_abort() {
    let steps = || {
        vec![
            read("a", &[], AfterFailure::Abort),
            handler("mend", "a"),
            read("other", &["a"], AfterFailure::Abort),
        ]
    };
    let mut failed = Driven::new(steps());
    failed.begin("a").unwrap();
    failed.fail("a").unwrap();
    assert_eq!(
        (failed.next(), failed.state("other")),
        (start(&["mend"]), "cancelled")
    );
    failed.done("mend");
    assert_eq!(failed.outcome(), "failed");
    let mut succeeded = Driven::new(steps());
    succeeded.done("a");
    assert_eq!(succeeded.state("mend"), "skipped");
}

/// B003-6, B003-9: a false expression skips its step, one without an answer fails it.
#[test]
fn b003_6_an_expression_decides_whether_a_step_runs() {
    let when = |expression: &str| {
        let mut step = read("b", &["a"], AfterFailure::Abort);
        step.entry.when = Some(expression.to_owned());
        let mut run = Driven::new(vec![read("a", &[], AfterFailure::Abort), step]);
        run.done("a");
        run
    };
    assert_eq!(when("steps.a.output.of == 'a'").next(), start(&["b"]));
    let skipped = when("parameters.bucket == 'other'");
    assert_eq!(
        (skipped.state("b"), skipped.outcome()),
        ("skipped", "completed")
    );
    let failed = when("steps.a.output.absent > 1");
    assert_eq!((failed.state("b"), failed.outcome()), ("failed", "failed"));
}

/// B003-8: otherwise only the dependants are skipped and the rest completes.
#[test]
fn b003_8_other_steps_go_on_when_only_dependants_are_skipped() {
    let mut run = Driven::new(vec![
        read("a", &[], AfterFailure::GoOn),
        read("b", &["a"], AfterFailure::Abort),
        read("c", &[], AfterFailure::Abort),
    ]);
    run.begin("a").unwrap();
    run.fail("a").unwrap();
    assert_eq!((run.next(), run.state("b")), (start(&["c"]), "skipped"));
    run.done("c");
    assert_eq!(run.outcome(), "completed");
}

/// B003-8: the fallback runs once, in place of what failed, with keys of its own.
#[test]
fn b003_8_a_fallback_runs_once() {
    let fallback = StepGraph::new(GraphParts {
        steps: vec![read("a", &[], AfterFailure::Abort)],
        ..GraphParts::default()
    });
    let mut run = Driven::of(GraphParts {
        steps: vec![read("a", &[], AfterFailure::Abort)],
        fallback: Some(Box::new(fallback.unwrap())),
        ..GraphParts::default()
    });
    let first = run.run.idempotency_key(&id("a"));
    run.begin("a").unwrap();
    run.fail("a").unwrap();
    assert_eq!(run.next(), start(&["a"]));
    assert_ne!(run.run.idempotency_key(&id("a")), first);
    run.begin("a").unwrap();
    run.fail("a").unwrap();
    assert_eq!(run.outcome(), "failed");
}

/// B003-7: one attempt, then up to `max_attempts` retries, each after its delay; what the caller may
/// not do or got wrong is not tried again.
#[test]
fn b003_7_a_step_is_tried_again_as_often_as_it_says() {
    let steps = || {
        let mut step = read("a", &[], AfterFailure::Abort);
        step.retry = Retry {
            retries: 2,
            delay_ms: 10_000,
        };
        vec![step]
    };
    let mut run = Driven::new(steps());
    for _ in 0..2 {
        run.begin("a").unwrap();
        run.fail("a").unwrap();
        let due = at(run.clock + 10);
        assert_eq!(run.next(), Next::Wait { until: Some(due) });
        run.clock += 10;
        assert_eq!(run.next(), start(&["a"]));
    }
    run.begin("a").unwrap();
    run.fail("a").unwrap();
    assert_eq!(run.outcome(), "failed");
    for kind in [ErrorKind::PermissionError, ErrorKind::InputError] {
        let mut run = Driven::new(steps());
        run.begin("a").unwrap();
        run.fail_as("a", kind).unwrap();
        assert_eq!(run.outcome(), "failed", "{kind}");
    }
}

/// What is interrupted is started again under the same key, as another attempt.
#[test]
fn an_interrupted_step_is_started_again_under_the_same_key() {
    let mut run = Driven::new(vec![read("a", &[], AfterFailure::Abort)]);
    let first = run.begin("a").unwrap();
    assert_eq!(run.next(), start(&["a"]));
    let second = run.begin("a").unwrap();
    let (RunEvent::StepBegun(first), RunEvent::StepBegun(second)) = (&first[0], &second[0]) else {
        panic!("not begun: {first:?} {second:?}");
    };
    assert_eq!((first.attempt, second.attempt), (1, 2));
    assert_eq!(first.idempotency_key, second.idempotency_key);
}

/// B000-13: exactly the step that needs it waits; the others go on.
#[test]
fn b000_13_only_the_step_that_needs_an_approval_waits() {
    let mut run = Driven::new(vec![write("w", &[]), read("r", &[], AfterFailure::Abort)]);
    let asked = run.begin_with("w", ask()).unwrap();
    assert!(matches!(asked[..], [RunEvent::ApprovalRequested(_)]));
    assert_eq!(
        (run.run.status(), run.next()),
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
    run.grant("w").unwrap();
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

/// Approvals are bound to the exact call: another call asks again.
#[test]
fn ruling_28_an_approval_covers_exactly_the_call_it_is_for() {
    let mut run = Driven::new(vec![write("w", &[])]);
    run.begin_with("w", ask()).unwrap();
    run.grant("w").unwrap();
    let mut other = run.call("w");
    other.parameters.insert("more".into(), json!(1));
    let beginning = Beginning {
        call: other,
        decision: ask(),
        approval: approval(99),
        expires_at: at(60),
    };
    let events = run.command(Command::Begin(Box::new(beginning))).unwrap();
    assert!(
        matches!(events[..], [RunEvent::ApprovalRequested(_)]),
        "{events:?}"
    );
}

/// A write that was interrupted, and may have happened, is not repeated on an old approval.
#[test]
fn b000_18_an_interrupted_write_asks_anew_before_it_is_repeated() {
    let interrupted = Decision::NeedsApproval {
        rules: vec![Rule::new(
            RuleKind::Interrupted,
            "t.x",
            "it may have happened",
        )],
    };
    let mut run = Driven::new(vec![write("w", &[])]);
    run.begin_with("w", ask()).unwrap();
    run.grant("w").unwrap();
    run.begin_with("w", ask()).unwrap();
    assert!(run.run.is_interrupted(&id("w")));
    let again = run.begin_with("w", interrupted.clone()).unwrap();
    assert!(
        matches!(again[..], [RunEvent::ApprovalRequested(_)]),
        "{again:?}"
    );
    run.grant("w").unwrap();
    let again = run.begin_with("w", interrupted).unwrap();
    assert!(matches!(again[..], [RunEvent::StepBegun(_)]), "{again:?}");
}

#[test]
fn b000_13_what_the_gate_refuses_never_begins() {
    let codes = [
        (RuleKind::Guardrail, "guardrail_blocked"),
        (RuleKind::Policy, "policy_denied"),
        (RuleKind::Permission, "permission_denied"),
        (RuleKind::RateLimit, "rate_limited"),
    ];
    for (kind, code) in codes {
        let mut run = Driven::new(vec![write("w", &[])]);
        let events = run.begin_with("w", deny(kind)).unwrap();
        let RunEvent::StepRefused { failure, .. } = &events[0] else {
            panic!("{events:?}");
        };
        assert_eq!(failure.code, code);
        assert_eq!(run.outcome(), "rolled_back", "nothing was written");
    }
}

/// B000-18: completed writes are reversed, the last one first, without asking anybody.
#[test]
fn b000_18_a_rollback_reverses_completed_writes_last_first() {
    let mut run = Driven::new(vec![
        write("one", &[]),
        write("two", &["one"]),
        write("three", &["two"]),
        reversal("undo_one", "one"),
        reversal("undo_two", "two"),
        reversal("undo_three", "three"),
    ]);
    run.done("one");
    run.done("two");
    run.begin("three").unwrap();
    run.fail("three").unwrap();
    assert_eq!(
        (run.run.status(), run.next()),
        ("rolling_back", start(&["undo_two"]))
    );
    assert!(run.begin("undo_one").is_err(), "not its turn");
    let begun = run.begin_with("undo_two", ask()).unwrap();
    assert!(matches!(begun[..], [RunEvent::StepBegun(_)]), "{begun:?}");
    run.succeed("undo_two").unwrap();
    assert_eq!(run.next(), start(&["undo_one"]));
    run.done("undo_one");
    assert_eq!(
        (run.outcome(), run.state("undo_three")),
        ("rolled_back", "pending")
    );
}

/// B000-18: a rollback that fails says what is left; a write that nothing reverses is left too.
#[test]
fn b000_18_a_failing_rollback_says_what_is_left() {
    let mut run = Driven::new(vec![
        write("one", &[]),
        write("two", &["one"]),
        write("three", &["two"]),
        reversal("undo_one", "one"),
        reversal("undo_two", "two"),
    ]);
    run.done("one");
    run.done("two");
    run.begin("three").unwrap();
    run.fail("three").unwrap();
    run.begin("undo_two").unwrap();
    run.fail("undo_two").unwrap();
    let Some(Outcome::RollbackFailed { left, .. }) = run.run.outcome() else {
        panic!("{:?}", run.run.outcome());
    };
    assert_eq!(*left, [id("one"), id("two")]);
    let mut bare = Driven::new(vec![write("one", &[]), write("two", &["one"])]);
    bare.done("one");
    bare.begin("two").unwrap();
    bare.fail("two").unwrap();
    assert_eq!(bare.outcome(), "rollback_failed");
}

/// B000-18: the time limit counts work, not waiting for people; then it aborts and rolls back.
#[test]
fn b000_18_the_time_limit_does_not_count_waiting_for_people() {
    let mut run = Driven::of(GraphParts {
        steps: vec![write("a", &[]), write("b", &["a"]), reversal("undo", "a")],
        timeout_ms: 60_000,
        ..GraphParts::default()
    });
    run.clock = 10;
    run.begin_with("a", ask()).unwrap();
    assert_eq!(run.run.deadline(), None, "a person is awaited");
    run.clock = 5_000;
    run.grant("a").unwrap();
    assert_eq!(run.run.deadline(), Some(at(5_050)));
    run.begin_with("a", ask()).unwrap();
    run.clock = 5_020;
    run.succeed("a").unwrap();
    run.begin("b").unwrap();
    assert_eq!(run.run.deadline(), Some(at(5_050)));
    run.clock = 5_050;
    run.command(Command::TimeUp).unwrap();
    run.fail_as("b", ErrorKind::TimeoutError).unwrap();
    assert_eq!(run.next(), start(&["undo"]));
    run.done("undo");
    let Some(Outcome::RollbackFailed { left, cause }) = run.run.outcome() else {
        panic!("{:?}", run.run.outcome());
    };
    assert_eq!(
        (left.as_slice(), cause),
        ([id("b")].as_slice(), &StopCause::TimedOut)
    );
}

/// B000-18: nothing begins before the parameters are complete and exactly this plan is confirmed.
#[test]
fn b000_18_a_plan_is_confirmed_before_anything_begins() {
    let bucket = Label::parse("bucket").unwrap();
    let opening = Opening {
        confirm: true,
        missing: vec![bucket.clone()],
        typed: Some(bucket),
    };
    let parts = GraphParts {
        steps: vec![write("w", &[])],
        ..GraphParts::default()
    };
    let mut run = Driven::opening(parts, opening, false);
    let confirm = |run: &mut Driven, digest: Digest, typed: Option<&str>| {
        run.command(Command::Confirm {
            by: user("asker"),
            digest,
            typed: typed.map(str::to_owned),
        })
    };
    assert_eq!(
        (run.run.status(), run.next()),
        ("awaiting_parameters", wait())
    );
    assert!(run.begin("w").is_err());
    let digest = run.run.plan_digest();
    assert!(matches!(
        confirm(&mut run, digest.clone(), None),
        Err(IllegalTransition::NotOpen(_))
    ));
    let parameters = json!({"bucket": "b-2"}).as_object().unwrap().clone();
    run.command(Command::Give {
        parameters: parameters.clone(),
        missing: vec![],
    })
    .unwrap();
    assert_eq!(run.run.status(), "awaiting_confirmation");
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
    let late = Command::Give {
        parameters,
        missing: vec![],
    };
    assert_eq!(run.command(late), Err(IllegalTransition::Begun));
}

#[test]
fn b000_18_a_paused_run_starts_nothing_and_an_aborted_one_ends() {
    let mut run = Driven::new(vec![
        write("a", &[]),
        write("b", &["a"]),
        reversal("undo", "a"),
    ]);
    run.begin("a").unwrap();
    run.command(Command::Pause { by: user("op") }).unwrap();
    run.succeed("a").unwrap();
    assert_eq!((run.run.status(), run.next()), ("paused", wait()));
    assert!(run.begin("b").is_err());
    let again = run.command(Command::Pause { by: user("op") });
    assert_eq!(again, Err(IllegalTransition::Already("paused")));
    run.command(Command::Resume { by: user("op") }).unwrap();
    assert_eq!(run.next(), start(&["b"]));
    let abort = || Command::Abort {
        by: user("op"),
        reason: "enough".into(),
        roll_back: true,
    };
    run.command(abort()).unwrap();
    assert_eq!(
        run.command(abort()),
        Err(IllegalTransition::Already("stopping"))
    );
    run.done("undo");
    assert_eq!(run.outcome(), "rolled_back");
    let mut kept = Driven::new(vec![write("a", &[]), write("b", &["a"])]);
    kept.done("a");
    let abort = Command::Abort {
        by: user("op"),
        reason: "enough".into(),
        roll_back: false,
    };
    kept.command(abort).unwrap();
    assert_eq!(kept.outcome(), "aborted");
}

/// B000-18: required evidence that no step produced leaves the run incomplete.
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

/// B000-18: a dry run leaves out what writes and cannot say what it would do.
#[test]
fn b000_18_a_dry_run_skips_writes() {
    let parts = || GraphParts {
        steps: vec![write("w", &[])],
        ..GraphParts::default()
    };
    let mut dry = Driven::opening(parts(), Opening::default(), true);
    dry.command(Command::SkipForDryRun { step: id("w") })
        .unwrap();
    assert_eq!((dry.state("w"), dry.outcome()), ("skipped", "completed"));
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

/// B002-14: a journal that the machine did not write is found at its position.
#[test]
fn b002_14_a_made_up_event_is_found_at_its_position() {
    let mut run = Driven::new(vec![write("a", &[]), write("b", &["a"])]);
    run.done("a");
    run.done("b");
    let (whole, divergence) = Run::replay_strictly(run.journal.clone()).unwrap();
    assert_eq!(
        (whole.state_digest(), divergence),
        (run.run.state_digest(), None)
    );
    for left_out in 1..run.journal.len() - 1 {
        let mut journal = run.journal.clone();
        journal.remove(left_out);
        let (_, divergence) = Run::replay_strictly(journal).unwrap();
        let found = divergence.unwrap().sequence;
        assert_eq!(found, left_out as u64 + 1, "event {left_out} left out");
    }
    let mut denied = run.journal.clone();
    if let RunEvent::StepBegun(begun) = &mut denied[1].0 {
        begun.policy_decision = deny(RuleKind::Policy);
    }
    let (_, divergence) = Run::replay_strictly(denied).unwrap();
    assert_eq!(divergence.unwrap().sequence, 2);
}
