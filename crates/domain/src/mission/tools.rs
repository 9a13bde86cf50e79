//! The stages as tools of the catalogue, so that the rules for tools apply to them.

use charter_contract::catalogue::stage::Stage;
use charter_contract::catalogue::tool::Tool;
use charter_contract::validate;
use charter_contract::violation::Violation;
use serde_json::{Value, json};

/// Returns the documents of the stages' tools.
///
/// # Errors
/// Violations in a document; a test ensures that there are none.
pub fn stage_tools() -> Result<Vec<Tool>, Vec<Violation>> {
    let documents = Stage::ALL.iter().map(|stage| document(*stage));
    let read = |value: Value| validate::read_value::<Tool>(&value).map(|(tool, _)| tool);
    documents.map(read).collect()
}

fn document(stage: Stage) -> Value {
    json!({
        "tool_id": stage.tool_id(),
        "name": format!("mission.{stage}"),
        "provider": "charter",
        "service": "mission",
        "tool_class": stage.tool_class(),
        "domain": "platform",
        "description": description(stage),
        "parameters": parameters(stage),
        "execution_target": "server",
        "language": "builtin",
        // If it is repeated under the same key, each stage creates the same artifact or the same request.
        "idempotent": true,
        "implementation": {"type": "stage", "stage": stage},
    })
}

fn description(stage: Stage) -> &'static str {
    match stage {
        Stage::Plan => "Plans a mission: its tasks, who does them, and which tools they may use.",
        Stage::Prompt => "Creates the prompt package of one task from a registered template.",
        Stage::Pass => "Grants one task access to the data that it needs, for a limited time.",
        Stage::Research => "Searches for one task, or reports the results.",
        Stage::Work => "Takes one turn of a worker: an answer, or the tools that it needs first.",
        Stage::Aggregate => "Aggregates the results of a mission's tasks.",
        Stage::Review => "Reviews a mission's output once, and proposes write-backs.",
        Stage::Playbook => "Executes a proposal by a registered playbook.",
        Stage::Webhook => "Sends a proposal to the system of record, signed.",
    }
}

fn parameters(stage: Stage) -> Value {
    let required = |name: &str, kind: &str, what: &str| json!({"name": name, "type": kind, "required": true, "description": what});
    let task = || required("task", "string", "The task.");
    match stage {
        Stage::Plan | Stage::Aggregate | Stage::Review => json!([]),
        Stage::Prompt | Stage::Pass => json!([task()]),
        Stage::Research | Stage::Work => {
            json!([task(), required("turn", "integer", "The turn, from 1.")])
        }
        Stage::Playbook => json!([
            required("proposal", "string", "The proposal."),
            required("playbook", "string", "The playbook."),
            required("parameters", "object", "Its parameters."),
        ]),
        Stage::Webhook => json!([
            required("proposal", "string", "The proposal."),
            required("url", "string", "The destination."),
            required("body", "object", "The payload."),
        ]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_has_a_tool_that_keeps_its_contract() {
        let tools = stage_tools().unwrap();
        let ids: Vec<_> = tools.iter().map(|tool| tool.tool_id.clone()).collect();
        let expected: Vec<_> = Stage::ALL.iter().map(|stage| stage.tool_id()).collect();
        assert_eq!(ids, expected);
    }
}
