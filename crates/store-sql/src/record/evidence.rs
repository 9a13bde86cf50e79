//! Evidence: rows, and look-up statements.

use charter_contract::catalogue::evidence::{
    AbsenceReason, Attachment, EvidenceRecord, PayloadAbsence,
};
use charter_contract::ids::{EvidenceRunId, TenantId};
use charter_contract::text::Text;
use charter_domain::evidence_log::SealedRecord;
use charter_domain::evidence_log::entry::SALT_BYTES;
use charter_store::StoreError;
use charter_store::evidence::{EvidenceFilter, EvidenceHead};
use charter_store::page::PageRequest;

use super::asked::{StatementBuilder, Value};
use crate::column::{self, Cursor};
use crate::row::{Columns, field};

pub(crate) const WHAT: &str = "evidence record";

pub(crate) fn salt() -> Result<[u8; SALT_BYTES], StoreError> {
    let mut salt = [0; SALT_BYTES];
    getrandom::fill(&mut salt).map_err(|source| StoreError::Engine {
        doing: "generating the salt of a payload",
        source: Box::new(source),
    })?;
    Ok(salt)
}

pub(crate) fn target<'a>(
    id: &str,
    attachment: &'a Attachment,
) -> Result<(&'static str, &'a str), StoreError> {
    attachment.target().ok_or_else(|| StoreError::Refused {
        what: WHAT,
        id: id.to_owned(),
        detail: "an attachment must have exactly one target".to_owned(),
    })
}

/// Returns the id of the run that captured a record: the first run that it was attached to at its capture.
pub(crate) fn run_of(record: &EvidenceRecord) -> Option<&str> {
    let mut runs = record
        .attached_to
        .iter()
        .filter_map(|attachment| attachment.run_id.as_ref());
    runs.next().map(EvidenceRunId::as_str)
}

/// Reads `evidence_id, body, payload, payload_removed_at`, and its attachments as a JSON array.
pub(crate) fn record(row: &dyn Columns) -> Result<EvidenceRecord, StoreError> {
    let id: &str = field(row, 0)?;
    let mut record: EvidenceRecord = column::parse_json(WHAT, id, field(row, 1)?)?;
    match field::<Option<&str>>(row, 2)? {
        Some(payload) => record.payload = column::parse_json(WHAT, id, payload)?,
        None => record.payload_absent = Some(removed(id, field(row, 3)?)?),
    }
    record.attached_to = column::parse_json("attachments of evidence", id, field(row, 4)?)?;
    Ok(record)
}

/// The columns of [`head`], in every engine.
pub(crate) const HEAD: &str =
    "evidence_id, body, CASE WHEN payload IS NULL THEN payload_removed_at END";

/// Reads [`HEAD`].
pub(crate) fn head(row: &dyn Columns) -> Result<EvidenceHead, StoreError> {
    let id: &str = field(row, 0)?;
    let record: EvidenceRecord = column::parse_json(WHAT, id, field(row, 1)?)?;
    let removed_at: Option<i64> = field(row, 2)?;
    Ok(EvidenceHead {
        payload_absent: removed_at.map(|at| removed(id, at)).transpose()?,
        ..record.into()
    })
}

/// Returns the note that replaces a removed payload.
pub(crate) fn removed(id: &str, at: i64) -> Result<PayloadAbsence, StoreError> {
    let note = format!("payload removed on {}", column::parse_micros(at)?);
    let note = Text::parse(&note).map_err(|error| StoreError::Corrupt {
        what: WHAT,
        id: id.to_owned(),
        detail: error.to_string(),
    })?;
    Ok(PayloadAbsence {
        reason: AbsenceReason::Removed,
        note,
    })
}

/// Seals a new record, with its payload behind a salt.
pub(crate) fn seal(tenant: &TenantId, record: &EvidenceRecord) -> Result<SealedRecord, StoreError> {
    let refused = |detail: &str| StoreError::Refused {
        what: WHAT,
        id: record.id.to_string(),
        detail: detail.to_owned(),
    };
    if record.tenant_id != *tenant {
        return Err(refused("it belongs to another tenant"));
    }
    if record.payload_absent.is_some() {
        return Err(refused("a new record needs its payload"));
    }
    SealedRecord::seal(record, salt()?).map_err(|error| refused(&error.to_string()))
}

/// The SQL dialect of an engine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect {
    /// The columns of [`record`].
    pub(crate) columns: &'static str,
    /// The key by which an attachment refers to its record.
    pub(crate) key: &'static str,
    /// The prefix of placeholders.
    pub(crate) mark: char,
}

/// Builds the statement of a look-up, with its values. It has only the requested conditions, so that each combination
/// uses its own index.
pub(crate) fn query(
    dialect: Dialect,
    tenant: &TenantId,
    filter: &EvidenceFilter,
    page: &PageRequest,
) -> Result<(String, Vec<Value>), StoreError> {
    let Dialect { columns, key, .. } = dialect;
    let mut asked = StatementBuilder::new(
        format!("SELECT {columns} FROM evidence WHERE true"),
        dialect.mark,
    );
    let text = |text: &str| Value::Text(text.to_owned());
    asked.and("tenant_id = ?", [text(tenant.as_str())]);
    if let Some(user) = &filter.user_id {
        asked.and("user_id = ?", [text(user.as_str())]);
    }
    if let Some(attachment) = &filter.attached_to {
        let (kind, id) = target("filter", attachment)?;
        let condition = format!(
            "{key} IN (SELECT {key} FROM evidence_attachment
             WHERE tenant_id = ? AND target_kind = ? AND target_id = ?)"
        );
        asked.and(&condition, [tenant.as_str(), kind, id].map(text));
    }
    if let Some(evidence_type) = filter.evidence_type {
        asked.and("evidence_type = ?", [text(evidence_type.as_str())]);
    }
    if let Some(system) = &filter.system {
        asked.and("system = ?", [text(system)]);
    }
    if let Some(from) = filter.captured_from {
        asked.and("captured_at >= ?", [Value::Integer(column::micros(from))]);
    }
    if let Some(until) = filter.captured_until {
        asked.and("captured_at < ?", [Value::Integer(column::micros(until))]);
    }
    if let Some(after) = &page.after {
        let Cursor { at, id } = Cursor::decode(after)?;
        let after = [Value::Integer(at), Value::Text(id)];
        asked.and("(captured_at, evidence_id) > (?, ?)", after);
    }
    let limit = Value::Integer(column::limit(page.limit() + 1));
    asked.push(" ORDER BY captured_at, evidence_id LIMIT ?", [limit]);
    Ok(asked.whole())
}
