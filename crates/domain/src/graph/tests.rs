use super::*;

fn id(text: &str) -> StepId {
    StepId::parse(text).unwrap()
}

fn step(name: &str, depends_on: &[&str]) -> Step {
    Step {
        id: id(name),
        tool: ToolId::parse("t.x").unwrap(),
        parameters: Map::new(),
        depends_on: depends_on.iter().map(|d| id(d)).collect(),
        after_failure: AfterFailure::Abort,
        timeout_ms: 0,
        cache_ttl_seconds: 0,
    }
}

/// B003-5: unique ids, known and acyclic dependencies, checked before the first step.
#[test]
fn b003_5_unsound_steps_make_no_graph() {
    let cases = [
        (vec![], "there is no step"),
        (
            vec![step("a", &[]), step("a", &[])],
            "the step id `a` stands twice",
        ),
        (
            vec![step("a", &["b"])],
            "the step `a` depends on `b`, which does not exist",
        ),
        (
            vec![step("a", &["b"]), step("b", &["c"]), step("c", &["b"])],
            "the steps wait for each other: b → c → b",
        ),
        (
            vec![step("a", &["a"])],
            "the steps wait for each other: a → a",
        ),
    ];
    for (steps, message) in cases {
        assert_eq!(StepGraph::new(steps).unwrap_err().to_string(), message);
    }
}

#[test]
fn dependants_are_found_at_any_distance() {
    let graph = StepGraph::new(vec![
        step("a", &[]),
        step("b", &["a"]),
        step("c", &["b"]),
        step("d", &[]),
    ])
    .unwrap();
    assert_eq!(
        graph.dependants(&id("a")),
        BTreeSet::from([id("b"), id("c")])
    );
    assert_eq!(graph.dependants(&id("d")), BTreeSet::new());
}
