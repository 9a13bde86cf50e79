//! Evidence that callers submit: records in the seed's form (000 §2.14), of which the server sets id, links, tenant and
//! receipt. Types and bounds only: links and access are decided elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::evidence::{
    Attachment, ConsoleLink, EvidenceSchemaVersion, EvidenceSource, EvidenceType,
};
use crate::bounds::{EVIDENCE_ATTACHMENTS, EVIDENCE_NATIVE_ID, EVIDENCE_SUMMARY};
use crate::ids::{EstateViewId, EvidenceId, Label, TenantId};
use crate::text::Text;
use crate::time::Timestamp;
use crate::violation::Report;

object_only!(EvidenceSubmission);

/// A record as a caller submits it. The seed's whole record is accepted; of the fields that the server sets, only the
/// id is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct EvidenceSubmission {
    /// Id of the record; the server makes one if it is absent. An id can be used once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<EvidenceId>,
    /// The seed's name of `id`.
    #[serde(rename = "_id", default, skip_serializing_if = "Option::is_none")]
    pub seed_id: Option<EvidenceId>,
    /// Version of this form; always 1 so far.
    #[serde(default)]
    pub schema_version: EvidenceSchemaVersion,
    /// Not used: the record has the time of its receipt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// The seed's name of `created_at`; not used.
    #[serde(
        rename = "_created_at",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub seed_created_at: Option<Timestamp>,
    /// The kind of proof.
    #[serde(rename = "type")]
    pub evidence_type: EvidenceType,
    /// Capture time, not in the future.
    pub captured_at: Timestamp,
    /// View of the estate under which it was captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estate_view_id: Option<EstateViewId>,
    /// Its source; only a `manual_note` can do without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<EvidenceSource>,
    /// Not used: the server makes the links from type and source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub console_links: Vec<ConsoleLink>,
    /// Captured data; only a `manual_note` can do without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Map<String, Value>>,
    /// A summary in a sentence.
    pub summary: Text,
    /// Claims that the record supports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached_to: Vec<Attachment>,
    /// Tenant of the submitter; the credential determines it, and another one is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Redaction class, which decides the readers of the payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redaction_class: Option<Label>,
}

/// First part of the names of systems whose records Charter writes itself.
const OWN_SYSTEM: &str = "charter";

impl EvidenceSubmission {
    /// Returns the given id, under either of its names.
    #[must_use]
    pub fn given_id(&self) -> Option<&EvidenceId> {
        self.id.as_ref().or(self.seed_id.as_ref())
    }

    /// Collects the violations that the schema does not express.
    pub fn check(&self, report: &mut Report) {
        self.check_id(report);
        self.check_parts(report);
        self.check_attachments(report);
        let summary = self.summary.as_str().len();
        if summary > EVIDENCE_SUMMARY {
            let message = format!("{summary} bytes; the limit is {EVIDENCE_SUMMARY}");
            report.meaning("/summary", "too_long", message);
        }
    }

    fn check_id(&self, report: &mut Report) {
        if let (Some(id), Some(seed_id)) = (&self.id, &self.seed_id)
            && id != seed_id
        {
            let message = format!("`id` is `{id}`, but `_id` is `{seed_id}`");
            report.consistency("/_id", "conflict", message);
        }
        if self.given_id().is_some_and(EvidenceId::is_derived) {
            let message = "ids of this form belong to records that Charter captures: omit the id, or give a ULID";
            report.meaning("/id", "reserved", message.to_owned());
        }
    }

    fn check_parts(&self, report: &mut Report) {
        let is_note = self.evidence_type == EvidenceType::ManualNote;
        for (pointer, is_absent) in [
            ("/source", self.source.is_none()),
            ("/payload", self.payload.is_none()),
        ] {
            if is_absent && !is_note {
                let message = format!("a record of the type `{}` needs it", self.evidence_type);
                report.meaning(pointer, "required", message);
            }
        }
        let Some(source) = &self.source else { return };
        let system = source.system.as_str();
        let first = system.split('.').next().unwrap_or_default();
        if first.eq_ignore_ascii_case(OWN_SYSTEM) {
            let message = format!("`{system}` belongs to records that Charter writes itself");
            report.meaning("/source/system", "reserved", message);
        }
        let native_id = source.native_id.as_str().len();
        if native_id > EVIDENCE_NATIVE_ID {
            let message = format!("{native_id} bytes; the limit is {EVIDENCE_NATIVE_ID}");
            report.meaning("/source/native_id", "too_long", message);
        }
    }

    fn check_attachments(&self, report: &mut Report) {
        let given = self.attached_to.len();
        if given > EVIDENCE_ATTACHMENTS {
            let message = format!("{given} attachments; the limit is {EVIDENCE_ATTACHMENTS}");
            report.meaning("/attached_to", "too_long", message);
        }
        for (at, attachment) in self.attached_to.iter().enumerate() {
            if attachment.target().is_none() {
                let message = "an attachment has exactly one of report_item_id, finding_id, plan_id, bundle_id, run_id";
                let pointer = format!("/attached_to/{at}");
                report.meaning(pointer, "exactly_one", message.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn violations_in(document: &Value) -> Vec<(String, String)> {
        let mut report = Report::new();
        let record = EvidenceSubmission::deserialize(document).unwrap();
        record.check(&mut report);
        let found = report.violations.into_iter();
        found.map(|one| (one.pointer, one.keyword)).collect()
    }

    /// The seed's own record can be submitted as it is.
    #[test]
    fn the_seeds_record_is_accepted() {
        let record = include_str!("../../tests/seeds/evidence.json");
        let record: Value = crate::json::decode_stored(record).unwrap();
        assert_eq!(violations_in(&record), vec![]);
        let record = EvidenceSubmission::deserialize(&record).unwrap();
        let id = record.given_id().map(EvidenceId::as_str);
        assert_eq!(id, Some("ev_01HX..."));
    }

    #[test]
    fn a_note_needs_neither_source_nor_payload() {
        let note = json!({
            "type": "manual_note", "captured_at": "2026-05-13T09:14:22Z", "summary": "The owner agreed by phone.",
        });
        assert_eq!(violations_in(&note), vec![]);
        let mut other = note;
        other["type"] = json!("pr_record");
        let expected = ["/source", "/payload"].map(|at| (at.to_owned(), "required".to_owned()));
        assert_eq!(violations_in(&other), expected);
    }

    /// A reader would take it for a record of Charter's own.
    #[test]
    fn systems_of_charter_are_reserved_in_every_spelling() {
        for system in ["charter", "Charter.approvals", "CHARTER.notes"] {
            let record = json!({
                "type": "manual_note", "captured_at": "2026-05-13T09:14:22Z", "summary": "s",
                "source": {"system": system, "native_id": "x"},
            });
            let expected = vec![("/source/system".to_owned(), "reserved".to_owned())];
            assert_eq!(violations_in(&record), expected, "{system}");
        }
    }

    #[test]
    fn reserved_and_unclear_values_are_violations() {
        let record = json!({
            "id": "ev_80000000000000000000000001", "_id": "ev_1", "type": "approval_record",
            "captured_at": "2026-05-13T09:14:22Z",
            "source": {"system": "charter.approvals", "native_id": "x".repeat(EVIDENCE_NATIVE_ID + 1)},
            "payload": {}, "summary": "y".repeat(EVIDENCE_SUMMARY + 1),
            "attached_to": [{"run_id": "r"}, {}, {"run_id": "r", "finding_id": "f"}],
        });
        let expected = [
            ("/_id", "conflict"),
            ("/id", "reserved"),
            ("/source/system", "reserved"),
            ("/source/native_id", "too_long"),
            ("/attached_to/1", "exactly_one"),
            ("/attached_to/2", "exactly_one"),
            ("/summary", "too_long"),
        ];
        let expected = expected.map(|(at, keyword)| (at.to_owned(), keyword.to_owned()));
        assert_eq!(violations_in(&record), expected);
    }
}
