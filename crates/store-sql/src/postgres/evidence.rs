//! Evidence in PostgreSQL. Triggers refuse every change and deletion except the removal of a payload.
//!
//! A record's body is stored as captured, with its payload in a separate column. Its attachments, from the capture and
//! later, are separate rows by which it is looked up; reading a record returns all of them. Writers of a tenant's
//! evidence lock the tenant's log.

mod gather;

use async_trait::async_trait;
use charter_contract::catalogue::evidence::{Attachment, EvidenceRecord};
use charter_contract::ids::{EvidenceId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_domain::evidence_log::LogEntry;
use charter_store::StoreError;
use charter_store::evidence::{Evidence, EvidenceFilter, EvidenceHead};
use charter_store::page::{Page, PageRequest};
use deadpool_postgres::Transaction;

pub(super) use self::gather::Gathering;
use super::PostgresStore;
use super::connection::{RowScope, in_transaction};
use super::evidence_log::Log;
use super::statement::{bound, execute, params, row, rows, rows_within};
use crate::column::{self, Cursor};
use crate::record::evidence::{self as record, Dialect, WHAT};
use crate::row::field;

const READING: &str = "reading evidence";
const WRITING: &str = "writing evidence";
const LOOKING_UP: &str = "looking up evidence";

/// The SQL dialect of look-ups.
const DIALECT: Dialect = Dialect {
    columns: "evidence_id, body, payload, payload_removed_at,
        (SELECT coalesce(json_agg(json_build_object(target_kind, target_id) ORDER BY position), '[]')
         FROM evidence_attachment AS attached
         WHERE attached.tenant_id = evidence.tenant_id
           AND attached.evidence_id = evidence.evidence_id)::text",
    key: "evidence_id",
    mark: '$',
};

async fn put_all(
    connection: &Transaction<'_>,
    tenant: &TenantId,
    records: impl Iterator<Item = &EvidenceRecord>,
) -> Result<(), StoreError> {
    let mut log = Log::hold(connection, tenant).await?;
    for record in records {
        insert_record(connection, tenant, record, &mut log).await?;
    }
    Ok(())
}

async fn insert_record(
    connection: &Transaction<'_>,
    tenant: &TenantId,
    record: &EvidenceRecord,
    log: &mut Log,
) -> Result<(), StoreError> {
    let id = record.id.as_str();
    let sealed = record::seal(tenant, record)?;
    let captured_at = column::micros(record.captured_at);
    let added = execute(
        WRITING,
        connection,
        "INSERT INTO evidence
         (tenant_id, evidence_id, evidence_type, captured_at, system, native_id, body, payload,
          payload_salt, user_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,
                 coalesce((SELECT user_id FROM run WHERE tenant_id = $1 AND run_id = $10), ''))
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
            sealed.salt.as_slice(),
            record::run_of(record)
        ],
    )
    .await?;
    if added == 0 {
        return Err(StoreError::AlreadyExists {
            what: WHAT,
            id: id.to_owned(),
        });
    }
    for attachment in &record.attached_to {
        attach(connection, (tenant.as_str(), id), attachment, captured_at).await?;
    }
    log.append(connection, &sealed.entry(record.id.clone()))
        .await
}

/// Attaches a record; returns whether the attachment is new.
async fn attach(
    connection: &Transaction<'_>,
    (tenant, id): (&str, &str),
    attachment: &Attachment,
    at: i64,
) -> Result<bool, StoreError> {
    let (target_kind, target_id) = record::target(id, attachment)?;
    let added = execute(
        "attaching evidence",
        connection,
        "INSERT INTO evidence_attachment (tenant_id, evidence_id, target_kind, target_id, at)
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
        params![tenant, id, target_kind, target_id, at],
    )
    .await?;
    Ok(added > 0)
}

async fn attach_later(
    connection: &Transaction<'_>,
    tenant: &TenantId,
    evidence: &EvidenceId,
    attachment: &Attachment,
    at: Timestamp,
) -> Result<(), StoreError> {
    let key = (tenant.as_str(), evidence.as_str());
    let sql = "SELECT FROM evidence WHERE tenant_id = $1 AND evidence_id = $2";
    let known = row(READING, connection, sql, params![key.0, key.1], |_| Ok(())).await?;
    known.ok_or_else(|| StoreError::NotFound {
        what: WHAT,
        id: evidence.to_string(),
    })?;
    if !attach(connection, key, attachment, column::micros(at)).await? {
        return Ok(());
    }
    let entry = LogEntry::Attachment {
        evidence_id: evidence.clone(),
        attached_to: attachment.clone(),
        at,
    };
    let mut log = Log::hold(connection, tenant).await?;
    log.append(connection, &entry).await
}

#[async_trait]
impl Evidence for PostgresStore {
    async fn put_evidence(
        &self,
        tenant: &TenantId,
        records: &[EvidenceRecord],
    ) -> Result<(), StoreError> {
        if records.is_empty() {
            return Ok(());
        }
        self.put_gathered(tenant, records).await
    }

    async fn attach_evidence(
        &self,
        tenant: &TenantId,
        evidence: &EvidenceId,
        attachment: &Attachment,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        in_transaction!(self, RowScope::Tenant(tenant), tx => attach_later(&tx, tenant, evidence, attachment, at))
    }

    async fn evidence(
        &self,
        tenant: &TenantId,
        evidence: &EvidenceId,
    ) -> Result<Option<EvidenceRecord>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        row(
            READING,
            &client,
            &format!(
                "SELECT {} FROM evidence WHERE tenant_id = $1 AND evidence_id = $2",
                DIALECT.columns
            ),
            params![tenant.as_str(), evidence.as_str()],
            record::record,
        )
        .await
    }

    async fn evidence_user(
        &self,
        tenant: &TenantId,
        evidence: &EvidenceId,
    ) -> Result<Option<UserId>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        let found = row(
            READING,
            &client,
            "SELECT user_id FROM evidence WHERE tenant_id = $1 AND evidence_id = $2",
            params![tenant.as_str(), evidence.as_str()],
            |row| column::parse_user(field(row, 0)?),
        )
        .await?;
        Ok(found.flatten())
    }

    async fn find_evidence(
        &self,
        tenant: &TenantId,
        filter: &EvidenceFilter,
        page: &PageRequest,
    ) -> Result<Page<EvidenceRecord>, StoreError> {
        let (sql, values) = record::query(DIALECT, tenant, filter, page)?;
        let client = self.client(RowScope::Tenant(tenant)).await?;
        let values = bound(&values);
        let listed = rows_within(LOOKING_UP, &client, &sql, &values, record::record).await?;
        Ok(listed.page(page, |record| Cursor {
            at: column::micros(record.captured_at),
            id: record.id.to_string(),
        }))
    }

    async fn list_evidence(
        &self,
        tenant: &TenantId,
        filter: &EvidenceFilter,
        page: &PageRequest,
    ) -> Result<Page<EvidenceHead>, StoreError> {
        let dialect = Dialect {
            columns: record::HEAD,
            ..DIALECT
        };
        let (sql, values) = record::query(dialect, tenant, filter, page)?;
        let client = self.client(RowScope::Tenant(tenant)).await?;
        let entries = rows(LOOKING_UP, &client, &sql, &bound(&values), record::head).await?;
        Ok(column::page(entries, page, |head| Cursor {
            at: column::micros(head.captured_at),
            id: head.id.to_string(),
        }))
    }
}
