use charter_contract::bounds::{RUN_EDGES, RUN_STEPS};
use charter_contract::ids::ToolId;
use proptest::prelude::*;
use serde_json::Map;

use super::*;
use crate::graph::{AfterFailure, Arguments, EdgeCondition, GraphParts, StepAction};

fn id(text: &str) -> StepId {
    StepId::parse(text).unwrap()
}

fn on(from: &str) -> Edge {
    Edge {
        from: id(from),
        on: EdgeCondition::Success,
    }
}

fn step(name: &str, sources: &[&str]) -> Step {
    let action = StepAction::Call {
        tool: ToolId::parse("t.x").unwrap(),
        arguments: Arguments::exact(Map::new()),
        script: None,
        writes: false,
    };
    let mut step = Step::new(id(name), action, AfterFailure::Abort);
    step.entry.edges = sources.iter().map(|from| on(from)).collect();
    step
}

fn graph(steps: Vec<Step>) -> StepGraph {
    StepGraph::new(GraphParts {
        steps,
        ..GraphParts::default()
    })
    .unwrap()
}

fn late(step: &str, from: &str) -> AddedEdge {
    AddedEdge {
        step: id(step),
        edge: on(from),
    }
}

fn reversal(name: &str, reverses: &str) -> Step {
    let mut step = step(name, &[]);
    step.reverses = Some(id(reverses));
    step
}

/// B003-5 holds for what is added as well: ids stay unique, what is named is there, nothing waits for
/// itself. What does not fit changes nothing.
#[test]
fn b003_5_what_does_not_fit_is_not_added() {
    let grown = |steps, claims| GraphAdditions { steps, claims };
    let mut unread = step("n", &[]);
    unread.entry.when = Some("1 +".into());
    let cases = [
        (
            grown(vec![step("a", &[])], vec![]),
            "the step id `a` stands twice",
        ),
        (
            grown(vec![step("n", &[]), step("n", &[])], vec![]),
            "the step id `n` stands twice",
        ),
        (
            grown(vec![step("n", &["gone"])], vec![]),
            "the step `n` depends on `gone`, which does not exist",
        ),
        (
            grown(vec![step("n", &["m"]), step("m", &["n"])], vec![]),
            "the steps wait for each other: n → m → n",
        ),
        (
            grown(vec![step("n", &["b"])], vec![late("b", "n")]),
            "the steps wait for each other: n → b → n",
        ),
        (
            grown(vec![step("n", &["c"])], vec![late("b", "n")]),
            "the steps wait for each other: n → b → c → n",
        ),
        (
            grown(vec![step("n", &[])], vec![late("gone", "n")]),
            "the step `gone` depends on `n`, which does not exist",
        ),
        (
            grown(vec![step("n", &[])], vec![late("c", "a")]),
            "the step `c` depends on `a`, which does not exist",
        ),
        (
            grown(vec![reversal("n", "a")], vec![]),
            "`n` cannot reverse: a reversal waits for nothing, and a step has one at most",
        ),
        (
            grown(vec![step("n", &[])], vec![late("undo", "n")]),
            "`undo` cannot reverse: a reversal waits for nothing, and a step has one at most",
        ),
    ];
    let before = graph(vec![
        step("a", &[]),
        step("b", &["a"]),
        step("c", &["b"]),
        reversal("undo", "a"),
    ]);
    for (growth, reason) in cases {
        let mut after = before.clone();
        let refused = after.grow(&growth).unwrap_err();
        assert_eq!((refused.to_string().as_str(), &after), (reason, &before));
    }
    let refused = before.admits(&grown(vec![unread], vec![])).unwrap_err();
    assert!(
        matches!(refused, GraphError::Expression { .. }),
        "{refused}"
    );
}

/// Replaying a journal never applies the limit: the steps were admitted when they were written.
#[test]
fn a_run_gets_no_larger_than_its_limit_and_an_older_one_is_read() {
    let before = graph(vec![step("a", &[])]);
    let of = |count: usize| GraphAdditions {
        steps: (0..count).map(|at| step(&format!("n{at}"), &[])).collect(),
        claims: vec![],
    };
    assert_eq!(before.admits(&of(RUN_STEPS - 1)), Ok(()));
    let too_much = of(RUN_STEPS);
    assert_eq!(
        before.admits(&too_much).unwrap_err().to_string(),
        "the plan has more than 10000 steps (RUN_STEPS): make two plans of it"
    );
    let mut grown = before;
    assert_eq!(grown.grow(&too_much), Ok(1));
}

/// Dependencies of new steps and late claims count together.
#[test]
fn a_run_gets_no_more_dependencies_than_its_limit() {
    let before = graph(vec![step("a", &[]), step("b", &[])]);
    let of = |edges: usize, claims: usize| GraphAdditions {
        steps: vec![step("n", &vec!["a"; edges])],
        claims: (0..claims).map(|_| late("b", "a")).collect(),
    };
    for within in [of(RUN_EDGES, 0), of(RUN_EDGES - 1, 1)] {
        let admitted = before.admits(&within);
        assert!(!matches!(admitted, Err(GraphError::TooLarge { .. })));
    }
    for beyond in [of(RUN_EDGES + 1, 0), of(RUN_EDGES, 1)] {
        assert_eq!(
            before.admits(&beyond).unwrap_err().to_string(),
            "the plan has more than 50000 dependencies between its steps (RUN_EDGES): make two plans of it"
        );
    }
}

proptest! {
    /// A graph that grew is the graph that it would have been from the start.
    #[test]
    fn growing_makes_the_same_graph(edges in prop::collection::vec(any::<bool>(), 45), first in 1_usize..9) {
        let name = |at: usize| format!("s{at}");
        let mut bits = edges.into_iter();
        let steps: Vec<Step> = (0..10)
            .map(|at| {
                let sources: Vec<String> = (0..at).filter(|_| bits.next() == Some(true)).map(name).collect();
                let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
                step(&name(at), &sources)
            })
            .collect();
        let whole = graph(steps.clone());
        let mut grown = graph(steps[..first].to_vec());
        for step in &steps[first..] {
            grown.grow(&GraphAdditions { steps: vec![step.clone()], claims: vec![] }).unwrap();
        }
        prop_assert_eq!(&grown, &whole);
        for at in 0..10 {
            prop_assert_eq!(grown.followers(at), whole.followers(at));
        }
    }
}
