use charter_contract::ids::ToolId;
use serde_json::Map;

use super::*;

fn id(text: &str) -> StepId {
    StepId::parse(text).unwrap()
}

fn step(name: &str, sources: &[&str]) -> Step {
    let edge = |from: &&str| Edge {
        from: id(from),
        on: EdgeCondition::Success,
    };
    Step {
        id: id(name),
        action: StepAction::Call {
            tool: ToolId::parse("t.x").unwrap(),
            arguments: Arguments::exact(Map::new()),
            script: None,
            writes: false,
        },
        entry: Entry {
            edges: sources.iter().map(edge).collect(),
            ..Entry::default()
        },
        after_failure: AfterFailure::Abort,
        reviewed: false,
        retry: Retry::default(),
        timeout_ms: 0,
        cache_ttl_seconds: 0,
        spends: false,
        mandate: None,
        unless_changed: None,
        reverses: None,
        item: None,
    }
}

fn reversal(name: &str, reverses: &str, sources: &[&str]) -> Step {
    Step {
        reverses: Some(id(reverses)),
        ..step(name, sources)
    }
}

/// B003-5: unique ids, known and acyclic dependencies, checked before the first step.
#[test]
fn b003_5_unsound_steps_make_no_graph() {
    let mut unread = step("a", &[]);
    unread.entry.when = Some("1 +".to_owned());
    let cases = [
        (vec![], "the plan has no step"),
        (
            vec![step("a", &[]), step("a", &[])],
            "the step id `a` is duplicated",
        ),
        (
            vec![step("a", &["b"])],
            "the step `a` depends on `b`, which does not exist",
        ),
        (
            vec![step("a", &["b"]), step("b", &["c"]), step("c", &["b"])],
            "the steps form a cycle: b → c → b",
        ),
        (vec![step("a", &["a"])], "the steps form a cycle: a → a"),
        (
            vec![step("a", &[]), reversal("u", "a", &["a"])],
            "`u` is not a valid reversal: it must have no dependencies and be the only reversal of its step",
        ),
        (
            vec![
                step("a", &[]),
                reversal("u", "a", &[]),
                reversal("v", "a", &[]),
            ],
            "`v` is not a valid reversal: it must have no dependencies and be the only reversal of its step",
        ),
    ];
    for (steps, message) in cases {
        let parts = GraphParts {
            steps,
            ..GraphParts::default()
        };
        assert_eq!(StepGraph::new(parts).unwrap_err().to_string(), message);
    }
    let parts = GraphParts {
        steps: vec![unread],
        ..GraphParts::default()
    };
    assert!(matches!(
        StepGraph::new(parts),
        Err(GraphError::Expression { .. })
    ));
}

/// A run whose plan calls a function that was removed can still be read and aborted.
#[test]
fn a_journal_with_an_unknown_function_can_be_read() {
    let mut asks = step("b", &["a"]);
    asks.entry.when = Some("weighs(steps.a.output) > 1".to_owned());
    let parts = GraphParts {
        steps: vec![step("a", &[]), asks],
        ..GraphParts::default()
    };
    let journal = serde_json::to_value(&parts).unwrap();
    let refused = StepGraph::new(parts).unwrap_err().to_string();
    assert!(
        refused.contains("there is no function `weighs`"),
        "{refused}"
    );
    let graph: StepGraph = serde_json::from_value(journal).unwrap();
    assert_eq!(graph.steps().len(), 2);
}
