//! Evidence records (seed 000 §2.14): immutable, typed proof of a claim. The signed log and the console links are made
//! elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{
    BundleId, EstateViewId, EvidenceId, EvidencePlanId, EvidenceRunId, FindingId, Label,
    ReportItemId, TenantId, UserId,
};
use crate::list::MAX_LIST;
use crate::number::Positive;
use crate::schema::SchemaName;
use crate::text::{HttpsUrl, ShortText, Text};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(
    EvidenceRecord,
    EvidenceSource,
    ConsoleLink,
    Attachment,
    PayloadAbsence,
    EvidenceReceipt
);

/// One evidence record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct EvidenceRecord {
    /// Id of the record.
    pub id: EvidenceId,
    /// Version of this form; always 1 so far.
    pub schema_version: EvidenceSchemaVersion,
    /// Storage time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// The kind of proof.
    #[serde(rename = "type")]
    pub evidence_type: EvidenceType,
    /// Capture time.
    pub captured_at: Timestamp,
    /// View of the estate under which it was captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estate_view_id: Option<EstateViewId>,
    /// Its source.
    pub source: EvidenceSource,
    /// Links for manual verification; at least one.
    #[schemars(length(min = 1, max = MAX_LIST))]
    #[serde(deserialize_with = "crate::list::one_or_more")]
    pub console_links: Vec<ConsoleLink>,
    /// Captured data as returned by the source; empty when `payload_absent` is present.
    pub payload: Map<String, Value>,
    /// Reason for a missing payload; absent while the payload is present. Only the store and the reader's permissions
    /// set it, never the capturing code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_absent: Option<PayloadAbsence>,
    /// A summary in a sentence.
    pub summary: Text,
    /// Claims that the record supports. Later attachments are separate link records (ruling 17).
    #[serde(default)]
    pub attached_to: Vec<Attachment>,
    /// Tenant that owns the record.
    pub tenant_id: TenantId,
    /// Redaction class, which decides the readers of the payload: `standard`, `restricted` or `secret`; an unknown
    /// class counts as the strictest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redaction_class: Option<Label>,
    /// Receipt of a submitted record; absent for a record that Charter captured. Only the server sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<EvidenceReceipt>,
}

/// Receipt of a record that a caller submitted (this project).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct EvidenceReceipt {
    /// Time of receipt.
    pub received_at: Timestamp,
    /// User whose credential submitted the record.
    pub submitted_by: UserId,
}

/// Version of the record's form (ruling 24: this family's own type).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EvidenceSchemaVersion;

impl Serialize for EvidenceSchemaVersion {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u8(1)
    }
}

impl<'de> Deserialize<'de> for EvidenceSchemaVersion {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Positive::deserialize(from)?.get() {
            1 => Ok(Self),
            other => Err(serde::de::Error::custom(format!(
                "unsupported version {other}"
            ))),
        }
    }
}

impl JsonSchema for EvidenceSchemaVersion {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EvidenceSchemaVersion".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "integer", "enum": [1] })
    }
}

string_enum! {
    /// Redaction class of a record's payload; `standard` is the seed's (000 §2.14), the others are this project's.
    pub enum RedactionClass {
        /// Readable by every caller that may read the record.
        Standard = "standard",
        /// Readable at the `system` permission level and above.
        Restricted = "restricted",
        /// Readable at the `admin` permission level.
        Secret = "secret",
    }
}

string_enum! {
    /// Reason for a missing payload (this project).
    pub enum AbsenceReason {
        /// Removed at the end of its retention period.
        Removed = "removed",
        /// Withheld, because the reader lacks permission for the redaction class.
        Withheld = "withheld",
    }
}

/// Explanation of a missing payload (this project).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct PayloadAbsence {
    /// Whether the payload was removed permanently or withheld from this reader.
    pub reason: AbsenceReason,
    /// Explanation in one sentence: `payload removed on 2026-05-13T09:14:22Z`.
    pub note: Text,
}

string_enum! {
    /// Type of evidence (000 §2.14); a closed set.
    pub enum EvidenceType {
        /// An AWS CloudTrail event.
        CloudtrailEvent = "cloudtrail_event",
        /// An Azure activity log entry.
        AzureActivityLog = "azure_activity_log",
        /// A snapshot of a resource configuration.
        ConfigSnapshot = "config_snapshot",
        /// An access policy.
        IamPolicy = "iam_policy",
        /// A line of a bill.
        BillingLine = "billing_line",
        /// A point of a metric.
        MetricPoint = "metric_point",
        /// A line of a log.
        LogLine = "log_line",
        /// A deployment.
        DeploymentRecord = "deployment_record",
        /// A pull request.
        PrRecord = "pr_record",
        /// A commit.
        CommitRecord = "commit_record",
        /// An approval.
        ApprovalRecord = "approval_record",
        /// An API call.
        ApiCall = "api_call",
        /// A manual note.
        ManualNote = "manual_note",
    }
}

/// Source of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct EvidenceSource {
    /// System: `aws.cloudtrail`.
    pub system: Label,
    /// Region of the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<ShortText>,
    /// Account, subscription or project of the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<ShortText>,
    /// Tenant of the cloud directory (ruling 17); not Charter's tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<ShortText>,
    /// Id of the evidence in the system.
    pub native_id: Text,
    /// API call that fetched the evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_call: Option<ShortText>,
}

/// A link for manual verification of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ConsoleLink {
    /// Label of the link.
    pub label: Text,
    /// URL of the page; always https (B000-19).
    pub href: HttpsUrl,
}

/// A claim that evidence supports: exactly one of the known keys (B000-19).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
#[derive(Default)]
pub struct Attachment {
    /// Id of a report item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_item_id: Option<ReportItemId>,
    /// Id of a finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding_id: Option<FindingId>,
    /// Id of a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<EvidencePlanId>,
    /// Id of a bundle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle_id: Option<BundleId>,
    /// Id of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<EvidenceRunId>,
}

impl Attachment {
    /// Returns the key and the id, if exactly one is present.
    #[must_use]
    pub fn target(&self) -> Option<(&'static str, &str)> {
        let keys = [
            (
                "report_item_id",
                self.report_item_id.as_ref().map(ReportItemId::as_str),
            ),
            (
                "finding_id",
                self.finding_id.as_ref().map(FindingId::as_str),
            ),
            ("plan_id", self.plan_id.as_ref().map(EvidencePlanId::as_str)),
            ("bundle_id", self.bundle_id.as_ref().map(BundleId::as_str)),
            ("run_id", self.run_id.as_ref().map(EvidenceRunId::as_str)),
        ];
        let mut given = keys
            .into_iter()
            .filter_map(|(key, id)| id.map(|id| (key, id)));
        let first = given.next();
        if given.next().is_some() { None } else { first }
    }
}

impl Contract for EvidenceRecord {
    const NAME: SchemaName = SchemaName::Evidence;

    // B000-19.
    fn check(&self, report: &mut Report) {
        for (at, attachment) in self.attached_to.iter().enumerate() {
            if attachment.target().is_none() {
                let message = "an attachment has exactly one of report_item_id, finding_id, \
                               plan_id, bundle_id, run_id"
                    .to_owned();
                report.meaning(format!("/attached_to/{at}"), "exactly_one", message);
            }
        }
    }
}
