//! Write-back proposals (002 §13): a change that is proposed, never carried out by
//! whoever proposes it.

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
    /// `writeback_proposal`.
    pub schema_name: WritebackProposalTag,
    /// Version of this form.
    pub schema_version: MissionSchemaVersion,
    /// The mission.
    pub mission_id: MissionId,
    /// Its tenant; stamped when stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Its actor; stamped when stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<ActorId>,
    /// Its own id.
    pub proposal_id: ProposalId,
    /// The type of the entity: `lead`.
    pub target_entity_type: Label,
    /// The entity.
    pub target_entity_id: ShortText,
    /// What is done to it: `lead_stage_update`.
    pub action_type: Label,
    /// The change.
    pub payload: Map<String, Value>,
    /// Whether a person must approve it; true when absent.
    #[serde(default = "yes")]
    pub requires_approval: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub producer: Label,
}

fn yes() -> bool {
    true
}

impl Contract for WritebackProposal {
    const NAME: SchemaName = SchemaName::WritebackProposal;

    fn check(&self, _: &mut Report) {}
}
