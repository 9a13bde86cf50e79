//! Tests the limits on documents, and that validation takes time linear in their size.

use std::time::{Duration, Instant};

use charter_contract::bounds::PARAMETERS;
use charter_contract::catalogue::agent::AgentManifest;
use charter_contract::catalogue::skill::Skill;
use charter_contract::plan::ExecutionPlan;
use charter_contract::validate::{Contract, read_value};
use charter_contract::violation::{MAX_VIOLATIONS, Report, pointer_segment};
use serde_json::{Value, json};

const SKILL: &str = include_str!("../seeds/skill.json");

/// Longer than any of these validations takes, and shorter than comparing all pairs of their parts.
const PROMPT: Duration = Duration::from_secs(5);

#[test]
fn more_parameters_than_a_list_may_declare_are_refused() {
    let found = |count: usize| {
        let mut skill: Value = serde_json::from_str(SKILL).unwrap();
        let parameters = (0..count).map(|at| json!({"name": format!("p{at}"), "type": "string"}));
        skill["parameters"] = parameters.collect();
        let violations = read_value::<Skill>(&skill).err().unwrap_or_default();
        let limits = violations.into_iter().filter(|v| v.keyword == "maxItems");
        limits.map(|v| (v.pointer, v.message)).collect::<Vec<_>>()
    };
    assert_eq!(found(PARAMETERS), []);
    let message = "declares 1001 parameters; the limit PARAMETERS is 1000";
    assert_eq!(
        found(PARAMETERS + 1),
        [("/parameters".to_owned(), message.to_owned())]
    );
}

/// The condition of each step names the last step.
#[test]
fn a_plan_of_many_steps_is_validated_in_linear_time() {
    let condition = json!({"type": "step_success", "step_id": "step-999"});
    let mut steps = vec![
        json!({"id": "step-001", "tool": "t", "parameters": {}, "condition": condition});
        20_000
    ];
    steps.push(json!({"id": "step-999", "tool": "t", "parameters": {}}));
    let plan = json!({
        "id": "plan-01930000-0000-7000-8000-000000000007",
        "request_id": "req-01930000-0000-7000-8000-000000000001",
        "steps": steps,
    });
    let plan: ExecutionPlan = serde_json::from_value(plan).unwrap();
    let began = Instant::now();
    let mut report = Report::new();
    plan.check(&mut report);
    assert!(began.elapsed() < PROMPT, "{:?}", began.elapsed());
    assert!(report.is_full());
    assert_eq!(report.violations.len(), MAX_VIOLATIONS);
    assert_eq!(report.violations[0].pointer, "/steps/1/id");
}

#[test]
fn duplicates_in_a_long_list_are_found_in_linear_time() {
    let mut skills: Vec<String> = (0..100_000).map(|at| format!("s.{at}")).collect();
    skills.push("s.7".to_owned());
    let agent = json!({
        "agent_id": "a.b", "name": "a", "display_name": "A", "agent_type": "domain",
        "domain": "security", "skill_refs": skills,
    });
    let agent: AgentManifest = serde_json::from_value(agent).unwrap();
    let began = Instant::now();
    let mut report = Report::new();
    agent.check(&mut report);
    assert!(began.elapsed() < PROMPT, "{:?}", began.elapsed());
    let found: Vec<&str> = report
        .violations
        .iter()
        .map(|v| v.pointer.as_str())
        .collect();
    assert_eq!(found, ["/skill_refs/100000"]);
}

/// Each of a thousand violations has its own pointer.
#[test]
fn a_pointer_shortens_a_long_name() {
    assert_eq!(pointer_segment("a/b~"), "a~1b~0");
    assert_eq!(pointer_segment(&"é".repeat(128)), "é".repeat(128));
    assert_eq!(
        pointer_segment(&format!("/{}", "é".repeat(1_000))),
        format!("~1{}…", "é".repeat(127))
    );
}
