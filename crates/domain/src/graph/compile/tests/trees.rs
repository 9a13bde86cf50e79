//! Decision trees: each of their paths.

use super::*;

fn nodes() -> Value {
    json!([
        {"type": "decision", "id": "start", "branches": [
            {"when": "parameters.n > 10", "next": "look"},
            {"when": "parameters.n > 5", "next": "small"}
        ], "otherwise": "none"},
        {"type": "action", "id": "look", "tool": "tool-x-read", "parameters": {},
         "next": "large", "on_failure": "none"},
        {"type": "decision", "id": "large", "branches": [
            {"when": "steps.look.output.n == 3", "next": "small"}
        ], "otherwise": "none"},
        {"type": "outcome", "id": "small", "result": "small", "details": {"n": "${user.n}"}},
        {"type": "outcome", "id": "none", "result": "none"},
        {"type": "action", "id": "lost", "tool": "tool-x-read", "parameters": {}, "next": "none"}
    ])
}

fn taken(n: i64, answer: impl FnMut(&str) -> Result<Value, ErrorKind>) -> (Value, Vec<String>) {
    let tree = tree(nodes());
    let view = view();
    let graph = from_tree(&tree, &CallableTools::new(&view)).unwrap_or_else(|r| panic!("{r:#?}"));
    assert!(call_of(&graph, "look"));
    let ended = drive(graph, json!({"n": n}), answer);
    assert_eq!(ended.outcome(), "completed");
    let outputs = ended.run.outputs();
    let mut outcomes = ["small", "none"]
        .into_iter()
        .filter_map(|id| outputs.get(id));
    let said = outcomes.next().unwrap().clone();
    assert_eq!(outcomes.next(), None, "one outcome");
    (said, ended.turns.concat())
}

/// B003-6, B003-9: each path through a tree, a shared outcome, and the failure of an action.
#[test]
fn b003_6_a_tree_takes_one_way_to_one_outcome() {
    let called = || vec!["look".to_owned()];
    let small = |n: i64| json!({"result": "small", "details": {"n": n}});
    let none = json!({"result": "none", "details": {}});
    assert_eq!(taken(1, succeeds), (none.clone(), vec![]));
    assert_eq!(taken(6, succeeds), (small(6), vec![]));
    assert_eq!(taken(11, succeeds), (small(11), called()));
    assert_eq!(taken(11, |_| Ok(json!({"n": 4}))), (none.clone(), called()));
    assert_eq!(taken(11, fails(&["look"])), (none, called()));
}

/// An unreachable node would have no dependencies and start at once, so it is left out.
#[test]
fn b003_5_a_node_that_nothing_reaches_never_starts() {
    let tree = tree(nodes());
    let view = view();
    let graph = from_tree(&tree, &CallableTools::new(&view)).unwrap();
    assert_eq!(graph.step(&StepId::parse("lost").unwrap()), None);
}

/// B003-8: a failed action without a path for failures fails the tree, and so does a failed expression (B003-9).
#[test]
fn b003_8_a_tree_fails_where_no_way_leads_on() {
    let view = view();
    let run = |nodes: Value, answer: fn(&str) -> Result<Value, ErrorKind>| {
        let graph = from_tree(&tree(nodes), &CallableTools::new(&view)).unwrap();
        let ended = drive(graph, json!({"n": 1}), answer);
        (ended.states(), ended.outcome())
    };
    let action = json!([
        {"type": "action", "id": "start", "tool": "tool-x-read", "next": "end"},
        {"type": "outcome", "id": "end", "result": "done"}
    ]);
    assert_eq!(
        run(action.clone(), |_| Err(ErrorKind::ExecutionError)),
        (
            owned(&[("start", "failed"), ("end", "cancelled")]),
            "failed"
        )
    );
    assert_eq!(
        run(action, succeeds),
        (
            owned(&[("start", "succeeded"), ("end", "succeeded")]),
            "completed"
        )
    );
    let decision = json!([
        {"type": "action", "id": "start", "tool": "tool-x-read", "next": "ask"},
        {"type": "decision", "id": "ask",
         "branches": [{"when": "steps.start.output.of > 3", "next": "end"}], "otherwise": "end"},
        {"type": "outcome", "id": "end", "result": "done"}
    ]);
    assert_eq!(run(decision, succeeds).1, "failed");
    let said = json!([
        {"type": "action", "id": "start", "tool": "tool-x-read", "next": "end"},
        {"type": "outcome", "id": "end", "result": "done", "details": {"x": "${start.absent}"}}
    ]);
    assert_eq!(
        run(said, succeeds),
        (
            owned(&[("start", "succeeded"), ("end", "failed")]),
            "failed"
        )
    );
}

/// B003-5: a node may refer only to nodes that precede it on some path.
#[test]
fn b003_5_a_tree_refers_to_what_comes_before() {
    let view = view();
    let nodes = json!([
        {"type": "decision", "id": "start", "branches": [
            {"when": "steps.late.output.n > 1 || parameters.m", "next": "late"}
        ], "otherwise": "end"},
        {"type": "action", "id": "late", "tool": "tool-x-write", "parameters": {"of": "${gone.x}"},
         "next": "end"},
        {"type": "outcome", "id": "end", "result": "${end.x}", "details": {"a": "${user.m}"}}
    ]);
    let report = from_tree(&tree(nodes), &CallableTools::new(&view)).unwrap_err();
    assert_eq!(
        pointers(&report),
        [
            (
                "/decision_tree/nodes/0/branches/0/when",
                "reference",
                "there is no parameter `m`"
            ),
            (
                "/decision_tree/nodes/0/branches/0/when",
                "reference",
                "no node `late` precedes this one"
            ),
            (
                "/decision_tree/nodes/1/parameters/of",
                "reference",
                "no node `gone` precedes this one"
            ),
            (
                "/decision_tree/nodes/2/details/a",
                "reference",
                "there is no parameter `m`"
            ),
            (
                "/decision_tree/nodes/2/result",
                "reference",
                "no node `end` precedes this one"
            ),
        ]
    );
}

/// B003-9: a branch may call only known functions, and not the current time.
#[test]
fn b003_9_what_a_branch_calls_is_checked() {
    let view = view();
    for when in ["now() > timestamp(0)", "'a'.lowr() == 'a'", "1 +"] {
        let nodes = json!([
            {"type": "decision", "id": "start", "branches": [
                {"when": "parameters.n > 1", "next": "end"}, {"when": when, "next": "end"}
            ], "otherwise": "end"},
            {"type": "outcome", "id": "end", "result": "done"}
        ]);
        let report = from_tree(&tree(nodes), &CallableTools::new(&view)).unwrap_err();
        let found = pointers(&report).into_iter();
        let found: Vec<_> = found
            .map(|(pointer, keyword, _)| (pointer, keyword))
            .collect();
        let expected = ("/decision_tree/nodes/0/branches/1/when", "expression");
        assert_eq!(found, [expected], "{when}");
    }
}

/// B003-9: the work before a run is bounded.
#[test]
fn b003_9_a_tree_with_too_many_branches_is_refused() {
    let branch = json!({"when": "parameters.n > 1", "next": "end"});
    let nodes = json!([
        {"type": "decision", "id": "start", "branches": vec![branch; 1_001], "otherwise": "end"},
        {"type": "outcome", "id": "end", "result": "done"}
    ]);
    let view = view();
    let report = from_tree(&tree(nodes), &CallableTools::new(&view)).unwrap_err();
    assert_eq!(
        pointers(&report),
        [(
            "/decision_tree/nodes",
            "maxItems",
            "at most 1000 branches in all"
        )]
    );
}
