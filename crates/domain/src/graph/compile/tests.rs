//! Compiles plans of callers, runs them on the machine, and tests each of their features.

#![allow(
    clippy::needless_pass_by_value,
    reason = "literal documents read better by value"
)]

mod driven;
mod properties;
mod refused;
mod repeated;
mod scripts;
mod trees;

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::agentic::decision_tree::DecisionTree;
use charter_contract::agentic::pipeline_definition::PipelineDefinition;
use charter_contract::catalogue::Document;
use charter_contract::ids::PackageName;
use charter_contract::plan::ExecutionPlan;
use charter_contract::scope::Scope;
use charter_contract::validate::{Contract, read_value};
use charter_contract::violation::Report;
use serde_json::{Value, json};

use super::*;
use crate::catalogue::{Origin, View};
use crate::graph::{PlanSource, StepAction, StepGraph};
use crate::run::ErrorKind;
use driven::{Ended, drive};

const PLAN: &str = "plan-01930000-0000-7000-8000-000000000001";
const OTHER_PLAN: &str = "plan-01930000-0000-7000-8000-000000000002";
const THIRD_PLAN: &str = "plan-01930000-0000-7000-8000-000000000003";

fn tool(id: &str, class: &str, more: Value) -> (Document, String) {
    let mut tool = json!({
        "tool_id": id, "name": "t", "provider": "p", "tool_class": class, "domain": "reliability",
        "description": "d", "language": "http",
        "parameters": [
            {"name": "n", "type": "integer", "enum": [1, 2, 3]},
            {"name": "of", "type": "string"}
        ]
    });
    let fields = more.as_object().unwrap().clone();
    tool.as_object_mut().unwrap().extend(fields);
    let document = Document::Tool(serde_json::from_value(tool).unwrap());
    (document, format!("sha256:{id}"))
}

/// A view with a tool of each class.
pub(super) fn view() -> View {
    let origin = Arc::new(Origin {
        scope: Scope::Global,
        package: PackageName::parse("p").unwrap(),
        version: "1".into(),
    });
    let required = json!({"parameters": [{"name": "n", "type": "integer", "required": true}]});
    View::default().with_package(
        &origin,
        [
            tool("x.read", "readonly", json!({})),
            tool("x.needs", "readonly", required),
            tool("x.write", "write", json!({})),
            tool("x.put", "write", json!({"idempotent": true})),
            tool("x.own", "internal", json!({})),
            tool(
                "charter.mission.webhook",
                "write",
                json!({"implementation": {"type": "stage", "stage": "webhook"}}),
            ),
            tool("x.off", "readonly", json!({"status": "inactive"})),
            tool("y.a-b", "readonly", json!({})),
            tool("y.a.b", "readonly", json!({})),
        ],
    )
}

fn document<T: Contract>(value: &Value) -> T {
    read_value(value)
        .unwrap_or_else(|violations| panic!("{violations:#?}"))
        .0
}

/// A plan of steps with `more` at its root.
fn plan(id: &str, steps: Value, more: Value) -> ExecutionPlan {
    let mut plan = json!({
        "id": id, "request_id": "req-01930000-0000-7000-8000-000000000001", "steps": steps,
    });
    let fields = more.as_object().unwrap().clone();
    plan.as_object_mut().unwrap().extend(fields);
    document(&plan)
}

/// A step that reads, with `more`.
fn reads(number: u8, more: Value) -> Value {
    let mut step = json!({"id": format!("step-{number:03}"), "tool": "x.read", "parameters": {}});
    let fields = more.as_object().unwrap().clone();
    step.as_object_mut().unwrap().extend(fields);
    step
}

fn compiled(plan: &ExecutionPlan, fallbacks: &[ExecutionPlan]) -> Result<StepGraph, Report> {
    let given = json!({"wanted": 3, "declined": null});
    let given = given.as_object().unwrap().clone();
    from_plan(plan, fallbacks, &given, &CallableTools::new(&view()))
}

fn pointers(report: &Report) -> Vec<(&str, &str, &str)> {
    let violations = report.violations.iter();
    violations
        .map(|v| (v.pointer.as_str(), v.keyword.as_str(), v.message.as_str()))
        .collect()
}

fn succeeds(step: &str) -> Result<Value, ErrorKind> {
    Ok(json!({"of": step, "n": 3}))
}

fn fails(wanted: &'static [&'static str]) -> impl FnMut(&str) -> Result<Value, ErrorKind> {
    move |step| {
        if wanted.contains(&step) {
            Err(ErrorKind::ExecutionError)
        } else {
            succeeds(step)
        }
    }
}

fn run_plan(
    steps: Value,
    more: Value,
    answer: impl FnMut(&str) -> Result<Value, ErrorKind>,
) -> Ended {
    let graph = compiled(&plan(PLAN, steps, more), &[]).unwrap_or_else(|r| panic!("{r:#?}"));
    drive(graph, json!({"wanted": 3}), answer)
}

fn owned(states: &[(&str, &'static str)]) -> BTreeMap<String, &'static str> {
    states
        .iter()
        .map(|(id, state)| ((*id).to_owned(), *state))
        .collect()
}

/// B003-5: independent steps start together, in listed order; a reference is a dependency.
#[test]
fn b003_5_independent_steps_run_together_and_references_are_waited_for() {
    let steps = json!([
        reads(3, json!({"parameters": {"of": "${step-001.of}"}})),
        reads(1, json!({})),
        reads(2, json!({})),
        reads(4, json!({"dependencies": ["step-003", "step-002"]})),
    ]);
    let ended = run_plan(steps, json!({}), succeeds);
    let turns: Vec<Vec<&str>> = ended
        .turns
        .iter()
        .map(|turn| turn.iter().map(String::as_str).collect())
        .collect();
    assert_eq!(
        turns,
        [
            vec!["step-001", "step-002"],
            vec!["step-003"],
            vec!["step-004"]
        ]
    );
    assert_eq!(ended.outcome(), "completed");
}

/// B003-5: a tool is referenced by its own id or by the id that the agent contracts derive from it.
#[test]
fn b003_5_tools_go_by_either_name_and_say_whether_a_step_writes() {
    let named = |tool: &str| {
        let steps = json!([reads(1, json!({"tool": tool}))]);
        let graph = compiled(&plan(PLAN, steps, json!({})), &[]).unwrap();
        let step = &graph.steps()[0];
        (step.tool().unwrap().to_string(), step.writes())
    };
    assert_eq!(named("x.read"), ("x.read".to_owned(), false));
    assert_eq!(named("tool-x-read"), ("x.read".to_owned(), false));
    assert_eq!(named("x.write"), ("x.write".to_owned(), true));
    assert_eq!(named("y.a-b"), ("y.a-b".to_owned(), false));
}

/// B003-6: each type of condition; a step whose condition does not hold is skipped.
#[test]
fn b003_6_conditions_decide_whether_a_step_runs() {
    let on = |number: u8, kind: &str, more: Value| {
        let mut condition = json!({"type": kind});
        let fields = more.as_object().unwrap().clone();
        condition.as_object_mut().unwrap().extend(fields);
        reads(
            number,
            json!({"dependencies": ["step-001"], "condition": condition}),
        )
    };
    let steps = || {
        let target = json!({"step_id": "step-001"});
        let holds = r#"steps["step-001"].output.n == parameters.wanted"#;
        let not = r#"steps["step-001"].output.n > 3"#;
        json!([
            reads(1, json!({})),
            on(2, "step_success", target.clone()),
            on(3, "step_failure", target),
            on(4, "expression", json!({"expression": holds})),
            on(5, "expression", json!({"expression": not})),
        ])
    };
    let go_on = || json!({"error_handling": {"on_step_failure": "continue_plan"}});
    let states =
        |failing: &'static [&'static str]| run_plan(steps(), go_on(), fails(failing)).states();
    assert_eq!(
        states(&[]),
        owned(&[
            ("step-001", "succeeded"),
            ("step-002", "succeeded"),
            ("step-003", "skipped"),
            ("step-004", "succeeded"),
            ("step-005", "skipped"),
        ])
    );
    assert_eq!(
        states(&["step-001"]),
        owned(&[
            ("step-001", "failed"),
            ("step-002", "skipped"),
            ("step-003", "succeeded"),
            ("step-004", "skipped"),
            ("step-005", "skipped"),
        ])
    );
}

/// B003-6: a `step_failure` step runs after its failed target even under `abort_plan`.
#[test]
fn b003_6_a_failure_step_runs_though_the_plan_is_aborted() {
    let condition = json!({"type": "step_failure", "step_id": "step-001"});
    let steps = json!([
        reads(1, json!({})),
        reads(2, json!({"dependencies": ["step-001"]})),
        reads(
            3,
            json!({"dependencies": ["step-001"], "condition": condition})
        ),
    ]);
    let ended = run_plan(steps, json!({}), fails(&["step-001"]));
    assert_eq!(
        (ended.states(), ended.outcome()),
        (
            owned(&[
                ("step-001", "failed"),
                ("step-002", "cancelled"),
                ("step-003", "succeeded"),
            ]),
            "failed"
        )
    );
}

/// B003-6: an expression waits for the end of every step that it names, and for nothing else.
#[test]
fn b003_6_an_expression_waits_for_the_steps_that_it_names() {
    let expression = r#"steps["step-002"].state == "failed""#;
    let steps = json!([
        reads(
            1,
            json!({"condition": {"type": "expression", "expression": expression}})
        ),
        reads(2, json!({})),
    ]);
    let go_on = json!({"error_handling": {"on_step_failure": "continue_plan"}});
    let ended = run_plan(steps, go_on, fails(&["step-002"]));
    assert_eq!(ended.turns, [["step-002"], ["step-001"]]);
}

/// B003-7: one attempt, then up to `max_attempts` retries with the delay; a time limit of each
/// attempt, 0 for none.
#[test]
fn b003_7_retries_and_time_limits_are_the_steps_own() {
    let retry = json!({"retry": {"max_attempts": 2, "delay_ms": 5000}, "timeout_ms": 7000});
    let steps = json!([reads(1, retry), reads(2, json!({"timeout_ms": 0}))]);
    let graph = compiled(&plan(PLAN, steps, json!({})), &[]).unwrap();
    let limits: Vec<(u32, u64, u64)> = graph
        .steps()
        .iter()
        .map(|step| (step.retry.retries, step.retry.delay_ms, step.timeout_ms))
        .collect();
    assert_eq!(limits, [(2, 5_000, 7_000), (0, 0, 0)]);
    let mut attempts = 0;
    let ended = drive(graph.clone(), json!({}), |step| {
        attempts += u32::from(step == "step-001");
        if attempts < 3 {
            Err(ErrorKind::TimeoutError)
        } else {
            succeeds(step)
        }
    });
    // The other step fails with the result of its first attempt, and so does the plan.
    assert_eq!(ended.outcome(), "failed");
    let mut attempts = 0;
    let ended = drive(graph, json!({}), |step| {
        attempts += u32::from(step == "step-001");
        match step {
            "step-001" if attempts < 3 => Err(ErrorKind::TimeoutError),
            _ => succeeds(step),
        }
    });
    assert_eq!((attempts, ended.outcome()), (3, "completed"));
}

/// B003-8: `abort_plan` cancels what has not started; `continue_plan` skips dependants only.
#[test]
fn b003_8_a_failure_aborts_or_skips_what_depends_on_it() {
    let steps = || {
        json!([
            reads(1, json!({})),
            reads(2, json!({"dependencies": ["step-001"]})),
            reads(3, json!({})),
            reads(4, json!({"dependencies": ["step-003"]})),
        ])
    };
    let after = |on: &str| {
        let handling = json!({"error_handling": {"on_step_failure": on}});
        let ended = run_plan(steps(), handling, fails(&["step-001"]));
        let states: Vec<&str> = ended.states().into_values().collect();
        (states, ended.outcome())
    };
    assert_eq!(
        after("abort_plan"),
        (
            vec!["failed", "cancelled", "succeeded", "cancelled"],
            "failed"
        )
    );
    assert_eq!(
        after("continue_plan"),
        (
            vec!["failed", "skipped", "succeeded", "succeeded"],
            "completed"
        )
    );
}

/// B003-8: the fallback replaces the plan once, and may have a fallback of its own.
#[test]
fn b003_8_fallbacks_take_over_one_after_the_other() {
    let to = |id: &str| json!({"error_handling": {"on_step_failure": "execute_fallback", "fallback_plan_id": id}});
    let first = plan(PLAN, json!([reads(1, json!({}))]), to(OTHER_PLAN));
    let second = plan(OTHER_PLAN, json!([reads(2, json!({}))]), to(THIRD_PLAN));
    let third = plan(THIRD_PLAN, json!([reads(3, json!({}))]), json!({}));
    let graph = compiled(&first, &[third, second]).unwrap_or_else(|r| panic!("{r:#?}"));
    assert_eq!(graph.source(), graph.fallback().unwrap().source());
    assert!(matches!(graph.source(), Some(PlanSource::ExecutionPlan(id)) if id.as_str() == PLAN));
    let ended = drive(graph.clone(), json!({}), fails(&["step-001", "step-002"]));
    assert_eq!(
        (ended.turns, ended.run.outcome().unwrap().status().as_str()),
        (
            vec![
                vec!["step-001".to_owned()],
                vec!["step-002".to_owned()],
                vec!["step-003".to_owned()]
            ],
            "completed"
        )
    );
    let ended = drive(
        graph,
        json!({}),
        fails(&["step-001", "step-002", "step-003"]),
    );
    assert_eq!(ended.outcome(), "failed");
}

/// B003-9: an expression that fails on another step's output fails its own step.
#[test]
fn b003_9_a_type_error_fails_the_step() {
    let expression = r#"steps["step-001"].output.of > 3"#;
    let steps = json!([
        reads(1, json!({})),
        reads(
            2,
            json!({"condition": {"type": "expression", "expression": expression}})
        ),
    ]);
    let ended = run_plan(steps, json!({}), succeeds);
    assert_eq!(
        (ended.states()["step-002"], ended.outcome()),
        ("failed", "failed")
    );
}

/// For the machine, a pipeline is equivalent to an execution plan.
#[test]
fn b003_5_a_pipeline_compiles_to_the_same_steps_as_a_plan() {
    let pipeline: PipelineDefinition = document(&json!({
        "id": "pipe-01930000-0000-7000-8000-000000000001", "name": "p",
        "inputs": [{"name": "n", "type": "integer", "required": true}],
        "stages": [
            {"id": "fetch", "tool": "tool-x-read", "parameters": {"n": "${user.n}"},
             "retry": {"max_attempts": 2, "delay_ms": 10}, "timeout_ms": 50},
            {"id": "report", "tool": "tool-x-read", "parameters": {"of": "${fetch.of}"},
             "condition": {"type": "expression", "expression": "steps.fetch.output.n == parameters.n"}},
            {"id": "mend", "tool": "tool-x-read",
             "condition": {"type": "step_failure", "stage_id": "fetch"}}
        ],
        "error_handling": {"on_step_failure": "continue_plan"}
    }));
    let view = view();
    let compiled = from_pipeline(&pipeline, &[], &CallableTools::new(&view));
    let (graph, inputs) = compiled.unwrap_or_else(|report| panic!("{report:#?}"));
    assert_eq!(inputs, pipeline.inputs);
    assert!(matches!(graph.source(), Some(PlanSource::Pipeline(_))));
    let ended = drive(graph.clone(), json!({"n": 3}), succeeds);
    let states: Vec<&str> = ended.states().into_values().collect();
    assert_eq!(
        (states, ended.outcome()),
        (vec!["succeeded", "skipped", "succeeded"], "completed")
    );
    let failed = drive(graph, json!({"n": 3}), fails(&["fetch"]));
    let states: Vec<&str> = failed.states().into_values().collect();
    assert_eq!(states, ["failed", "succeeded", "skipped"]);
}

fn tree(nodes: Value) -> DecisionTree {
    document(&json!({
        "id": "tree-01930000-0000-7000-8000-000000000001", "name": "t", "root": "start",
        "inputs": [{"name": "n", "type": "integer", "required": true}], "nodes": nodes,
    }))
}

fn call_of(graph: &StepGraph, step: &str) -> bool {
    let step = graph.step(&StepId::parse(step).unwrap()).unwrap();
    matches!(step.action, StepAction::Call { .. })
}
