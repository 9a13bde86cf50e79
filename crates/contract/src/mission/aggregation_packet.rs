//! Aggregation packets (002 §10): the draft before the review.

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

/// What the workers found, brought together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct AggregationPacket {
    /// `aggregation_packet`.
    pub schema_name: AggregationPacketTag,
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
    pub packet_id: PacketId,
    /// The draft, in short.
    pub summary: Text,
    /// Each claim and what supports it (B002-10).
    #[serde(default)]
    pub evidence_matrix: Vec<SupportedClaim>,
    /// Where sources disagree.
    #[serde(default)]
    pub contradictions: Vec<Remark>,
    /// What is not covered.
    #[serde(default)]
    pub coverage_gaps: Vec<Remark>,
    /// The output that is proposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommended_output: Option<Map<String, Value>>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub producer: Label,
}

/// A claim and what supports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct SupportedClaim {
    /// The claim.
    pub claim: Text,
    /// Results, entities or evidence that support it.
    pub support_refs: Vec<Text>,
}

/// A contradiction or a gap. The seed shows only empty lists; this form is ours.
/// A plain string is accepted and stored as the description.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// What it is.
    pub description: Text,
    /// What it concerns.
    pub refs: Vec<Text>,
}

/// The two forms in which a remark may be written.
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
