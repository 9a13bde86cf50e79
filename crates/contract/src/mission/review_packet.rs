//! Review packets (002 §11): the outcome of the single review.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::version::{MissionSchemaVersion, schema_tag};
use crate::ids::{ActorId, Label, MissionId, PacketId, TenantId};
use crate::schema::SchemaName;
use crate::severity::Severity;
use crate::text::Text;
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(ReviewPacket, ReviewIssue);

schema_tag!(ReviewPacketTag = "review_packet");

/// The outcome of a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ReviewPacket {
    /// Always `review_packet`.
    pub schema_name: ReviewPacketTag,
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
    /// Outcome.
    pub review_status: ReviewStatus,
    /// Issues found.
    #[serde(default)]
    pub issues: Vec<ReviewIssue>,
    /// Edits required for the approval.
    #[serde(default)]
    pub required_edits: Vec<Text>,
    /// Approved output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_output: Option<Map<String, Value>>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Producer of the artifact.
    pub producer: Label,
}

/// An issue found in a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ReviewIssue {
    /// Severity of the issue.
    pub severity: Severity,
    /// Description of the issue.
    pub message: Text,
}

string_enum! {
    /// Outcome of a review (ruling 23).
    pub enum ReviewStatus {
        /// Approved unchanged.
        Approved = "approved",
        /// Approved with the listed edits.
        ApprovedWithEdits = "approved_with_edits",
        /// Rejected.
        Rejected = "rejected",
    }
}

impl Contract for ReviewPacket {
    const NAME: SchemaName = SchemaName::ReviewPacket;

    // B002-11.
    fn check(&self, report: &mut Report) {
        let has_output = self.approved_output.is_some();
        match self.review_status {
            ReviewStatus::Rejected if has_output => {
                let message = "a rejected review cannot have an approved output".to_owned();
                report.meaning("/approved_output", "review_status", message);
            }
            ReviewStatus::Approved | ReviewStatus::ApprovedWithEdits if !has_output => {
                let message = format!("a review that is {} needs its output", self.review_status);
                report.meaning("/approved_output", "required", message);
            }
            ReviewStatus::Approved | ReviewStatus::ApprovedWithEdits | ReviewStatus::Rejected => {}
        }
        if self.review_status == ReviewStatus::ApprovedWithEdits && self.required_edits.is_empty() {
            let message = "a review that is approved_with_edits needs at least one edit".to_owned();
            report.meaning("/required_edits", "minItems", message);
        }
    }
}
