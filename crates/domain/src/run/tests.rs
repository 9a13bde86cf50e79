use std::collections::BTreeSet;

use charter_contract::ids::{RunId, ToolId};
use serde_json::{Map, json};

use super::*;
use crate::graph::{Step, StepGraph};
use crate::guardrail::Judgement;

fn id(text: &str) -> StepId {
    StepId::parse(text).unwrap()
}

fn step(name: &str, depends_on: &[&str], after_failure: AfterFailure) -> Step {
    Step {
        id: id(name),
        tool: ToolId::parse("t.x").unwrap(),
        parameters: Map::new(),
        depends_on: depends_on.iter().map(|d| id(d)).collect(),
        after_failure,
        timeout_ms: 0,
        cache_ttl_seconds: 0,
    }
}

fn started(steps: Vec<Step>) -> RunEvent {
    RunEvent::Started {
        run_id: RunId::parse("run-00000000-0000-4000-8000-000000000001").unwrap(),
        graph: StepGraph::new(steps).unwrap(),
        parameters: Map::new(),
        pins: Vec::new(),
    }
}

/// A run with its journal, driven by commands.
struct Driven {
    run: Run,
    journal: Vec<RunEvent>,
}

impl Driven {
    fn new(steps: Vec<Step>) -> Self {
        let event = started(steps);
        Self {
            run: Run::start(event.clone()).unwrap(),
            journal: vec![event],
        }
    }

    fn command(&mut self, command: Command) -> Result<Vec<RunEvent>, IllegalTransition> {
        let events = self.run.decide(command)?;
        for event in &events {
            self.run.apply(event.clone()).unwrap();
            self.journal.push(event.clone());
        }
        Ok(events)
    }

    fn begin(&mut self, step: &str) -> Result<Vec<RunEvent>, IllegalTransition> {
        self.command(Command::Begin {
            step: id(step),
            parameters: Map::new(),
            judgement: Judgement::Allow { warnings: vec![] },
        })
    }

    fn succeed(&mut self, step: &str) -> Result<Vec<RunEvent>, IllegalTransition> {
        self.command(Command::Succeed {
            step: id(step),
            output: json!({"of": step}),
            source: ResultSource::Fresh,
            duration_ms: 1,
        })
    }

    fn fail(&mut self, step: &str) -> Result<Vec<RunEvent>, IllegalTransition> {
        self.command(Command::Fail {
            step: id(step),
            failure: failure(),
        })
    }

    fn next(&self) -> Next {
        self.run.next(&BTreeSet::new())
    }
}

fn failure() -> StepFailure {
    StepFailure {
        kind: ErrorKind::ExecutionError,
        code: "tool_failed".into(),
        message: "it broke".into(),
        retryable: false,
    }
}

fn start(steps: &[&str]) -> Next {
    Next::Start(steps.iter().map(|s| id(s)).collect())
}

/// B003-5: independent steps run at the same time, ready steps start in listed order.
#[test]
fn b003_5_ready_steps_start_together_in_listed_order() {
    let abort = AfterFailure::Abort;
    let mut run = Driven::new(vec![
        step("z", &[], abort),
        step("join", &["z", "a"], abort),
        step("a", &[], abort),
    ]);
    assert_eq!(run.next(), start(&["z", "a"]));
    run.begin("z").unwrap();
    run.begin("a").unwrap();
    assert_eq!(
        run.run.next(&BTreeSet::from([id("z"), id("a")])),
        Next::Wait
    );
    run.succeed("a").unwrap();
    assert!(matches!(
        run.begin("join"),
        Err(IllegalTransition::Step { .. })
    ));
    run.succeed("z").unwrap();
    assert_eq!(run.next(), start(&["join"]));
    run.begin("join").unwrap();
    assert_eq!(
        run.succeed("join").unwrap().last(),
        Some(&RunEvent::Completed)
    );
    assert_eq!(
        (run.next(), run.run.outcome()),
        (Next::Ended, Some(&Outcome::Completed))
    );
}

/// B003-8: an abort cancels what has not started, waits for what has, and fails the run.
#[test]
fn b003_8_abort_skips_what_has_not_started() {
    let abort = AfterFailure::Abort;
    let mut run = Driven::new(vec![
        step("a", &[], abort),
        step("b", &[], abort),
        step("c", &["b"], abort),
    ]);
    run.begin("a").unwrap();
    run.begin("b").unwrap();
    assert_eq!(
        run.fail("a").unwrap(),
        [
            RunEvent::StepFailed {
                step: id("a"),
                failure: failure()
            },
            RunEvent::StepSkipped {
                step: id("c"),
                because: id("a")
            },
        ]
    );
    assert_eq!(
        run.succeed("b").unwrap().last(),
        Some(&RunEvent::Failed {
            step: id("a"),
            failure: failure()
        })
    );
}

/// B003-8: otherwise only the dependants are skipped and the rest completes.
#[test]
fn b003_8_other_steps_go_on_when_only_dependants_are_skipped() {
    let mut run = Driven::new(vec![
        step("a", &[], AfterFailure::SkipDependants),
        step("b", &["a"], AfterFailure::Abort),
        step("c", &[], AfterFailure::Abort),
    ]);
    run.begin("a").unwrap();
    run.fail("a").unwrap();
    assert_eq!(run.next(), start(&["c"]));
    run.begin("c").unwrap();
    assert_eq!(run.succeed("c").unwrap().last(), Some(&RunEvent::Completed));
}

/// What is interrupted is started again under the same key, as another attempt.
#[test]
fn an_interrupted_step_is_started_again_under_the_same_key() {
    let mut run = Driven::new(vec![step("a", &[], AfterFailure::Abort)]);
    let first = run.begin("a").unwrap();
    assert_eq!(run.next(), start(&["a"]));
    let second = run.begin("a").unwrap();
    let (RunEvent::StepBegun(first), RunEvent::StepBegun(second)) = (&first[0], &second[0]) else {
        panic!("not begun: {first:?} {second:?}");
    };
    assert_eq!((first.attempt, second.attempt), (1, 2));
    assert_eq!(first.idempotency_key, second.idempotency_key);
}

#[test]
fn an_illegal_command_changes_nothing() {
    let mut run = Driven::new(vec![step("a", &[], AfterFailure::Abort)]);
    let before = run.run.clone();
    assert!(run.succeed("a").is_err());
    assert!(matches!(
        run.begin("nope"),
        Err(IllegalTransition::UnknownStep(_))
    ));
    assert_eq!(run.run, before);
    run.begin("a").unwrap();
    run.succeed("a").unwrap();
    assert_eq!(run.begin("a"), Err(IllegalTransition::Ended));
    assert_eq!(
        run.command(Command::Cancel {
            reason: "late".into()
        }),
        Err(IllegalTransition::Ended)
    );
}

/// The journal is the plan of record: folding its JSON again gives the same state.
#[test]
fn a_journal_folds_to_the_same_state_again() {
    let mut run = Driven::new(vec![
        step("a", &[], AfterFailure::SkipDependants),
        step("b", &["a"], AfterFailure::Abort),
        step("c", &[], AfterFailure::Abort),
    ]);
    run.begin("a").unwrap();
    run.begin("c").unwrap();
    run.fail("a").unwrap();
    run.succeed("c").unwrap();
    let written: Vec<String> = run
        .journal
        .iter()
        .map(|e| serde_json::to_string(e).unwrap())
        .collect();
    let read = written
        .iter()
        .map(|text| serde_json::from_str(text).unwrap());
    assert_eq!(Run::replay(read).unwrap(), run.run);
}
