//! The mission envelope (002 §4): the normalised mission before it is taken apart.

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
    /// `mission_envelope`.
    pub schema_name: MissionEnvelopeTag,
    /// Version of this form.
    pub schema_version: MissionSchemaVersion,
    /// Its id.
    pub mission_id: MissionId,
    /// What kind of mission it is: `oracle_advisory`.
    pub mission_type: Label,
    /// Where it comes from: `oracle`.
    pub origin_surface: Label,
    /// Its tenant.
    pub tenant_id: TenantId,
    /// Who asked for it.
    pub actor_id: ActorId,
    /// In which role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor_role: Option<Label>,
    /// What was asked, in the user's words.
    pub user_goal: Text,
    /// The goal.
    pub normalized_goal: Text,
    /// How risky it is.
    pub risk_level: RiskLevel,
    /// How sensitive its data are: `internal_business`.
    pub sensitivity_class: Label,
    /// How long it may take, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_budget_ms: Option<Positive>,
    /// The token budget, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<Positive>,
    /// What it is to produce: `reviewed_summary`.
    #[serde(default)]
    pub requested_outputs: Vec<Label>,
    /// Entities it is about, by name of the reference: ids, lists of ids, or null.
    #[serde(default)]
    pub context_refs: Map<String, Value>,
    /// When it was created.
    pub created_at: Timestamp,
    /// Who made the envelope.
    pub producer: Label,
}

string_enum! {
    /// How risky a mission is (ruling 23).
    pub enum RiskLevel {
        /// Low.
        Low = "low",
        /// Medium.
        Medium = "medium",
        /// High.
        High = "high",
        /// Critical.
        Critical = "critical",
    }
}

impl Contract for MissionEnvelope {
    const NAME: SchemaName = SchemaName::MissionEnvelope;

    fn check(&self, _: &mut Report) {}
}
