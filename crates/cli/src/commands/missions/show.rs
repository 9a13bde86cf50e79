//! Missions as tables.

use serde_json::{Value, json};

use super::text;
use crate::output;

/// A page of missions.
pub(super) fn list(found: &Value) -> String {
    let columns = ["mission_id", "title", "state", "artifacts", "created_at"];
    page(found, &columns)
}

/// A page of artifacts, or one of them.
pub(super) fn artifacts(found: &Value) -> String {
    if found.get("entries").is_none() {
        return output::fields(&found["artifact"]);
    }
    let columns = [
        "place",
        "kind",
        "artifact_id",
        "task_id",
        "artifact.producer",
    ];
    page(found, &columns)
}

/// A page of assignments.
pub(super) fn assignments(found: &Value) -> String {
    let columns = [
        "assignment_id",
        "mission_id",
        "role_type",
        "state",
        "expires_at",
        "objective",
    ];
    page(found, &columns)
}

fn page(found: &Value, columns: &[&str]) -> String {
    let rows = output::rows(&found["entries"], columns);
    match &found["next"] {
        Value::Null => rows,
        Value::String(next) => format!("{rows}\n\nmore with --after {next}"),
        next => format!("{rows}\n\nmore with --after {next}"),
    }
}

/// A mission: its state, tasks, output and proposals.
pub(super) fn mission(mission: &Value) -> String {
    let said = |field: &str| text(mission, field);
    let mut lines = vec![format!(
        "{} {}: {}",
        said("mission_id"),
        said("mission_type"),
        said("state").replace('_', " ")
    )];
    lines.push(facts(mission));
    if let Some(summary) = mission["output"]["summary"].as_str() {
        lines.push(summary.to_owned());
    }
    if is_some(&mission["tasks"]) {
        let columns = ["task_id", "role_type", "state", "objective", "reason"];
        lines.push(output::rows(&mission["tasks"], &columns));
    }
    if is_some(&mission["proposals"]) {
        let columns = [
            "proposal.proposal_id",
            "proposal.action_type",
            "proposal.target_entity_id",
            "state",
            "approval_id",
            "reason",
        ];
        lines.push(output::rows(&mission["proposals"], &columns));
    }
    lines.join("\n\n")
}

fn facts(mission: &Value) -> String {
    let tokens = &mission["tokens"];
    let used = tokens["input"].as_u64().unwrap_or_default()
        + tokens["output"].as_u64().unwrap_or_default();
    let mut facts = json!({
        "goal": mission["goal"],
        "run": mission["run_id"],
        "answered_by": if mission["offline"] == json!(true) { "the offline provider" } else { "models" },
        "tokens": match mission["token_budget"].as_u64() {
            Some(budget) => format!("{used} of {budget}"),
            None => used.to_string(),
        },
        "artifacts": mission["artifacts"],
    });
    for name in ["reason", "imported_at"] {
        if !mission[name].is_null() {
            facts[name] = mission[name].clone();
        }
    }
    output::fields(&facts)
}

fn is_some(list: &Value) -> bool {
    list.as_array().is_some_and(|list| !list.is_empty())
}

/// One event of the journal.
pub(super) fn event(event: &Value) -> String {
    let said = |field: &str| text(event, field);
    let words = [
        format!("{:>4}", event["sequence"]),
        said("at"),
        said("mission_state"),
        said("event"),
        said("step"),
        text(&event["failure"], "message"),
    ];
    let words = words.into_iter().filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("  ")
}

/// The exact call that an approval is for.
pub(super) fn call(approval: &Value) -> Value {
    json!({
        "approval": approval["approval_id"],
        "tool": approval["call"]["tool"],
        "parameters": approval["call"]["parameters"],
        "digest": approval["digest"],
        "expires_at": approval["expires_at"],
    })
}
