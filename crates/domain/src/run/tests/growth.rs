//! Results that add steps: a mission's plan, a worker that requests tools; and their token usage.

use super::*;
use crate::graph::{AddedEdge, GraphAdditions};

fn adding(steps: Vec<Step>, claims: &[(&str, &str)]) -> GraphAdditions {
    let claims = claims.iter().map(|(step, from)| AddedEdge {
        step: id(step),
        edge: Edge {
            from: id(from),
            on: EdgeCondition::Success,
        },
    });
    GraphAdditions {
        steps,
        claims: claims.collect(),
    }
}

fn reading(name: &str, sources: &[&str]) -> Step {
    read(name, sources, AfterFailure::Abort)
}

fn spending(name: &str, sources: &[&str]) -> Step {
    Step {
        spends: true,
        ..reading(name, sources)
    }
}

impl Driven {
    fn succeed_with(
        &mut self,
        step: &str,
        growth: GraphAdditions,
        tokens: u64,
    ) -> Result<Vec<RunEvent>, IllegalTransition> {
        self.command(Command::Succeed {
            step: id(step),
            output: json!({"of": step}),
            source: ResultSource::Fresh,
            duration_ms: 1,
            brings: Box::new(StepYield {
                tokens: TokenUsage {
                    input: tokens / 2,
                    output: tokens - tokens / 2,
                },
                growth,
                ..StepYield::default()
            }),
        })
    }
}

/// Steps that a plan adds run like any other, and the run ends after them.
#[test]
fn a_result_adds_steps_that_run_after_it() {
    let mut run = Driven::new(vec![reading("plan", &[])]);
    run.begin("plan").unwrap();
    let laid_out = adding(
        vec![
            reading("a", &["plan"]),
            reading("b", &["a"]),
            reading("c", &[]),
        ],
        &[],
    );
    run.succeed_with("plan", laid_out, 0).unwrap();
    assert_eq!((run.outcome(), run.next()), ("none", start(&["a", "c"])));
    for step in ["a", "c", "b"] {
        run.done(step);
    }
    assert_eq!(run.outcome(), "completed");
}

/// A worker that requests tools continues after them, and its dependants wait for that.
#[test]
fn a_result_makes_a_step_wait_longer() {
    let mut run = Driven::new(vec![
        reading("turn1", &[]),
        reading("done", &["turn1"]),
        reading("next", &["done"]),
    ]);
    run.begin("turn1").unwrap();
    let more = adding(
        vec![reading("call", &["turn1"]), reading("turn2", &["call"])],
        &[("done", "turn2")],
    );
    run.succeed_with("turn1", more, 0).unwrap();
    assert_eq!(run.next(), start(&["call"]));
    run.done("call");
    run.done("turn2");
    assert_eq!(
        (run.state("done"), run.next()),
        ("pending", start(&["done"]))
    );
}

/// A result that arrives while the run stops is kept, and none of the steps that it adds begins, nor do their
/// dependants.
#[test]
fn what_a_result_adds_to_a_run_that_stops_is_cancelled() {
    let mut run = Driven::new(vec![
        reading("turn1", &[]),
        reading("done", &["turn1"]),
        reading("next", &["done"]),
    ]);
    run.begin("turn1").unwrap();
    let abort = RunOrder::Abort {
        by: UserId::parse("ann").unwrap(),
        reason: "enough".into(),
        roll_back: false,
    };
    run.command(abort).unwrap();
    let more = adding(
        vec![
            reading("call", &["turn1"]),
            reading("turn2", &["call"]),
            reading("apart", &[]),
        ],
        &[("done", "turn2")],
    );
    run.succeed_with("turn1", more, 0).unwrap();
    let states = ["turn1", "done", "next", "call", "turn2", "apart"].map(|step| run.state(step));
    let (last, others) = states.split_first().unwrap();
    assert_eq!((*last, others), ("succeeded", &["cancelled"; 5][..]));
    assert_eq!(run.outcome(), "aborted");
    let (run, diverges) = StrictReplay::replay(run.journal).unwrap();
    assert_eq!((run.status().as_str(), diverges), ("aborted", None));
}

/// Invalid additions are refused, and the run's state is unchanged.
#[test]
fn a_result_that_does_not_fit_changes_nothing() {
    let started = || {
        let mut run = Driven::new(vec![
            reading("a", &[]),
            reading("ready", &[]),
            reading("waits", &["a"]),
        ]);
        run.begin("a").unwrap();
        run
    };
    let cases = [
        (
            adding(vec![reading("a", &[])], &[]),
            "the result adds invalid steps: the step id `a` is duplicated",
        ),
        (
            adding(vec![reading("n", &["waits"])], &[("waits", "n")]),
            "the result adds invalid steps: the steps form a cycle: n → waits → n",
        ),
        (
            adding(vec![reading("n", &[])], &[("ready", "n")]),
            "the step `ready` is no longer waiting",
        ),
        (
            adding(vec![reading("n", &[])], &[("a", "n")]),
            "the step `a` is no longer waiting",
        ),
        (
            adding(vec![reading("n", &[])], &[("gone", "n")]),
            "the run has no step `gone`",
        ),
    ];
    for (growth, reason) in cases {
        let mut run = started();
        let before = run.run.state_digest();
        let refused = run.succeed_with("a", growth.clone(), 1).unwrap_err();
        assert_eq!(refused.to_string(), reason);
        assert_eq!(run.run.state_digest(), before);
        // Strict replay does not accept it from a journal either.
        let made_up = RunEvent::StepSucceeded {
            step: id("a"),
            output: json!({}),
            source: ResultSource::Fresh,
            duration_ms: 0,
            brings: Box::new(StepYield {
                growth,
                ..StepYield::default()
            }),
        };
        assert_eq!(
            check_event(&run.run, &made_up, at(0)),
            Err(reason.to_owned())
        );
    }
}

/// Journals from before this feature are read as before, and results without additions are written as before.
#[test]
fn a_result_that_brings_nothing_is_written_as_before() {
    let text = r#"{"event":"step_succeeded","step":"a","output":{"n":1},"source":"fresh","duration_ms":3}"#;
    let event: RunEvent = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&event).unwrap(), text);
    let failed = r#"{"event":"step_failed","step":"a","failure":{"kind":"execution_error","code":"tool_failed","message":"m","retryable":false}}"#;
    let event: RunEvent = serde_json::from_str(failed).unwrap();
    assert_eq!(serde_json::to_string(&event).unwrap(), failed);
}

/// The additions of a result are read as they were written.
#[test]
fn what_a_result_brings_is_journaled() {
    let mut run = Driven::new(vec![reading("plan", &[])]);
    run.begin("plan").unwrap();
    run.succeed_with("plan", adding(vec![reading("a", &["plan"])], &[]), 7)
        .unwrap();
    let (event, _) = run.journal.last().unwrap();
    let text = serde_json::to_string(event).unwrap();
    assert_eq!(&serde_json::from_str::<RunEvent>(&text).unwrap(), event);
    assert!(
        text.contains(r#""tokens":{"input":3,"output":4}"#),
        "{text}"
    );
}

fn with_budget(tokens: u64, steps: Vec<Step>) -> Driven {
    Driven::of(GraphParts {
        steps,
        token_budget: tokens,
        ..GraphParts::default()
    })
}

/// B002-17: once the tokens are used up, no step that uses tokens begins; steps that have begun end, and outputs are
/// kept.
#[test]
fn b002_17_a_token_budget_stops_new_steps_and_keeps_results() {
    let steps = ["a", "b"].map(|name| spending(name, &[]));
    let mut run = with_budget(
        10,
        steps.into_iter().chain([spending("c", &["a"])]).collect(),
    );
    run.begin("a").unwrap();
    run.begin("b").unwrap();
    run.succeed_with("a", GraphAdditions::default(), 10)
        .unwrap();
    assert_eq!(
        (run.state("c"), run.state("b"), run.run.status().as_str()),
        ("cancelled", "running", "stopping")
    );
    run.succeed_with("b", GraphAdditions::default(), 3).unwrap();
    assert_eq!(run.outcome(), "budget_exceeded");
    assert_eq!(run.run.tokens().total(), 13);
    let kept: Vec<String> = run.run.outputs().keys().map(ToString::to_string).collect();
    assert_eq!(kept, ["a", "b"]);
}

/// B002-17: the tokens of a failed attempt count.
#[test]
fn b002_17_failures_count_as_well() {
    let mut step = spending("a", &[]);
    step.retry.retries = 3;
    let mut run = with_budget(10, vec![step, spending("b", &[])]);
    for tokens in [6, 4] {
        run.begin("a").unwrap();
        run.command(Command::Fail {
            step: id("a"),
            failure: failure(ErrorKind::ExecutionError),
            at: at(run.clock),
            tokens: TokenUsage {
                input: tokens,
                output: 0,
            },
        })
        .unwrap();
    }
    assert_eq!(run.outcome(), "budget_exceeded");
}

/// B002-17: the budget stops nothing if it lasts, if the last step reaches it, or if no remaining step uses tokens.
#[test]
fn b002_17_a_budget_stops_only_what_would_use_it() {
    for (budget, last) in [
        (0, spending("b", &["a"])),
        (11, spending("b", &["a"])),
        (10, reading("b", &["a"])),
    ] {
        let mut run = with_budget(budget, vec![spending("a", &[]), last]);
        run.begin("a").unwrap();
        run.succeed_with("a", GraphAdditions::default(), 10)
            .unwrap();
        run.begin("b").unwrap();
        run.succeed_with("b", GraphAdditions::default(), 10)
            .unwrap();
        assert_eq!(run.outcome(), "completed", "{budget}");
    }
}

/// A journal with a false claim that the tokens were used up is detected.
#[test]
fn b002_14_an_invented_end_of_the_budget_is_found() {
    let stopping = RunEvent::Stopping {
        cause: StopCause::TokenBudgetExhausted,
        roll_back: false,
    };
    let run = with_budget(10, vec![spending("a", &[])]);
    assert_eq!(
        check_event(&run.run, &stopping, at(0)),
        Err("it is not the next automatic transition".to_owned())
    );
}
