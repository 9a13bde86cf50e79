//! Reads records, one or those of a look-up.

use charter_contract::catalogue::evidence::{AbsenceReason, EvidenceRecord, PayloadAbsence};
use charter_contract::ids::{EvidenceId, TenantId, UserId};
use charter_contract::text::Text;
use charter_store::StoreError;
use charter_store::evidence::{EvidenceFilter, EvidenceHead};
use charter_store::page::{Page, PageRequest};

use super::{READING, WHAT, target};
use crate::column::{self, Cursor};
use crate::row::{Columns, field};
use crate::tx::{Dialect, SqlValue, StatementBuilder, Tx, params, row, rows, rows_within};

const LOOKING_UP: &str = "looking up evidence";

/// The columns of [`head`].
const HEAD: &str = "evidence_id, body, CASE WHEN payload IS NULL THEN payload_removed_at END";

/// Returns the columns of [`record`].
fn record_columns(dialect: Dialect) -> String {
    let (list, object) = match dialect {
        Dialect::Sqlite => ("json_group_array", "json_object"),
        Dialect::Postgres => ("json_agg", "json_build_object"),
    };
    format!(
        "evidence_id, body, payload, payload_removed_at,
         (SELECT coalesce(CAST({list}({object}(target_kind, target_id) ORDER BY position) AS text), '[]')
          FROM evidence_attachment AS attached
          WHERE attached.tenant_id = evidence.tenant_id
            AND attached.evidence_id = evidence.evidence_id)"
    )
}

/// Reads [`record_columns`]; the last one has the attachments as a JSON array.
fn record(row: &dyn Columns) -> Result<EvidenceRecord, StoreError> {
    let id: &str = field(row, 0)?;
    let mut record: EvidenceRecord = column::parse_json(WHAT, id, field(row, 1)?)?;
    match field::<Option<&str>>(row, 2)? {
        Some(payload) => record.payload = column::parse_json(WHAT, id, payload)?,
        None => record.payload_absent = Some(removed(id, field(row, 3)?)?),
    }
    record.attached_to = column::parse_json("attachments of evidence", id, field(row, 4)?)?;
    Ok(record)
}

/// Reads [`HEAD`].
fn head(row: &dyn Columns) -> Result<EvidenceHead, StoreError> {
    let id: &str = field(row, 0)?;
    let record: EvidenceRecord = column::parse_json(WHAT, id, field(row, 1)?)?;
    let removed_at: Option<i64> = field(row, 2)?;
    Ok(EvidenceHead {
        payload_absent: removed_at.map(|at| removed(id, at)).transpose()?,
        ..record.into()
    })
}

/// Returns the note that replaces a removed payload.
fn removed(id: &str, at: i64) -> Result<PayloadAbsence, StoreError> {
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

/// Builds the statement of a look-up, with its values. It has only the requested conditions, so that each combination
/// uses its own index.
fn query<'v>(
    columns: &str,
    tenant: &'v TenantId,
    filter: &'v EvidenceFilter,
    page: &PageRequest,
) -> Result<(String, Vec<SqlValue<'v>>), StoreError> {
    let sql = format!("SELECT {columns} FROM evidence WHERE true");
    let mut asked = StatementBuilder::new(sql);
    asked.and("tenant_id = ?", [tenant.as_str().into()]);
    if let Some(user) = &filter.user_id {
        asked.and("user_id = ?", [user.as_str().into()]);
    }
    if let Some(attachment) = &filter.attached_to {
        let (kind, id) = target("filter", attachment)?;
        asked.and(
            "evidence_id IN (SELECT evidence_id FROM evidence_attachment
             WHERE tenant_id = ? AND target_kind = ? AND target_id = ?)",
            [tenant.as_str(), kind, id].map(SqlValue::from),
        );
    }
    if let Some(evidence_type) = filter.evidence_type {
        asked.and("evidence_type = ?", [evidence_type.as_str().into()]);
    }
    if let Some(system) = &filter.system {
        asked.and("system = ?", [system.into()]);
    }
    if let Some(from) = filter.captured_from {
        asked.and("captured_at >= ?", [column::micros(from).into()]);
    }
    if let Some(until) = filter.captured_until {
        asked.and("captured_at < ?", [column::micros(until).into()]);
    }
    if let Some(after) = &page.after {
        let Cursor { at, id } = Cursor::decode(after)?;
        asked.and(
            "(captured_at, evidence_id) > (?, ?)",
            [at.into(), id.into()],
        );
    }
    let limit = column::limit(page.limit() + 1);
    asked.push(" ORDER BY captured_at, evidence_id LIMIT ?", [limit.into()]);
    Ok(asked.whole())
}

pub(super) async fn get(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    evidence: &EvidenceId,
) -> Result<Option<EvidenceRecord>, StoreError> {
    let columns = record_columns(tx.dialect());
    let sql = format!("SELECT {columns} FROM evidence WHERE tenant_id = $1 AND evidence_id = $2");
    let values = params![tenant.as_str(), evidence.as_str()];
    row(READING, tx, &sql, values, record).await
}

pub(super) async fn user(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    evidence: &EvidenceId,
) -> Result<Option<UserId>, StoreError> {
    let sql = "SELECT user_id FROM evidence WHERE tenant_id = $1 AND evidence_id = $2";
    let values = params![tenant.as_str(), evidence.as_str()];
    let found = row(READING, tx, sql, values, |row| {
        column::parse_user(field(row, 0)?)
    })
    .await?;
    Ok(found.flatten())
}

pub(super) async fn find(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    filter: &EvidenceFilter,
    page: &PageRequest,
) -> Result<Page<EvidenceRecord>, StoreError> {
    let (sql, values) = query(&record_columns(tx.dialect()), tenant, filter, page)?;
    let listed = rows_within(LOOKING_UP, tx, &sql, &values, record).await?;
    Ok(listed.page(page, |record| Cursor {
        at: column::micros(record.captured_at),
        id: record.id.to_string(),
    }))
}

pub(super) async fn list(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    filter: &EvidenceFilter,
    page: &PageRequest,
) -> Result<Page<EvidenceHead>, StoreError> {
    let (sql, values) = query(HEAD, tenant, filter, page)?;
    let entries = rows(LOOKING_UP, tx, &sql, &values, head).await?;
    Ok(column::page(entries, page, |head| Cursor {
        at: column::micros(head.captured_at),
        id: head.id.to_string(),
    }))
}
