use charter_contract::mission::Artifact;
use serde_json::json;

use super::*;

fn plan(tasks: &Value) -> MissionTaskGraph {
    let graph = json!({
        "schema_name": "mission_task_graph", "schema_version": "v1", "mission_id": "m1",
        "tasks": tasks, "created_at": "2026-04-14T12:00:02Z", "producer": "planner_agent",
    });
    match Artifact::from_value(&graph).unwrap() {
        Artifact::MissionTaskGraph(graph) => graph,
        other => panic!("{other:?}"),
    }
}

fn task(id: &str, role: &str, depends_on: &[&str], tools: &[&str]) -> Value {
    json!({
        "task_id": id, "role_type": role, "objective": "Look.",
        "depends_on": depends_on, "allowed_tools": tools,
    })
}

fn envelope(budgets: &Value) -> MissionEnvelope {
    let mut envelope = json!({
        "schema_name": "mission_envelope", "schema_version": "v1", "mission_id": "m1",
        "mission_type": "brief", "origin_surface": "cli", "tenant_id": "t", "actor_id": "a",
        "user_goal": "Look.", "normalized_goal": "Look.", "risk_level": "low",
        "sensitivity_class": "internal", "created_at": "2026-04-14T12:00:00Z", "producer": "root",
    });
    for (name, value) in budgets.as_object().unwrap() {
        envelope[name] = value.clone();
    }
    match Artifact::from_value(&envelope).unwrap() {
        Artifact::MissionEnvelope(envelope) => envelope,
        other => panic!("{other:?}"),
    }
}

fn grown(plan: &MissionTaskGraph) -> StepGraph {
    let mut graph = opening(&envelope(&json!({}))).unwrap();
    graph.grow(&after_plan(plan).unwrap()).unwrap();
    graph
}

/// Every step with what it waits for, as `id <- sources`.
fn waits(graph: &StepGraph) -> Vec<String> {
    let steps = graph.steps().iter();
    steps
        .map(|step| {
            let on = |on| match on {
                EdgeCondition::Success => "",
                EdgeCondition::Settled => "~",
                EdgeCondition::Failure => "!",
                EdgeCondition::Chosen => "?",
            };
            let edges = step.entry.edges.iter();
            let from: Vec<String> = edges
                .map(|edge| format!("{}{}", on(edge.on), edge.from))
                .collect();
            format!("{} <- {}", step.id, from.join(" "))
        })
        .collect()
}

/// B002-9: a worker starts only with its dependencies succeeded, a package and a pass; B002-12: no task
/// before every package is there; the aggregation waits for every task, however it ended.
#[test]
fn b002_9_what_waits_for_what() {
    let plan = plan(&json!([
        task("prepare", "prompt_master", &[], &[]),
        task("look", "researcher", &["prepare"], &[]),
        task("weigh", "worker", &["look"], &["crm.search"]),
        task("report", "worker", &["weigh", "look"], &[]),
        task("gather", "aggregator", &["report"], &[]),
        task("check", "reviewer", &["gather"], &[]),
    ]));
    assert_eq!(
        waits(&grown(&plan)),
        [
            "plan <- ",
            "prompt.look <- ",
            "prompt.weigh <- ",
            "prompt.report <- ",
            "prompt.gather <- ",
            "prompt.check <- ",
            "prompted <- prompt.look prompt.weigh prompt.report prompt.gather prompt.check",
            "work.look.1 <- prompted",
            "pass.weigh <- prompted work.look.1",
            "work.weigh.1 <- pass.weigh",
            "done.weigh <- work.weigh.1",
            "pass.report <- prompted done.weigh work.look.1",
            "work.report.1 <- pass.report",
            "aggregate <- ~work.look.1 ~work.report.1 ~done.weigh",
            "review <- aggregate",
        ]
    );
}

/// A turn that asks for tools goes on after them, also where they fail, and its task is done when the
/// last turn is. The calls are made for the task.
#[test]
fn a_turn_goes_on_after_its_tools() {
    let plan = plan(&json!([task("weigh", "worker", &[], &["crm.search"])]));
    let mut graph = grown(&plan);
    let wanted = RequestedCall {
        tool: ToolId::parse("crm.search").unwrap(),
        parameters: Map::new(),
    };
    let growth = after_turn(&plan.tasks[0], 1, &[wanted.clone(), wanted]).unwrap();
    let before = waits(&graph).len();
    graph.grow(&growth).unwrap();
    let after = waits(&graph);
    assert_eq!(
        after[before..],
        [
            "call.weigh.1.1 <- work.weigh.1",
            "call.weigh.1.2 <- work.weigh.1",
            "work.weigh.2 <- work.weigh.1 ~call.weigh.1.1 ~call.weigh.1.2",
        ]
    );
    assert!(after.contains(&"done.weigh <- work.weigh.1 work.weigh.2".to_owned()));
    let call = graph
        .step(&StepId::parse("call.weigh.1.2").unwrap())
        .unwrap();
    assert_eq!(call.mandate.as_ref().map(TaskId::as_str), Some("weigh"));
    assert_eq!(
        after_turn(&plan.tasks[0], 1, &[]).unwrap(),
        GraphAdditions::default()
    );
}

/// Arguments that a model chooses are exact: `${…}` in them is plain text.
#[test]
fn a_call_of_a_model_has_exact_arguments() {
    let plan = plan(&json!([task("weigh", "worker", &[], &["crm.search"])]));
    let mut graph = grown(&plan);
    let text = json!("${LOG_DIR:-/tmp}/${work.weigh.1} costs $$5");
    let parameters = Map::from_iter([("path".to_owned(), text)]);
    let wanted = RequestedCall {
        tool: ToolId::parse("crm.search").unwrap(),
        parameters: parameters.clone(),
    };
    let growth = after_turn(&plan.tasks[0], 1, &[wanted]).unwrap();
    graph.grow(&growth).unwrap();
    let journal = serde_json::to_value(&graph).unwrap();
    for graph in [graph, serde_json::from_value(journal).unwrap()] {
        let call = graph.step(&StepId::parse("call.weigh.1.1").unwrap());
        let StepAction::Call { arguments, .. } = &call.unwrap().action else {
            panic!("{call:?}");
        };
        assert_eq!(arguments, &Arguments::Exact(parameters.clone()));
    }
}

/// B002-13: a proposal is carried out once its target was looked at, by a person's word where it asks
/// for that, and only if the target is still the same.
#[test]
fn b002_13_a_change_follows_a_look_at_its_target() {
    let plan = plan(&json!([task("weigh", "worker", &[], &[])]));
    let mut graph = grown(&plan);
    let tool = |id| ToolId::parse(id).unwrap();
    let proposed = |id, target, approved_by_person| ProposedWriteBack {
        proposal: ProposalId::parse(id).unwrap(),
        tool: tool("crm.update"),
        parameters: Map::new(),
        target,
        approved_by_person,
    };
    let look = RequestedCall {
        tool: tool("crm.get"),
        parameters: Map::new(),
    };
    let growth = after_review(&[
        proposed("wb1", Some(look), true),
        proposed("wb2", None, false),
    ]);
    graph.grow(&growth.unwrap()).unwrap();
    let after = waits(&graph);
    let added = &after[after.len() - 3..];
    assert_eq!(
        added,
        [
            "target.wb1 <- review",
            "writeback.wb1 <- target.wb1",
            "writeback.wb2 <- review"
        ]
    );
    let changes: Vec<_> = graph.steps().iter().filter(|step| step.writes()).collect();
    let seen = |step: &&Step| {
        (
            step.reviewed,
            step.unless_changed.as_ref().map(ToString::to_string),
        )
    };
    assert_eq!(
        changes.iter().map(seen).collect::<Vec<_>>(),
        [(true, Some("target.wb1".to_owned())), (false, None)]
    );
}

/// B002-17: the envelope's budgets are the run's.
#[test]
fn b002_17_the_budgets_of_the_envelope_bound_the_run() {
    let with = opening(&envelope(
        &json!({"time_budget_ms": 45_000, "token_budget": 180_000}),
    ))
    .unwrap();
    let without = opening(&envelope(&json!({}))).unwrap();
    assert_eq!((with.timeout_ms(), with.token_budget()), (45_000, 180_000));
    assert_eq!((without.timeout_ms(), without.token_budget()), (0, 0));
}

/// Only stages that ask models use the budget.
#[test]
fn b002_17_only_stages_that_ask_models_spend() {
    let graph = grown(&plan(&json!([task("weigh", "worker", &[], &["t.x"])])));
    let spending: Vec<&str> = graph
        .steps()
        .iter()
        .filter(|step| step.spends)
        .map(|step| step.id.as_str())
        .collect();
    assert_eq!(spending, ["plan", "work.weigh.1", "aggregate", "review"]);
}

/// A task id that makes no step's id is refused in words.
#[test]
fn a_task_id_may_be_too_long() {
    let long = "t".repeat(199);
    let plan = plan(&json!([task(&long, "worker", &[], &[])]));
    let refused = after_plan(&plan).unwrap_err().to_string();
    assert_eq!(
        refused,
        format!("`work.{long}.1` cannot be the id of a step: it is too long")
    );
}
