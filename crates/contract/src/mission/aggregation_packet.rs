//! Aggregation packets (002 §10): the draft for the review.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::version::{MissionSchemaVersion, schema_tag};
use crate::ids::{ActorId, Label, MissionId, PacketId, TenantId};
use crate::schema::SchemaName;
use crate::text::Text;
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(AggregationPacket, SupportedClaim, FullRemark);

schema_tag!(AggregationPacketTag = "aggregation_packet");

/// The combined results of the workers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct AggregationPacket {
    /// Always `aggregation_packet`.
    pub schema_name: AggregationPacketTag,
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
    /// Id of the packet.
    pub packet_id: PacketId,
    /// Summary of the draft.
    pub summary: Text,
    /// Claims, each with its support (B002-10).
    #[serde(default)]
    pub evidence_matrix: Vec<SupportedClaim>,
    /// Contradictions between sources.
    #[serde(default)]
    pub contradictions: Vec<Remark>,
    /// Gaps in the coverage.
    #[serde(default)]
    pub coverage_gaps: Vec<Remark>,
    /// Recommended output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommended_output: Option<Map<String, Value>>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Producer of the artifact.
    pub producer: Label,
}

/// A claim with its support.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct SupportedClaim {
    /// Text of the claim.
    pub claim: Text,
    /// References to supporting results, entities or evidence.
    pub support_refs: Vec<Text>,
}

/// A contradiction or a gap. The seed shows only empty lists; this form is this project's. A plain string is accepted
/// and stored as the description.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// Description.
    pub description: Text,
    /// References to its subjects.
    pub refs: Vec<Text>,
}

/// The two accepted forms of a remark.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum RemarkForm {
    Plain(Text),
    Full(FullRemark),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
struct FullRemark {
    description: Text,
    #[serde(default)]
    refs: Vec<Text>,
}

impl<'de> Deserialize<'de> for Remark {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(match RemarkForm::deserialize(from)? {
            RemarkForm::Plain(description) => Self {
                description,
                refs: Vec::new(),
            },
            RemarkForm::Full(FullRemark { description, refs }) => Self { description, refs },
        })
    }
}

impl JsonSchema for Remark {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Remark".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        RemarkForm::json_schema(generator)
    }
}

impl Contract for AggregationPacket {
    const NAME: SchemaName = SchemaName::AggregationPacket;

    fn check(&self, _: &mut Report) {}
}
