//! Evidence as it is looked up, and what of a record a caller may see.

use charter_contract::catalogue::evidence::{
    AbsenceReason, Attachment, EvidenceRecord, EvidenceSource, EvidenceType, PayloadAbsence,
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

use crate::ground::error::newest_known;
use crate::{Caller, Engine, EngineError};

/// What to look evidence up by. Absent fields do not restrict.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EvidenceQuery {
    /// Attached to exactly this.
    pub attached_to: Option<Attachment>,
    /// Of this type.
    pub evidence_type: Option<EvidenceType>,
    /// From this system.
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

/// A record in a listing: without its payload and what it is attached to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EvidenceEntry {
    /// Its id.
    pub id: EvidenceId,
    /// What kind of proof it is.
    #[serde(rename = "type")]
    pub evidence_type: EvidenceType,
    /// When it was captured.
    pub captured_at: Timestamp,
    /// Where it comes from.
    pub source: EvidenceSource,
    /// What it shows, in a sentence.
    pub summary: Text,
    /// Who may see the payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redaction_class: Option<Label>,
    /// Why the payload is not to be had; absent while it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_absent: Option<PayloadAbsence>,
}

/// One page of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "EvidencePage")]
pub struct EvidencePage {
    /// By time of capture.
    pub entries: Vec<EvidenceEntry>,
    /// Where the next page starts.
    pub next: Option<String>,
}

impl Engine {
    /// The records that the caller sees and that fit, by capture time, without their payloads.
    ///
    /// # Errors
    /// `invalid_document` for a range that ends before it starts (B000-19).
    pub async fn list_evidence(
        &self,
        caller: &Caller,
        query: EvidenceQuery,
        page: &PageRequest,
    ) -> Result<EvidencePage, EngineError> {
        let filter = query.filter(caller)?;
        let found = self.store().list_evidence(&caller.tenant, &filter, page);
        let found = found.await?;
        let entries = found.entries.into_iter().map(|head| entry(caller, head));
        Ok(EvidencePage {
            entries: entries.collect::<Result<_, _>>()?,
            next: found.next,
        })
    }
}

/// A range of time that does not end before it starts.
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

/// The record as this caller may see it: its redaction class decides about the payload.
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

/// The same of a record in a listing.
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
    })
}

/// What is said to a caller who may not see payloads of a class.
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

impl Engine {
    /// The error for a record that the caller does not see, which lists the newest that it sees.
    pub(crate) async fn no_evidence(
        &self,
        caller: &Caller,
        id: &EvidenceId,
    ) -> Result<EngineError, EngineError> {
        let (query, page) = (EvidenceQuery::default(), newest_known());
        let seen = self.list_evidence(caller, query, &page).await?;
        let ids = seen.entries.iter().map(|seen| seen.id.as_str());
        Ok(EngineError::not_found("evidence record", id).knowing(ids))
    }
}
