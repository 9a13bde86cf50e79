//! Write-back proposals (002 §13): a proposed change, never executed by the proposing role.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::version::{MissionSchemaVersion, schema_tag};
use crate::ids::{ActorId, Label, MissionId, ProposalId, TenantId};
use crate::schema::SchemaName;
use crate::text::ShortText;
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(WritebackProposal);

schema_tag!(WritebackProposalTag = "writeback_proposal");

/// A proposed change of one entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct WritebackProposal {
    /// Always `writeback_proposal`.
    pub schema_name: WritebackProposalTag,
    /// Version of this form.
    pub schema_version: MissionSchemaVersion,
    /// Id of the mission.
    pub mission_id: MissionId,
    /// Tenant of the mission; set on storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Actor of the mission; set on storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<ActorId>,
    /// Id of the proposal.
    pub proposal_id: ProposalId,
    /// Type of the target entity: `lead`.
    pub target_entity_type: Label,
    /// Id of the target entity.
    pub target_entity_id: ShortText,
    /// Type of the change: `lead_stage_update`.
    pub action_type: Label,
    /// Data of the change.
    pub payload: Map<String, Value>,
    /// Whether an approver must approve the change; true when absent.
    #[serde(default = "default_true")]
    pub requires_approval: bool,
    /// Creation time.
    pub created_at: Timestamp,
    /// Producer of the artifact.
    pub producer: Label,
}

fn default_true() -> bool {
    true
}

impl Contract for WritebackProposal {
    const NAME: SchemaName = SchemaName::WritebackProposal;

    fn check(&self, _: &mut Report) {}
}
