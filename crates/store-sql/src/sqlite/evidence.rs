//! Evidence in SQLite. Triggers refuse every change and deletion but one: a payload may be removed
//! (`migrations/V2__evidence_log.sql`).
//!
//! A record's body is kept as it was captured, its payload beside it. Its attachments, those of the capture and later
//! ones, are rows of their own, by which it is found; a record is read back with all of them.

use async_trait::async_trait;
use charter_contract::catalogue::evidence::{
    AbsenceReason, Attachment, EvidenceRecord, PayloadAbsence,
};
use charter_contract::ids::{EvidenceId, TenantId};
use charter_contract::text::Text;
use charter_contract::time::Timestamp;
use charter_domain::evidence_log::entry::SALT_BYTES;
use charter_domain::evidence_log::{Entry, Sealed};
use charter_store::StoreError;
use charter_store::evidence::{Evidence, EvidenceFilter};
use charter_store::page::{Page, PageRequest};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params, params_from_iter};

use super::SqliteStore;
use super::evidence_log;
use super::statement::{field, insert, row, rows};
use crate::column::{self, Cursor};

const READING: &str = "reading evidence";
const WRITING: &str = "writing evidence";
const WHAT: &str = "evidence record";

/// What [`record`] reads.
const COLUMNS: &str = "evidence_key, evidence_id, body, payload, payload_removed_at";

fn put(
    connection: &Connection,
    tenant: &TenantId,
    record: &EvidenceRecord,
) -> Result<(), StoreError> {
    let id = record.id.as_str();
    let refused = |detail: &str| StoreError::Refused {
        what: WHAT,
        id: id.to_owned(),
        detail: detail.to_owned(),
    };
    if record.tenant_id != *tenant {
        return Err(refused("it names another tenant"));
    }
    if record.payload_absent.is_some() {
        return Err(refused("a new record has its payload"));
    }
    let sealed = Sealed::seal(record, salt()?).map_err(|error| refused(&error.to_string()))?;
    let captured_at = column::micros(record.captured_at);
    let key = insert(
        WRITING,
        connection,
        "INSERT INTO evidence
         (tenant_id, evidence_id, evidence_type, captured_at, system, native_id, body, payload,
          payload_salt)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
        params![
            tenant.as_str(),
            id,
            record.evidence_type.as_str(),
            captured_at,
            record.source.system.as_str(),
            record.source.native_id.as_str(),
            sealed.record,
            sealed.payload,
            sealed.salt
        ],
    )?
    .ok_or_else(|| StoreError::AlreadyExists {
        what: WHAT,
        id: id.to_owned(),
    })?;
    for attachment in &record.attached_to {
        attach(connection, (key, id), tenant, attachment, captured_at)?;
    }
    evidence_log::append(connection, tenant, key, &sealed.entry(record.id.clone()))
}

fn salt() -> Result<[u8; SALT_BYTES], StoreError> {
    let mut salt = [0; SALT_BYTES];
    getrandom::fill(&mut salt).map_err(|source| StoreError::Engine {
        doing: "drawing the salt of a payload",
        source: Box::new(source),
    })?;
    Ok(salt)
}

/// Whether the attachment is new.
fn attach(
    connection: &Connection,
    (key, id): (i64, &str),
    tenant: &TenantId,
    attachment: &Attachment,
    at: i64,
) -> Result<bool, StoreError> {
    let (target_kind, target_id) = target(id, attachment)?;
    insert(
        "attaching evidence",
        connection,
        "INSERT INTO evidence_attachment (evidence_key, tenant_id, target_kind, target_id, at)
         VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
        params![key, tenant.as_str(), target_kind, target_id, at],
    )
    .map(|new| new.is_some())
}

fn target<'a>(id: &str, attachment: &'a Attachment) -> Result<(&'static str, &'a str), StoreError> {
    attachment.target().ok_or_else(|| StoreError::Refused {
        what: WHAT,
        id: id.to_owned(),
        detail: "an attachment names exactly one thing".to_owned(),
    })
}

/// Reads [`COLUMNS`].
fn record(connection: &Connection, row: &Row<'_>) -> Result<EvidenceRecord, StoreError> {
    let key: i64 = field(row, 0)?;
    let id: String = field(row, 1)?;
    let body: String = field(row, 2)?;
    let mut record: EvidenceRecord = column::parse_json(WHAT, &id, &body)?;
    match field::<Option<String>>(row, 3)? {
        Some(payload) => record.payload = column::parse_json(WHAT, &id, &payload)?,
        None => record.payload_absent = Some(removed(&id, field(row, 4)?)?),
    }
    record.attached_to = rows(
        READING,
        connection,
        "SELECT json_object(target_kind, target_id) FROM evidence_attachment
         WHERE evidence_key = ?1 ORDER BY attachment_key",
        [key],
        |row| {
            let attachment: String = field(row, 0)?;
            column::parse_json("attachment of evidence", &id, &attachment)
        },
    )?;
    Ok(record)
}

/// What a record says whose payload was removed.
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

fn find(
    connection: &Connection,
    tenant: &TenantId,
    filter: &EvidenceFilter,
    page: &PageRequest,
) -> Result<Page<EvidenceRecord>, StoreError> {
    let (sql, values) = query(tenant, filter, page)?;
    let entries = rows(
        "looking up evidence",
        connection,
        &sql,
        params_from_iter(values),
        |row| record(connection, row),
    )?;
    Ok(column::page(entries, page, |record| Cursor {
        at: column::micros(record.captured_at),
        id: record.id.to_string(),
    }))
}

/// Only the conditions that are asked for, so that each combination uses its own index.
fn query(
    tenant: &TenantId,
    filter: &EvidenceFilter,
    page: &PageRequest,
) -> Result<(String, Vec<Value>), StoreError> {
    let mut sql = format!("SELECT {COLUMNS} FROM evidence WHERE tenant_id = ?");
    let mut values = vec![Value::from(tenant.to_string())];
    let mut restrict = |condition: &str, of: Vec<Value>| {
        sql.push_str(" AND ");
        sql.push_str(condition);
        values.extend(of);
    };
    if let Some(attachment) = &filter.attached_to {
        let (kind, id) = target("filter", attachment)?;
        restrict(
            "evidence_key IN (SELECT evidence_key FROM evidence_attachment
             WHERE tenant_id = ? AND target_kind = ? AND target_id = ?)",
            [tenant.as_str(), kind, id]
                .map(|t| t.to_owned().into())
                .to_vec(),
        );
    }
    if let Some(evidence_type) = filter.evidence_type {
        restrict("evidence_type = ?", vec![evidence_type.to_string().into()]);
    }
    if let Some(system) = &filter.system {
        restrict("system = ?", vec![system.clone().into()]);
    }
    if let Some(from) = filter.captured_from {
        restrict("captured_at >= ?", vec![column::micros(from).into()]);
    }
    if let Some(until) = filter.captured_until {
        restrict("captured_at < ?", vec![column::micros(until).into()]);
    }
    if let Some(after) = &page.after {
        let Cursor { at, id } = Cursor::decode(after)?;
        restrict(
            "(captured_at, evidence_id) > (?, ?)",
            vec![at.into(), id.into()],
        );
    }
    sql.push_str(" ORDER BY captured_at, evidence_id LIMIT ?");
    values.push(column::limit(page.limit() + 1).into());
    Ok((sql, values))
}

#[async_trait]
impl Evidence for SqliteStore {
    async fn put_evidence(
        &self,
        tenant: &TenantId,
        records: &[EvidenceRecord],
    ) -> Result<(), StoreError> {
        let (tenant, records) = (tenant.clone(), records.to_vec());
        self.write(move |connection| {
            records
                .iter()
                .try_for_each(|record| put(connection, &tenant, record))
        })
        .await
    }

    async fn attach_evidence(
        &self,
        tenant: &TenantId,
        evidence: &EvidenceId,
        attachment: &Attachment,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let (tenant, evidence) = (tenant.clone(), evidence.clone());
        let attachment = attachment.clone();
        self.write(move |connection| {
            let key = row(
                READING,
                connection,
                "SELECT evidence_key FROM evidence WHERE tenant_id = ?1 AND evidence_id = ?2",
                [tenant.as_str(), evidence.as_str()],
                |row| field(row, 0),
            )?
            .ok_or_else(|| StoreError::NotFound {
                what: WHAT,
                id: evidence.to_string(),
            })?;
            let id = evidence.as_str();
            let micros = column::micros(at);
            if !attach(connection, (key, id), &tenant, &attachment, micros)? {
                return Ok(());
            }
            let entry = Entry::Attachment {
                evidence_id: evidence.clone(),
                attached_to: attachment,
                at,
            };
            evidence_log::append(connection, &tenant, key, &entry)
        })
        .await
    }

    async fn evidence(
        &self,
        tenant: &TenantId,
        evidence: &EvidenceId,
    ) -> Result<Option<EvidenceRecord>, StoreError> {
        let (tenant, evidence) = (tenant.clone(), evidence.clone());
        self.read(move |connection| {
            row(
                READING,
                connection,
                &format!(
                    "SELECT {COLUMNS} FROM evidence WHERE tenant_id = ?1 AND evidence_id = ?2"
                ),
                [tenant.as_str(), evidence.as_str()],
                |row| record(connection, row),
            )
        })
        .await
    }

    async fn find_evidence(
        &self,
        tenant: &TenantId,
        filter: &EvidenceFilter,
        page: &PageRequest,
    ) -> Result<Page<EvidenceRecord>, StoreError> {
        let (tenant, filter, page) = (tenant.clone(), filter.clone(), page.clone());
        self.read(move |connection| find(connection, &tenant, &filter, &page))
            .await
    }
}
