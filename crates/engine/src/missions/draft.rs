//! What a model fills in, for each role that asks one: less than the artifact, because ids, owner,
//! times and producer are the root's to say. The schema is what a provider is held to; the type is what
//! is read. Checks nothing that needs the mission.

use charter_contract::ids::{Label, TaskId, ToolId};
use charter_contract::mission::aggregation_packet::{Remark, SupportedClaim};
use charter_contract::mission::review_packet::{ReviewIssue, ReviewStatus};
use charter_contract::mission::task_graph::Role;
use charter_contract::mission::worker_result::Citation;
use charter_contract::number::Confidence;
use charter_contract::text::{ShortText, Text};
use charter_domain::mission::Wanted;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Most tasks that a planner may ask for.
pub(super) const MAX_TASKS: usize = 996;
/// Most calls that one turn may ask for.
pub(super) const MAX_CALLS: usize = 8;
/// Most proposals of one review.
pub(super) const MAX_PROPOSALS: usize = 20;

/// A draft, with the schema that models are held to.
pub(super) trait Draft: serde::de::DeserializeOwned {
    /// What the schema is called.
    const NAME: &'static str;

    /// JSON Schema of the draft.
    fn schema() -> Value;
}

/// A planner's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PlanDraft {
    /// The tasks that are done by turns; the root adds the others.
    pub(super) tasks: Vec<TaskDraft>,
}

/// A task of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TaskDraft {
    pub(super) task_id: TaskId,
    pub(super) role_type: Role,
    pub(super) objective: Text,
    #[serde(default)]
    pub(super) depends_on: Vec<TaskId>,
    #[serde(default)]
    pub(super) required_capabilities: Vec<Label>,
    #[serde(default)]
    pub(super) allowed_tools: Vec<ToolId>,
    #[serde(default)]
    pub(super) required_data_scopes: Vec<Label>,
    #[serde(default)]
    pub(super) success_criteria: Vec<Text>,
}

impl Draft for PlanDraft {
    const NAME: &'static str = "plan";

    fn schema() -> Value {
        let task = json!({
            "type": "object",
            "properties": {
                "task_id": {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,60}$"},
                "role_type": {"enum": ["researcher", "worker"]},
                "objective": text(1_000),
                "depends_on": list(&json!({"type": "string"}), 50),
                "required_capabilities": list(&json!({"type": "string"}), 10),
                "allowed_tools": list(&json!({"type": "string"}), 20),
                "required_data_scopes": list(&json!({"type": "string"}), 20),
                "success_criteria": list(&text(300), 5),
            },
            "required": ["task_id", "role_type", "objective"],
            "additionalProperties": false,
        });
        json!({
            "type": "object",
            "properties": {"tasks": {
                "type": "array", "items": task, "minItems": 1, "maxItems": MAX_TASKS,
            }},
            "required": ["tasks"],
            "additionalProperties": false,
        })
    }
}

/// A worker's last word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct AnswerDraft {
    pub(super) output_text: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) structured_output: Option<Map<String, Value>>,
    #[serde(default)]
    pub(super) citations: Vec<Citation>,
    pub(super) confidence: Confidence,
}

fn answer_fields() -> Value {
    let citation = json!({
        "type": "object",
        "properties": {"kind": {"enum": ["internal", "external"]}, "ref": text(500)},
        "required": ["kind", "ref"],
        "additionalProperties": false,
    });
    json!({
        "output_text": text(8_000),
        "structured_output": {"type": "object"},
        "citations": list(&citation, 50),
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    })
}

impl Draft for AnswerDraft {
    const NAME: &'static str = "answer";

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": answer_fields(),
            "required": ["output_text", "citations", "confidence"],
            "additionalProperties": false,
        })
    }
}

/// A worker's turn while it may still call tools: either of the two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TurnDraft {
    /// What it needs first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<Wanted>,
    /// Its last word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<AnswerDraft>,
}

impl Draft for TurnDraft {
    const NAME: &'static str = "turn";

    fn schema() -> Value {
        let call = json!({
            "type": "object",
            "properties": {"tool": {"type": "string"}, "parameters": {"type": "object"}},
            "required": ["tool", "parameters"],
            "additionalProperties": false,
        });
        json!({
            "type": "object",
            "properties": {
                "calls": list(&call, MAX_CALLS),
                "answer": AnswerDraft::schema(),
            },
            "additionalProperties": false,
        })
    }
}

/// An aggregator's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PacketDraft {
    pub(super) summary: Text,
    #[serde(default)]
    pub(super) evidence_matrix: Vec<SupportedClaim>,
    #[serde(default)]
    pub(super) contradictions: Vec<Remark>,
    #[serde(default)]
    pub(super) coverage_gaps: Vec<Remark>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) recommended_output: Option<Map<String, Value>>,
}

impl Draft for PacketDraft {
    const NAME: &'static str = "packet";

    fn schema() -> Value {
        let claim = json!({
            "type": "object",
            "properties": {"claim": text(1_000), "support_refs": list(&text(500), 20)},
            "required": ["claim", "support_refs"],
            "additionalProperties": false,
        });
        json!({
            "type": "object",
            "properties": {
                "summary": text(8_000),
                "evidence_matrix": list(&claim, 200),
                "contradictions": list(&text(1_000), 50),
                "coverage_gaps": list(&text(1_000), 50),
                "recommended_output": {"type": "object"},
            },
            "required": ["summary", "evidence_matrix"],
            "additionalProperties": false,
        })
    }
}

/// A reviewer's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ReviewDraft {
    pub(super) review_status: ReviewStatus,
    #[serde(default)]
    pub(super) issues: Vec<ReviewIssue>,
    #[serde(default)]
    pub(super) required_edits: Vec<Text>,
    /// The output with the edits applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) approved_output: Option<Map<String, Value>>,
    #[serde(default)]
    pub(super) proposals: Vec<ProposalDraft>,
}

/// A change that a reviewer proposes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ProposalDraft {
    pub(super) action_type: Label,
    pub(super) target_entity_type: Label,
    pub(super) target_entity_id: ShortText,
    #[serde(default)]
    pub(super) payload: Map<String, Value>,
}

impl Draft for ReviewDraft {
    const NAME: &'static str = "review";

    fn schema() -> Value {
        let issue = json!({
            "type": "object",
            "properties": {
                "severity": {"enum": ["critical", "high", "medium", "low", "info"]},
                "message": text(1_000),
            },
            "required": ["severity", "message"],
            "additionalProperties": false,
        });
        let proposal = json!({
            "type": "object",
            "properties": {
                "action_type": text(200), "target_entity_type": text(200),
                "target_entity_id": text(200), "payload": {"type": "object"},
            },
            "required": ["action_type", "target_entity_type", "target_entity_id", "payload"],
            "additionalProperties": false,
        });
        json!({
            "type": "object",
            "properties": {
                "review_status": {"enum": ["approved", "approved_with_edits", "rejected"]},
                "issues": list(&issue, 50),
                "required_edits": list(&text(1_000), 50),
                "approved_output": {
                    "type": "object",
                    "properties": {"summary": text(8_000)},
                    "required": ["summary"],
                },
                "proposals": list(&proposal, MAX_PROPOSALS),
            },
            "required": ["review_status"],
            "additionalProperties": false,
        })
    }
}

fn text(longest: usize) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": longest})
}

fn list(items: &Value, most: usize) -> Value {
    json!({"type": "array", "items": items, "maxItems": most})
}

#[cfg(test)]
mod tests;
