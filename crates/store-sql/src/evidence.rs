//! Evidence. Triggers refuse every change and deletion except the removal of a payload.
//!
//! A record's body is stored as captured, with its payload in a separate column. Its attachments, from the capture and
//! later, are separate rows by which it is looked up; reading a record returns all of them. Writers of a tenant's
//! evidence lock the tenant's log.

mod read;

use std::borrow::Borrow;
use std::sync::Arc;

use async_trait::async_trait;
use charter_contract::catalogue::evidence::{Attachment, EvidenceRecord};
use charter_contract::ids::{EvidenceId, EvidenceRunId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_domain::evidence_log::entry::SALT_BYTES;
use charter_domain::evidence_log::{LogEntry, SealedRecord};
use charter_store::StoreError;
use charter_store::evidence::{Evidence, EvidenceFilter, EvidenceHead};
use charter_store::page::{Page, PageRequest};

use crate::column;
use crate::evidence_log::Log;
use crate::store::{Access, RowScope, SqlEngine, SqlStore};
use crate::tx::{SqlValue, Tx, execute, execute_many, params, row, row_each};

const WHAT: &str = "evidence record";
const READING: &str = "reading evidence";
const ATTACHING: &str = "attaching evidence";

/// Attaches a record, unless it is attached already.
const ATTACH: &str =
    "INSERT INTO evidence_attachment (tenant_id, evidence_id, target_kind, target_id, at)
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";

fn target<'a>(id: &str, attachment: &'a Attachment) -> Result<(&'static str, &'a str), StoreError> {
    attachment.target().ok_or_else(|| StoreError::Refused {
        what: WHAT,
        id: id.to_owned(),
        detail: "an attachment must have exactly one target".to_owned(),
    })
}

/// Seals a new record, with its payload behind a salt.
fn seal(tenant: &TenantId, record: &EvidenceRecord) -> Result<SealedRecord, StoreError> {
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
    let mut salt = [0; SALT_BYTES];
    getrandom::fill(&mut salt).map_err(|source| StoreError::Engine {
        doing: "generating the salt of a payload",
        source: Box::new(source),
    })?;
    SealedRecord::seal(record, salt).map_err(|error| refused(&error.to_string()))
}

/// Writes records with their leaves, by the holder of the tenant's log.
pub(crate) async fn add<R: Borrow<EvidenceRecord> + Sync>(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    records: &[R],
    log: &mut Log<'_>,
) -> Result<(), StoreError> {
    let mut sealed = Vec::with_capacity(records.len());
    let mut attachments = Vec::new();
    for record in records {
        let record: &EvidenceRecord = record.borrow();
        sealed.push((record, seal(tenant, record)?));
        let at = column::micros(record.captured_at);
        for attachment in &record.attached_to {
            attachments.push(attachment_values(
                tenant,
                record.id.as_str(),
                attachment,
                at,
            )?);
        }
    }
    insert(tx, tenant, &sealed).await?;
    execute_many(ATTACHING, tx, ATTACH, &attachments).await?;
    let entries = sealed.iter();
    let entries: Vec<_> = entries
        .map(|(record, sealed)| sealed.entry(record.id.clone()))
        .collect();
    log.append(tx, &entries).await
}

async fn insert(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    sealed: &[(&EvidenceRecord, SealedRecord)],
) -> Result<(), StoreError> {
    let mut rows = Vec::with_capacity(sealed.len());
    for (record, sealed) in sealed {
        // The run that captured the record is the first one that it was attached to at its capture.
        let mut attached = record.attached_to.iter();
        let run = attached.find_map(|attachment| attachment.run_id.as_ref());
        let submitter = record.receipt.as_ref();
        let submitter = submitter.map_or("", |receipt| receipt.submitted_by.as_str());
        let values = params![
            tenant.as_str(),
            record.id.as_str(),
            record.evidence_type.as_str(),
            column::micros(record.captured_at),
            record.source.system.as_str(),
            record.source.native_id.as_str(),
            &sealed.record,
            &sealed.payload,
            sealed.salt.as_slice(),
            run.map(EvidenceRunId::as_str),
            submitter
        ];
        rows.push(values.to_vec());
    }
    let added = row_each(
        "writing evidence",
        tx,
        "INSERT INTO evidence
         (tenant_id, evidence_id, evidence_type, captured_at, system, native_id, body, payload,
          payload_salt, user_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,
                 coalesce(nullif((SELECT user_id FROM run WHERE tenant_id = $1 AND run_id = $10), ''), $11))
         ON CONFLICT DO NOTHING RETURNING 1",
        &rows,
        |_| Ok(()),
    )
    .await?;
    match sealed.iter().zip(added).find(|(_, added)| added.is_none()) {
        Some(((record, _), _)) => Err(StoreError::AlreadyExists {
            what: WHAT,
            id: record.id.to_string(),
        }),
        None => Ok(()),
    }
}

/// Returns the values of [`ATTACH`].
fn attachment_values<'v>(
    tenant: &'v TenantId,
    id: &'v str,
    attachment: &'v Attachment,
    at: i64,
) -> Result<Vec<SqlValue<'v>>, StoreError> {
    let (target_kind, target_id) = target(id, attachment)?;
    Ok(params![tenant.as_str(), id, target_kind, target_id, at].to_vec())
}

async fn attach_later(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    evidence: &EvidenceId,
    attachment: &Attachment,
    at: Timestamp,
) -> Result<(), StoreError> {
    let sql = "SELECT 1 FROM evidence WHERE tenant_id = $1 AND evidence_id = $2";
    let id = evidence.as_str();
    let known = row(READING, tx, sql, params![tenant.as_str(), id], |_| Ok(())).await?;
    known.ok_or_else(|| StoreError::NotFound {
        what: WHAT,
        id: id.to_owned(),
    })?;
    let values = attachment_values(tenant, id, attachment, column::micros(at))?;
    if execute(ATTACHING, tx, ATTACH, &values).await? > 0 {
        let entry = LogEntry::Attachment {
            evidence_id: evidence.clone(),
            attached_to: attachment.clone(),
            at,
        };
        let mut log = Log::hold(tx, tenant).await?;
        log.append(tx, &[entry]).await?;
    }
    Ok(())
}

/// Writes the records of one or several calls in one transaction.
pub(crate) async fn put_together<E: SqlEngine>(
    engine: &E,
    tenant: &TenantId,
    calls: Vec<Arc<[EvidenceRecord]>>,
) -> Result<(), StoreError> {
    let scope = RowScope::Tenant(tenant);
    let values = (tenant.clone(), calls);
    engine
        .run(Access::Write, scope, values, |tx, (tenant, calls)| {
            Box::pin(async move {
                let mut log = Log::hold(tx, tenant).await?;
                let records: Vec<_> = calls.iter().flat_map(|records| records.iter()).collect();
                add(tx, tenant, &records, &mut log).await
            })
        })
        .await
}

/// An engine that writes evidence, each call in a transaction of its own or several calls together.
pub(crate) trait EvidenceWriter: SqlEngine + Sized {
    fn put(
        &self,
        tenant: &TenantId,
        records: Arc<[EvidenceRecord]>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        put_together(self, tenant, vec![records])
    }
}

#[async_trait]
impl<E: EvidenceWriter> Evidence for SqlStore<E> {
    async fn put_evidence(
        &self,
        tenant: &TenantId,
        records: &[EvidenceRecord],
    ) -> Result<(), StoreError> {
        if records.is_empty() {
            return Ok(());
        }
        self.engine.put(tenant, records.into()).await
    }

    async fn attach_evidence(
        &self,
        tenant: &TenantId,
        evidence: &EvidenceId,
        attachment: &Attachment,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), evidence.clone(), attachment.clone());
        self.engine
            .run(
                Access::Write,
                scope,
                values,
                move |tx, (tenant, evidence, attachment)| {
                    Box::pin(attach_later(tx, tenant, evidence, attachment, at))
                },
            )
            .await
    }

    async fn evidence(
        &self,
        tenant: &TenantId,
        evidence: &EvidenceId,
    ) -> Result<Option<EvidenceRecord>, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), evidence.clone());
        self.engine
            .run(Access::Read, scope, values, |tx, (tenant, evidence)| {
                Box::pin(read::get(tx, tenant, evidence))
            })
            .await
    }

    async fn evidence_user(
        &self,
        tenant: &TenantId,
        evidence: &EvidenceId,
    ) -> Result<Option<UserId>, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), evidence.clone());
        self.engine
            .run(Access::Read, scope, values, |tx, (tenant, evidence)| {
                Box::pin(read::user(tx, tenant, evidence))
            })
            .await
    }

    async fn find_evidence(
        &self,
        tenant: &TenantId,
        filter: &EvidenceFilter,
        page: &PageRequest,
    ) -> Result<Page<EvidenceRecord>, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), filter.clone(), page.clone());
        self.engine
            .run(Access::Read, scope, values, |tx, (tenant, filter, page)| {
                Box::pin(read::find(tx, tenant, filter, page))
            })
            .await
    }

    async fn list_evidence(
        &self,
        tenant: &TenantId,
        filter: &EvidenceFilter,
        page: &PageRequest,
    ) -> Result<Page<EvidenceHead>, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), filter.clone(), page.clone());
        self.engine
            .run(Access::Read, scope, values, |tx, (tenant, filter, page)| {
                Box::pin(read::list(tx, tenant, filter, page))
            })
            .await
    }
}
