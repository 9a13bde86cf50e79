//! The offline planner.

use std::collections::BTreeSet;

use charter_contract::bounds::PROMPT_BYTES;
use serde_json::{Value, json};

use super::text::{list, text};

/// Drafts a plan from the outline of the mission's type. Without one, plans one task for each skill near the goal;
/// without skills, one task without tools.
pub(super) fn draft(context: &Value) -> Value {
    let goal = text(context, "goal");
    let outline = list(context, "outline");
    if !outline.is_empty() {
        let tasks = outline.iter().map(|task| {
            let mut task = task.clone();
            task["objective"] = json!(with_goal(&text(&task, "objective"), &goal));
            task
        });
        return json!({"tasks": tasks.collect::<Vec<_>>()});
    }
    let mut tasks: Vec<Value> = Vec::new();
    for (at, skill) in (1..).zip(list(context, "skills")) {
        let calls = list(skill, "calls");
        let tools: BTreeSet<String> = calls.iter().map(|call| text(call, "tool")).collect();
        let offered: BTreeSet<String> = list(context, "tools")
            .iter()
            .map(|tool| text(tool, "tool_id"))
            .collect();
        let tools: Vec<&String> = tools.intersection(&offered).collect();
        if tools.is_empty() {
            continue;
        }
        tasks.push(json!({
            "task_id": format!("look_{at}"), "role_type": "worker",
            "objective": format!("{}: {}", text(skill, "name"), text(skill, "description")),
            "required_capabilities": [skill["skill_id"]],
            "allowed_tools": tools,
        }));
    }
    if tasks.is_empty() {
        tasks.push(json!({"task_id": "answer", "role_type": "worker", "objective": goal}));
    }
    json!({"tasks": tasks})
}

/// Fills the goal into an objective; returns the goal alone if the result would exceed the limit of a prompt.
fn with_goal(objective: &str, goal: &str) -> String {
    const GOAL: &str = "${goal}";
    let added = objective.matches(GOAL).count().saturating_mul(goal.len());
    match objective.len().saturating_add(added) <= PROMPT_BYTES {
        true => objective.replace(GOAL, goal),
        false => goal.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An outline that repeats a long goal many times stays within the limit of a prompt.
    #[test]
    fn an_objective_is_bounded() {
        assert_eq!(with_goal("Do ${goal}, ${goal}", "it"), "Do it, it");
        let goal = "x".repeat(1_000);
        assert_eq!(with_goal(&"${goal}".repeat(1_000), &goal).len(), 1_000_000);
        assert_eq!(with_goal(&"${goal}".repeat(2_000), &goal), goal);
    }
}
