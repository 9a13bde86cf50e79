//! Evidence in SQLite. Triggers refuse every change and deletion except the removal of a payload
//! (`migrations/V1__initial.sql`).
//!
//! A record's body is stored as captured, with its payload in a separate column. Its attachments, from the capture and
//! later, are separate rows by which it is looked up; reading a record returns all of them.

use async_trait::async_trait;
use charter_contract::catalogue::evidence::{Attachment, EvidenceRecord};
use charter_contract::ids::{EvidenceId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_domain::evidence_log::LogEntry;
use charter_store::StoreError;
use charter_store::evidence::{Evidence, EvidenceFilter, EvidenceHead};
use charter_store::page::{Page, PageRequest};
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::evidence_log;
use super::statement::{bound, insert, row, rows, rows_within};
use crate::column::{self, Cursor};
use crate::record::evidence::{self as record, Dialect, WHAT};
use crate::row::field;

const READING: &str = "reading evidence";
const WRITING: &str = "writing evidence";
const LOOKING_UP: &str = "looking up evidence";
/// The SQL dialect of look-ups.
const DIALECT: Dialect = Dialect {
    columns: "evidence_id, body, payload, payload_removed_at,
        (SELECT json_group_array(json(target)) FROM
            (SELECT json_object(target_kind, target_id) AS target FROM evidence_attachment
             WHERE evidence_attachment.evidence_key = evidence.evidence_key
             ORDER BY attachment_key))",
    key: "evidence_key",
    mark: '?',
};

fn insert_record(
    connection: &Connection,
    tenant: &TenantId,
    record: &EvidenceRecord,
) -> Result<(), StoreError> {
    let id = record.id.as_str();
    let sealed = record::seal(tenant, record)?;
    let captured_at = column::micros(record.captured_at);
    let key = insert(
        WRITING,
        connection,
        "INSERT INTO evidence
         (tenant_id, evidence_id, evidence_type, captured_at, system, native_id, body, payload,
          payload_salt, user_id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,
                 coalesce((SELECT user_id FROM run WHERE run_id = ?10 AND tenant_id = ?1), ''))
         ON CONFLICT DO NOTHING",
        params![
            tenant.as_str(),
            id,
            record.evidence_type.as_str(),
            captured_at,
            record.source.system.as_str(),
            record.source.native_id.as_str(),
            sealed.record,
            sealed.payload,
            sealed.salt,
            record::run_of(record)
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

/// Attaches a record; returns whether the attachment is new.
fn attach(
    connection: &Connection,
    (key, id): (i64, &str),
    tenant: &TenantId,
    attachment: &Attachment,
    at: i64,
) -> Result<bool, StoreError> {
    let (target_kind, target_id) = record::target(id, attachment)?;
    insert(
        "attaching evidence",
        connection,
        "INSERT INTO evidence_attachment (evidence_key, tenant_id, target_kind, target_id, at)
         VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
        params![key, tenant.as_str(), target_kind, target_id, at],
    )
    .map(|new| new.is_some())
}

fn list(
    connection: &Connection,
    tenant: &TenantId,
    filter: &EvidenceFilter,
    page: &PageRequest,
) -> Result<Page<EvidenceHead>, StoreError> {
    let dialect = Dialect {
        columns: record::HEAD,
        ..DIALECT
    };
    let (sql, values) = record::query(dialect, tenant, filter, page)?;
    let entries = rows(LOOKING_UP, connection, &sql, bound(values), record::head)?;
    Ok(column::page(entries, page, |head| Cursor {
        at: column::micros(head.captured_at),
        id: head.id.to_string(),
    }))
}

fn find(
    connection: &Connection,
    tenant: &TenantId,
    filter: &EvidenceFilter,
    page: &PageRequest,
) -> Result<Page<EvidenceRecord>, StoreError> {
    let (sql, values) = record::query(DIALECT, tenant, filter, page)?;
    let listed = rows_within(LOOKING_UP, connection, &sql, bound(values), record::record)?;
    Ok(listed.page(page, |record| Cursor {
        at: column::micros(record.captured_at),
        id: record.id.to_string(),
    }))
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
                .try_for_each(|record| insert_record(connection, &tenant, record))
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
            let entry = LogEntry::Attachment {
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
                    "SELECT {} FROM evidence WHERE tenant_id = ?1 AND evidence_id = ?2",
                    DIALECT.columns
                ),
                [tenant.as_str(), evidence.as_str()],
                record::record,
            )
        })
        .await
    }

    async fn evidence_user(
        &self,
        tenant: &TenantId,
        evidence: &EvidenceId,
    ) -> Result<Option<UserId>, StoreError> {
        let (tenant, evidence) = (tenant.clone(), evidence.clone());
        self.read(move |connection| {
            let found = row(
                READING,
                connection,
                "SELECT user_id FROM evidence WHERE tenant_id = ?1 AND evidence_id = ?2",
                [tenant.as_str(), evidence.as_str()],
                |row| column::parse_user(field(row, 0)?),
            )?;
            Ok(found.flatten())
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

    async fn list_evidence(
        &self,
        tenant: &TenantId,
        filter: &EvidenceFilter,
        page: &PageRequest,
    ) -> Result<Page<EvidenceHead>, StoreError> {
        let (tenant, filter, page) = (tenant.clone(), filter.clone(), page.clone());
        self.read(move |connection| list(connection, &tenant, &filter, &page))
            .await
    }
}
