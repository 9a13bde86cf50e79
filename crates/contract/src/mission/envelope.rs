//! The mission envelope (002 §4): the normalised mission before planning.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::version::{MissionSchemaVersion, schema_tag};
use crate::ids::{ActorId, Label, MissionId, TenantId};
use crate::number::Positive;
use crate::schema::SchemaName;
use crate::text::Text;
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(MissionEnvelope);

schema_tag!(MissionEnvelopeTag = "mission_envelope");

/// A mission. Thirteen fields are required (002 §4.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct MissionEnvelope {
    /// Always `mission_envelope`.
    pub schema_name: MissionEnvelopeTag,
    /// Version of this form.
    pub schema_version: MissionSchemaVersion,
    /// Id of the mission.
    pub mission_id: MissionId,
    /// Mission type: `oracle_advisory`.
    pub mission_type: Label,
    /// Surface where the mission originated: `oracle`.
    pub origin_surface: Label,
    /// Tenant of the mission.
    pub tenant_id: TenantId,
    /// Actor who requested the mission.
    pub actor_id: ActorId,
    /// Level of the actor, such as `operator`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor_role: Option<Label>,
    /// Goal in the user's words.
    pub user_goal: Text,
    /// The goal.
    pub normalized_goal: Text,
    /// Risk level.
    pub risk_level: RiskLevel,
    /// Data sensitivity: `internal_business`.
    pub sensitivity_class: Label,
    /// Time budget, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_budget_ms: Option<Positive>,
    /// The token budget, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<Positive>,
    /// Requested outputs: `reviewed_summary`.
    #[serde(default)]
    pub requested_outputs: Vec<Label>,
    /// Entities that the mission concerns, by reference name: ids, lists of ids, or null.
    #[serde(default)]
    pub context_refs: Map<String, Value>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Producer of the envelope.
    pub producer: Label,
}

string_enum! {
    /// Risk level of a mission (ruling 23).
    pub enum RiskLevel {
        /// Low risk.
        Low = "low",
        /// Medium risk.
        Medium = "medium",
        /// High risk.
        High = "high",
        /// Critical risk.
        Critical = "critical",
    }
}

impl Contract for MissionEnvelope {
    const NAME: SchemaName = SchemaName::MissionEnvelope;

    fn check(&self, _: &mut Report) {}
}
