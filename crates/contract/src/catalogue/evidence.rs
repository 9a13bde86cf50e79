//! Evidence records (seed 000 §2.14): immutable, typed proof of a claim. The log
//! that signs them, and the links to consoles, are made elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{
    BundleId, EstateViewId, EvidenceId, EvidencePlanId, EvidenceRunId, FindingId, Label,
    ReportItemId, TenantId,
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
    PayloadAbsence
);

/// One record of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct EvidenceRecord {
    /// Its id.
    pub id: EvidenceId,
    /// Version of this form; 1 so far.
    pub schema_version: EvidenceSchemaVersion,
    /// When it was stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// The kind of proof.
    #[serde(rename = "type")]
    pub evidence_type: EvidenceType,
    /// When it was captured.
    pub captured_at: Timestamp,
    /// The view of the estate under which it was captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estate_view_id: Option<EstateViewId>,
    /// Its source.
    pub source: EvidenceSource,
    /// Links by which a person can check it; at least one.
    #[schemars(length(min = 1, max = MAX_LIST))]
    #[serde(deserialize_with = "crate::list::one_or_more")]
    pub console_links: Vec<ConsoleLink>,
    /// What was captured, as its source gave it; empty when `payload_absent` says why.
    pub payload: Map<String, Value>,
    /// Why the payload is not here; absent while it is. Only the store and the reader's
    /// permissions set it, never who captures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_absent: Option<PayloadAbsence>,
    /// A summary in a sentence.
    pub summary: Text,
    /// What it supports. Later attachments are link records of their own (ruling 17).
    #[serde(default)]
    pub attached_to: Vec<Attachment>,
    /// The tenant it belongs to.
    pub tenant_id: TenantId,
    /// Who may see the payload: `standard`, `restricted`, `secret`; another word counts as the
    /// strictest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redaction_class: Option<Label>,
}

/// Version of the record's form (ruling 24: this family's own type).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// Who may see the payload of a record; `standard` is the seed's (000 §2.14), the others are
    /// this project's.
    pub enum RedactionClass {
        /// Whoever may read the record.
        Standard = "standard",
        /// The `system` level and above.
        Restricted = "restricted",
        /// The `admin` level.
        Secret = "secret",
    }
}

string_enum! {
    /// Why a payload is not shown (this project).
    pub enum AbsenceReason {
        /// It was removed at the end of its retention.
        Removed = "removed",
        /// The reader's permission does not reach the redaction class.
        Withheld = "withheld",
    }
}

/// Why a record has no payload (this project).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct PayloadAbsence {
    /// Removed for good, or withheld from this reader.
    pub reason: AbsenceReason,
    /// In a sentence: `payload removed on 2026-05-13T09:14:22Z`.
    pub note: Text,
}

string_enum! {
    /// Types of evidence (000 §2.14); a closed set.
    pub enum EvidenceType {
        /// An event of AWS CloudTrail.
        CloudtrailEvent = "cloudtrail_event",
        /// An entry of the Azure activity log.
        AzureActivityLog = "azure_activity_log",
        /// The configuration of a resource.
        ConfigSnapshot = "config_snapshot",
        /// A policy of access.
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
        /// A call of an API.
        ApiCall = "api_call",
        /// A person's note.
        ManualNote = "manual_note",
    }
}

/// Where evidence comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct EvidenceSource {
    /// The system: `aws.cloudtrail`.
    pub system: Label,
    /// Region of the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<ShortText>,
    /// Account, subscription or project of the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<ShortText>,
    /// The cloud directory's tenant (ruling 17), not ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<ShortText>,
    /// Its id in the system.
    pub native_id: Text,
    /// The call that fetched it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_call: Option<ShortText>,
}

/// A link by which a person can check evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ConsoleLink {
    /// What the link shows.
    pub label: Text,
    /// The link, always https (B000-19).
    pub href: HttpsUrl,
}

/// What evidence supports: exactly one of the known keys (B000-19).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
#[derive(Default)]
pub struct Attachment {
    /// An item of a report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_item_id: Option<ReportItemId>,
    /// A finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding_id: Option<FindingId>,
    /// A plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<EvidencePlanId>,
    /// A bundle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle_id: Option<BundleId>,
    /// A run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<EvidenceRunId>,
}

impl Attachment {
    /// The key and id, when there is exactly one.
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
