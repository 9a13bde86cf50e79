//! Version v0 of two artifacts, and the conversion to v1. v0 is this project's own: in it, not every artifact had root
//! metadata (002 §2.2), confidence was a percentage, sources had no kind, and a review had no edits apart from its
//! issues. Frozen.

use serde_json::{Map, Value, json};

use crate::mission::{MissionRoot, violation};
use crate::violation::Violation;

/// The fields of a worker result.
pub(super) const WORKER_RESULT: &[&str] = &[
    "schema_name",
    "schema_version",
    "mission_id",
    "task_id",
    "result_id",
    "output_text",
    "structured_output",
    "sources",
    "confidence_percent",
    "tool_calls",
    "created_at",
    "producer",
];

/// The fields of a review packet.
pub(super) const REVIEW_PACKET: &[&str] = &[
    "schema_name",
    "schema_version",
    "mission_id",
    "packet_id",
    "review_status",
    "issues",
    "summary",
    "created_at",
    "producer",
];

/// Converts `sources` (ids and links), `confidence_percent` (0 to 100) and `tool_calls` (renamed).
pub(super) fn worker_result(
    artifact: &mut Map<String, Value>,
    mission: &MissionRoot,
) -> Result<(), Violation> {
    add_root_metadata(artifact, mission);
    if let Some(Value::Array(sources)) = artifact.get("sources") {
        let citations = sources.iter().map(citation).collect();
        artifact.insert("citations".to_owned(), citations);
        artifact.remove("sources");
    }
    if let Some(percent) = artifact.get("confidence_percent").and_then(Value::as_f64) {
        artifact.insert("confidence".to_owned(), json!(percent / 100.0));
        artifact.remove("confidence_percent");
    }
    if let Some(calls) = artifact.remove("tool_calls") {
        artifact.insert("tool_trace_refs".to_owned(), calls);
    }
    Ok(())
}

/// Converts a source: a link was external, any other source internal.
fn citation(source: &Value) -> Value {
    let link = |text: &str| text.starts_with("http://") || text.starts_with("https://");
    let kind = match source.as_str() {
        Some(text) if link(text) => "external",
        Some(_) | None => "internal",
    };
    json!({ "kind": kind, "ref": source })
}

/// Converts `needs_edits` (its issues were the required edits) and `summary` (the whole output).
pub(super) fn review_packet(
    artifact: &mut Map<String, Value>,
    mission: &MissionRoot,
) -> Result<(), Violation> {
    add_root_metadata(artifact, mission);
    match artifact.get("review_status").and_then(Value::as_str) {
        Some("needs_edits") => {
            let issues = artifact.get("issues").and_then(Value::as_array);
            let edits: Vec<Value> = issues
                .into_iter()
                .flatten()
                .filter_map(|issue| issue.get("message").cloned())
                .collect();
            artifact.insert("review_status".to_owned(), "approved_with_edits".into());
            artifact.insert("required_edits".to_owned(), edits.into());
        }
        Some(word) if !["approved", "rejected"].contains(&word) => {
            let message = format!("`{word}` is not one of `approved`, `needs_edits`, `rejected`");
            return Err(violation("/review_status", "enum", message));
        }
        Some(_) | None => {}
    }
    if let Some(summary) = artifact.remove("summary") {
        artifact.insert("approved_output".to_owned(), json!({ "summary": summary }));
    }
    Ok(())
}

/// Adds the root metadata that v0 lacked.
fn add_root_metadata(artifact: &mut Map<String, Value>, mission: &MissionRoot) {
    artifact.insert("tenant_id".to_owned(), mission.tenant_id.as_str().into());
    artifact.insert("actor_id".to_owned(), mission.actor_id.as_str().into());
}
