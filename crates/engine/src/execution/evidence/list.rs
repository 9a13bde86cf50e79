//! Queries for evidence, and the visible parts of a record.

use charter_contract::catalogue::evidence::{
    AbsenceReason, Attachment, EvidenceReceipt, EvidenceRecord, EvidenceSource, EvidenceType,
    PayloadAbsence,
};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{EvidenceId, Label};
use charter_contract::text::Text;
use charter_contract::time::Timestamp;
use charter_domain::redaction;
use charter_store::evidence::{EvidenceFilter, EvidenceHead};
use charter_store::page::PageRequest;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Map;

use super::EvidenceService;
use crate::ground::error::newest_known;
use crate::{Caller, EngineError};

/// A filter for evidence. Absent fields do not restrict.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EvidenceQuery {
    /// Attached to exactly this.
    pub attached_to: Option<Attachment>,
    /// The type.
    pub evidence_type: Option<EvidenceType>,
    /// The system of origin.
    pub system: Option<String>,
    /// Captured at or after.
    pub from: Option<Timestamp>,
    /// Captured before.
    pub until: Option<Timestamp>,
}

impl EvidenceQuery {
    fn filter(self, caller: &Caller) -> Result<EvidenceFilter, EngineError> {
        check_range(self.from, self.until)?;
        Ok(EvidenceFilter {
            user_id: caller.only_own().cloned(),
            attached_to: self.attached_to,
            evidence_type: self.evidence_type,
            system: self.system,
            captured_from: self.from,
            captured_until: self.until,
        })
    }
}

/// A record in a listing: without its payload and attachments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EvidenceEntry {
    /// Its id.
    pub id: EvidenceId,
    /// The kind of proof.
    #[serde(rename = "type")]
    pub evidence_type: EvidenceType,
    /// When it was captured.
    pub captured_at: Timestamp,
    /// Its source.
    pub source: EvidenceSource,
    /// A summary in a sentence.
    pub summary: Text,
    /// The class that determines the readers of the payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redaction_class: Option<Label>,
    /// Why the payload is absent; absent if the payload is available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_absent: Option<PayloadAbsence>,
    /// Its receipt; absent for a record that Charter captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<EvidenceReceipt>,
}

/// One page of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "EvidencePage")]
pub struct EvidencePage {
    /// By capture time.
    pub entries: Vec<EvidenceEntry>,
    /// Cursor to the next page.
    pub next: Option<String>,
}

impl EvidenceService {
    /// Lists the matching records that are visible to the caller, by capture time, without their payloads.
    ///
    /// # Errors
    /// `invalid_document` for a range that ends before it starts (B000-19).
    pub async fn list(
        &self,
        caller: &Caller,
        query: EvidenceQuery,
        page: &PageRequest,
    ) -> Result<EvidencePage, EngineError> {
        let filter = query.filter(caller)?;
        let found = self.store.list_evidence(&caller.tenant, &filter, page);
        let found = found.await?;
        let entries = found.entries.into_iter().map(|head| entry(caller, head));
        Ok(EvidencePage {
            entries: entries.collect::<Result<_, _>>()?,
            next: found.next,
        })
    }
}

/// Checks that a time range does not end before it starts.
///
/// # Errors
/// `invalid_document` (B000-19).
pub(crate) fn check_range(
    from: Option<Timestamp>,
    until: Option<Timestamp>,
) -> Result<(), EngineError> {
    if let (Some(from), Some(until)) = (from, until)
        && until < from
    {
        let message = format!("the range ends ({until}) before it starts ({from})");
        return Err(EngineError::new(ErrorCode::InvalidDocument, message));
    }
    Ok(())
}

/// Redacts a record for this caller: its redaction class decides about the payload.
pub(super) fn redacted(
    caller: &Caller,
    mut record: EvidenceRecord,
) -> Result<EvidenceRecord, EngineError> {
    let class = record.redaction_class.as_ref();
    if record.payload_absent.is_none()
        && let Some(absence) = absence(caller, class)?
    {
        record.payload = Map::new();
        record.payload_absent = Some(absence);
    }
    Ok(record)
}

/// Redacts a record in a listing for this caller.
fn entry(caller: &Caller, head: EvidenceHead) -> Result<EvidenceEntry, EngineError> {
    let withheld = absence(caller, head.redaction_class.as_ref())?;
    Ok(EvidenceEntry {
        id: head.id,
        evidence_type: head.evidence_type,
        captured_at: head.captured_at,
        source: head.source,
        summary: head.summary,
        redaction_class: head.redaction_class,
        payload_absent: head.payload_absent.or(withheld),
        receipt: head.receipt,
    })
}

/// Returns the note for a caller who may not see payloads of a class.
fn absence(caller: &Caller, class: Option<&Label>) -> Result<Option<PayloadAbsence>, EngineError> {
    let Some(class) = withheld(caller, class) else {
        return Ok(None);
    };
    let note = format!("payload withheld: its redaction class is `{class}`");
    let note = Text::parse(&note)
        .map_err(|error| EngineError::internal("withholding a payload", error))?;
    Ok(Some(PayloadAbsence {
        reason: AbsenceReason::Withheld,
        note,
    }))
}

/// The class for which this caller may not see a payload.
pub(crate) fn withheld<'c>(caller: &Caller, class: Option<&'c Label>) -> Option<&'c Label> {
    class.filter(|class| !caller.role.may_call(redaction::level(Some(class))))
}

impl EvidenceService {
    /// The error for a record that the caller does not see, which lists the newest that it sees.
    pub(crate) async fn no_record(
        &self,
        caller: &Caller,
        id: &EvidenceId,
    ) -> Result<EngineError, EngineError> {
        let (query, page) = (EvidenceQuery::default(), newest_known());
        let seen = self.list(caller, query, &page).await?;
        let ids = seen.entries.iter().map(|seen| seen.id.as_str());
        Ok(EngineError::not_found("evidence record", id).knowing(ids))
    }
}
