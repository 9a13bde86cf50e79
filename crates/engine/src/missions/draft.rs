//! The drafts that models fill in, by mission role. A draft is less than the artifact, because the root sets ids,
//! owner, times and producer. The schema constrains the provider ([`schema`]), and the answer is parsed into the type.
//! Checks nothing that needs the mission.

pub(super) mod schema;

use charter_contract::ids::{Label, TaskId, ToolId};
use charter_contract::mission::aggregation_packet::{Remark, SupportedClaim};
use charter_contract::mission::librarian_pass::RecommendedQuery;
use charter_contract::mission::review_packet::{ReviewIssue, ReviewStatus};
use charter_contract::mission::task_graph::Role;
use charter_contract::mission::worker_result::Citation;
use charter_contract::number::Confidence;
use charter_contract::text::{ShortText, Text};
use charter_domain::mission::RequestedCall;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Maximum calls that one turn may request.
pub(super) const MAX_CALLS: usize = 8;
/// Maximum proposals of one review.
pub(super) const MAX_PROPOSALS: usize = 20;

/// A planner's draft.
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

/// A worker's final answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct AnswerDraft {
    pub(super) output_text: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) structured_output: Option<Map<String, Value>>,
    #[serde(default)]
    pub(super) citations: Vec<Citation>,
    pub(super) confidence: Confidence,
}

/// A worker's turn while it may still call tools: either calls or an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TurnDraft {
    /// Calls that it needs first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<RequestedCall>,
    /// Its final answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<AnswerDraft>,
}

/// An aggregator's draft.
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

/// A reviewer's draft.
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

/// A prompt master's draft. The system prompt stays that of the template.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PackageDraft {
    pub(super) task_prompt: Text,
    /// Ids of examples of the template.
    #[serde(default)]
    pub(super) examples: Vec<Label>,
}

/// A librarian's draft.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PassDraft {
    #[serde(default)]
    pub(super) allowed_resource_families: Vec<Label>,
    #[serde(default)]
    pub(super) recommended_queries: Vec<RecommendedQuery>,
    /// Numbers of previews in the context, from 1.
    #[serde(default)]
    pub(super) previews: Vec<usize>,
}

/// A researcher's turn: either calls or an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ResearchDraft {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<RequestedCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<ChosenResults>,
}

/// The results that answer a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ChosenResults {
    #[serde(default)]
    pub(super) results: Vec<ChosenResult>,
}

/// A result of the context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ChosenResult {
    /// Its number in the context, from 1.
    pub(super) number: usize,
    pub(super) confidence: Confidence,
}

#[cfg(test)]
mod tests;
