//! Tag records (seed 000 §2.10): the classification of one request, written once before any other record. Internal:
//! never shown to a client.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::vocabulary::{ExecutionTarget, Tier};
use crate::ids::{
    AgentId, DomainId, Label, PlaybookId, SkillId, TagRequestId, TagSessionId, TenantId, ToolId,
    UserId,
};
use crate::schema::SchemaName;
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(TagRecord);

/// The tags of one request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct TagRecord {
    /// Id of the request, in this family's form (ruling 25).
    pub request_id: TagRequestId,
    /// Tenant of the caller.
    pub tenant_id: TenantId,
    /// Session of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<TagSessionId>,
    /// User who made the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// Expiry time, after which the record reads as absent. The store sets it: one hour unless configured (ruling 18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Flow that answers the request.
    pub flow: Flow,
    /// Domain; required in every flow (B000-15).
    pub domain: DomainId,
    /// Persona; required in every flow (B000-15).
    pub persona: Label,
    /// Tier of the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    /// Skill; for flow `skill`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill_id: Option<SkillId>,
    /// Skills; for flow `read_broad`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill_ids: Option<Vec<SkillId>>,
    /// Playbook; for flow `write`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub playbook_id: Option<PlaybookId>,
    /// Kind of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_type: Option<Label>,
    /// Location where effects are executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_location: Option<ExecutionTarget>,
    /// Agent that owns the skill, if one refers to it (ruling 8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_agent_id: Option<AgentId>,
    /// Search parameters; for flow `rag_search`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rag_params: Option<Map<String, Value>>,
    /// Cloud provider of the question; for flow `rag_search`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Label>,
    /// Tools that will be called; for flow `write`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_ids: Option<Vec<ToolId>>,
    /// Parameters; for flow `write`, redacted in logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param_set: Option<Map<String, Value>>,
}

string_enum! {
    /// Flow that answers a request (000 §2.10).
    pub enum Flow {
        /// One skill answers.
        Skill = "skill",
        /// The best few skills answer.
        ReadBroad = "read_broad",
        /// The lenses answer.
        RagSearch = "rag_search",
        /// General knowledge answers.
        Knowledge = "knowledge",
        /// A playbook runs.
        Write = "write",
        /// A skill is generated.
        CodeGenRead = "code_gen_read",
        /// A playbook is generated.
        CodeGenWrite = "code_gen_write",
        /// A skill or playbook is generated, even if a registered one may fit.
        CodeGenDirect = "code_gen_direct",
    }
}

/// A field that belongs to some flows: its presence, and the flows that require or allow it.
struct FlowField {
    name: &'static str,
    present: bool,
    /// Flows that require the field.
    required_in: &'static [Flow],
    /// Flows that allow the field; empty means every flow.
    only_in: &'static [Flow],
}

impl TagRecord {
    fn flow_fields(&self) -> [FlowField; 10] {
        use Flow::{RagSearch, ReadBroad, Skill, Write};
        let field = |name, present, required_in, only_in| FlowField {
            name,
            present,
            required_in,
            only_in,
        };
        [
            field("skill_id", self.skill_id.is_some(), &[Skill], &[Skill]),
            field(
                "skill_ids",
                self.skill_ids.is_some(),
                &[ReadBroad],
                &[ReadBroad],
            ),
            field(
                "playbook_id",
                self.playbook_id.is_some(),
                &[Write],
                &[Write],
            ),
            field("tier", self.tier.is_some(), &[Skill, ReadBroad, Write], &[]),
            field("output_type", self.output_type.is_some(), &[Skill], &[]),
            field(
                "execution_location",
                self.execution_location.is_some(),
                &[Skill],
                &[],
            ),
            field(
                "rag_params",
                self.rag_params.is_some(),
                &[RagSearch],
                &[RagSearch],
            ),
            field("provider", self.provider.is_some(), &[RagSearch], &[]),
            field("tool_ids", self.tool_ids.is_some(), &[Write], &[Write]),
            field("param_set", self.param_set.is_some(), &[Write], &[Write]),
        ]
    }
}

impl Contract for TagRecord {
    const NAME: SchemaName = SchemaName::TagRecord;

    // Checks the seed's table of flows (B000-15).
    fn check(&self, report: &mut Report) {
        for field in self.flow_fields() {
            let pointer = format!("/{}", field.name);
            if !field.present && field.required_in.contains(&self.flow) {
                let message = format!("the flow `{}` needs `{}`", self.flow, field.name);
                report.meaning(pointer, "required", message);
            } else if field.present
                && !field.only_in.is_empty()
                && !field.only_in.contains(&self.flow)
            {
                let message = format!(
                    "`{}` does not belong to the flow `{}`",
                    field.name, self.flow
                );
                report.meaning(pointer, "flow", message);
            }
        }
    }
}
