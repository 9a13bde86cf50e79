//! Evidence records (seed 000 §2.14): append-only, with later attachments as records of their own.

use async_trait::async_trait;
use charter_contract::catalogue::evidence::{
    Attachment, EvidenceReceipt, EvidenceRecord, EvidenceSource, EvidenceType, PayloadAbsence,
};
use charter_contract::ids::{EvidenceId, Label, TenantId, UserId};
use charter_contract::text::Text;
use charter_contract::time::Timestamp;

use crate::StoreError;
use crate::page::{Page, PageRequest};

/// Filter of a listing. Absent fields match all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EvidenceFilter {
    /// Only records of this user: from its runs, or submitted by it.
    pub user_id: Option<UserId>,
    /// Only records attached, at capture or later, to exactly this.
    pub attached_to: Option<Attachment>,
    /// Only records of this type.
    pub evidence_type: Option<EvidenceType>,
    /// Only records from this system, e.g. `aws.cloudtrail`.
    pub system: Option<String>,
    /// Captured at or after.
    pub captured_from: Option<Timestamp>,
    /// Captured before.
    pub captured_until: Option<Timestamp>,
}

/// A record without its payload and attachments: small for every record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceHead {
    /// Its id.
    pub id: EvidenceId,
    /// Its type.
    pub evidence_type: EvidenceType,
    /// When it was captured.
    pub captured_at: Timestamp,
    /// Its source.
    pub source: EvidenceSource,
    /// Its summary.
    pub summary: Text,
    /// The class that determines access to its payload.
    pub redaction_class: Option<Label>,
    /// Why its payload is absent, if it was removed.
    pub payload_absent: Option<PayloadAbsence>,
    /// Its receipt, if a caller submitted it.
    pub receipt: Option<EvidenceReceipt>,
}

impl From<EvidenceRecord> for EvidenceHead {
    fn from(record: EvidenceRecord) -> Self {
        Self {
            id: record.id,
            evidence_type: record.evidence_type,
            captured_at: record.captured_at,
            source: record.source,
            summary: record.summary,
            redaction_class: record.redaction_class,
            payload_absent: record.payload_absent,
            receipt: record.receipt,
        }
    }
}

/// Evidence. The engine itself refuses to change or delete a record (B000-19).
#[async_trait]
pub trait Evidence {
    /// Writes records, with a leaf of the evidence log for each, atomically. A record that is attached to a stored run
    /// of the tenant belongs to the run's user, also after the run is swept; any other submitted record belongs to its
    /// submitter.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`] for an id that the tenant has stored already; [`StoreError::Refused`] for a record
    /// that names another tenant or declares its payload absent, and for an attachment that does not name exactly one
    /// thing.
    async fn put_evidence(
        &self,
        tenant: &TenantId,
        records: &[EvidenceRecord],
    ) -> Result<(), StoreError>;

    /// Attaches a stored record to another thing, with a leaf of the evidence log for it; repeating an attachment
    /// changes nothing.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the tenant has no such record.
    async fn attach_evidence(
        &self,
        tenant: &TenantId,
        evidence: &EvidenceId,
        attachment: &Attachment,
        at: Timestamp,
    ) -> Result<(), StoreError>;

    /// Returns the record with all its attachments, those of its capture first, unless it is absent or another
    /// tenant's. A record whose payload was removed states that.
    async fn evidence(
        &self,
        tenant: &TenantId,
        evidence: &EvidenceId,
    ) -> Result<Option<EvidenceRecord>, StoreError>;

    /// Returns the user that the record belongs to; nothing if it is unknown, and for a record that is absent or
    /// another tenant's.
    async fn evidence_user(
        &self,
        tenant: &TenantId,
        evidence: &EvidenceId,
    ) -> Result<Option<UserId>, StoreError>;

    /// Returns a tenant's matching records, ordered by capture time and id.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for an invalid cursor.
    async fn find_evidence(
        &self,
        tenant: &TenantId,
        filter: &EvidenceFilter,
        page: &PageRequest,
    ) -> Result<Page<EvidenceRecord>, StoreError>;

    /// Returns the heads of the same records in the same order, without reading payloads.
    ///
    /// # Errors
    /// As for [`Evidence::find_evidence`].
    async fn list_evidence(
        &self,
        tenant: &TenantId,
        filter: &EvidenceFilter,
        page: &PageRequest,
    ) -> Result<Page<EvidenceHead>, StoreError>;
}
