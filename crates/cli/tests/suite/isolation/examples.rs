//! Bodies that are separate documents, such as a plan or a package: bodies generated from their schemas would be
//! refused for their content before the owner of their ids is checked.

use serde_json::{Value, json};

use super::estate::KnownIds;
use crate::mcp::knowledge::skill_md;
use crate::packages::{Package, skill};
use crate::tools::{definition, invocation};

/// Valid bodies of an operation with ids from a table.
pub(super) fn of(operation: &str, known: &KnownIds) -> Vec<Option<Value>> {
    let id = |place: &str| known[place][0].as_str();
    let bodies = match operation {
        "a2a_send_message" | "a2a_stream_message" => messages(known),
        "import_agent_skills" => {
            vec![json!({"files": [{"path": "mine/SKILL.md", "text": skill_md("mine")}]})]
        }
        "create_memory" => vec![json!({"memory": memory(&[id("memories")])})],
        "supersede_memory" => vec![json!({"memory": memory(&[]), "expected_version": 1})],
        "start_mission" => vec![json!({
            "goal": "look", "model": "offline", "mission_type": id("mission_type"), "mission_id": id("missions"),
        })],
        "register_package" | "diff_package" | "validate_package" => vec![package(id("tool"))],
        "start_run" => vec![plan(id("tool"))],
        "enable_schedule" => vec![json!({"schedule": {
            "schedule_id": "reliability.mine", "title": "Mine", "when": {"at": "2999-01-01T00:00:00Z"},
            "run": {"skill": id("skill")},
        }})],
        "register_tool" => vec![definition(id("tool_definition"))],
        "invoke_tool" => vec![call(id("tool_definition"))],
        "release_mission_assignment" => vec![json!({"lease_id": id("assignment_lease")})],
        "submit_mission_assignment" => {
            vec![json!({"lease_id": id("assignment_lease"), "calls": [{"tool": id("tool")}]})]
        }
        "connect_credential" => vec![json!({"redirect_uri": "http://127.0.0.1:9/"})],
        "submit_evidence" => vec![billing_line()],
        "create_key" => vec![json!({"name": "another"})],
        "put_tags" => vec![tags(id("request_id"), id("skill"))],
        _ => Vec::new(),
    };
    bodies.into_iter().map(Some).collect()
}

/// A reply to each task, and a message within the context.
fn messages(known: &KnownIds) -> Vec<Value> {
    let message = |field: &str, id: &String| {
        let parts = json!([{"text": "which backups have grown stale"}]);
        let mut message =
            json!({"messageId": format!("m-{id}"), "role": "ROLE_USER", "parts": parts});
        message[field] = json!(id);
        json!({"message": message})
    };
    let replies = known["tasks"].iter().map(|task| message("taskId", task));
    let within = known["contextId"]
        .iter()
        .map(|context| message("contextId", context));
    replies.chain(within).collect()
}

/// A record of a person, whose link comes from its source.
fn billing_line() -> Value {
    json!({
        "schema_version": 1, "type": "billing_line", "captured_at": "2025-05-13T09:14:22Z",
        "source": {"system": "aws.billing", "tenant_id": null, "native_id": "li-1"},
        "payload": {"usd": 12}, "summary": "The instance cost 12 dollars.",
        "attached_to": [{"report_item_id": "ri_1"}], "redaction_class": "restricted",
    })
}

fn memory(related: &[&str]) -> Value {
    json!({
        "title": "Another", "content": "It rains.", "tags": ["rain"], "related_memories": related,
        "metadata": {"source": "user_statement"},
    })
}

/// A package with a skill over a tool.
fn package(tool: &str) -> Value {
    let skill =
        skill("reliability.mine", "count the tape drives").replace("vault.list_backups", tool);
    Package::new("mine", "1.0.0", "tenant")
        .with("skills/mine.yaml", &skill)
        .bundle()
}

fn plan(tool: &str) -> Value {
    let id = "01930000-0000-7000-8000-000000000007";
    json!({"execution_plan": {
        "id": format!("plan-{id}"), "request_id": format!("req-{id}"),
        "steps": [{"id": "step-001", "tool": tool, "parameters": {"vault": "main"}}],
        "error_handling": {"on_step_failure": "abort_plan"},
    }})
}

/// A call whose tool no handler carries out in time.
fn call(tool: &str) -> Value {
    let mut call = invocation(tool, 7);
    call["timeout_ms"] = json!(100);
    call
}

fn tags(request: &str, skill: &str) -> Value {
    json!({
        "request_id": request, "tenant_id": "acme", "flow": "skill", "domain": "reliability",
        "persona": "operator", "tier": "basic", "skill_id": skill, "output_type": "finding",
        "execution_location": "server",
    })
}
