//! Requests in SQLite.

use async_trait::async_trait;
use charter_contract::ids::{RequestId, RunId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::outbox::NewMessage;
use charter_store::page::{Page, PageRequest};
use charter_store::request::{RequestLease, RequestRecord, Requests};
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::outbox;
use super::statement::{execute, insert, row, rows, rows_within};
use crate::column::{self, Cursor};
use crate::record::request::{COLUMNS, OF_ENDED_RUN, no_result, oldest_first, record, taken};

const HOLDING: &str = "holding a request";

#[async_trait]
impl Requests for SqliteStore {
    async fn open_request(
        &self,
        request: &RequestRecord,
        hold: &RequestLease,
    ) -> Result<(), StoreError> {
        let (request, hold) = (request.clone(), hold.clone());
        self.write(move |connection| {
            insert(
                "opening a request",
                connection,
                "INSERT INTO request
                 (tenant_id, request_id, asked, created_at, updated_at, user_id, holder, held_until)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
                params![
                    request.tenant_id.as_str(),
                    request.request_id.as_str(),
                    request.asked,
                    column::micros(request.created_at),
                    column::micros(request.updated_at),
                    request.user_id.as_str(),
                    hold.holder,
                    column::micros(hold.until)
                ],
            )?
            .map(|_| ())
            .ok_or_else(|| taken("request", &request.request_id))
        })
        .await
    }

    async fn hold_request(
        &self,
        tenant: &TenantId,
        request: &RequestId,
        now: Timestamp,
        hold: &RequestLease,
    ) -> Result<bool, StoreError> {
        let (tenant, request, hold) = (tenant.clone(), request.clone(), hold.clone());
        self.write(move |connection| {
            let held = execute(
                HOLDING,
                connection,
                "UPDATE request SET holder = ?3, held_until = ?4
                 WHERE tenant_id = ?1 AND request_id = ?2 AND answer IS NULL
                   AND (holder IS NULL OR holder = ?3 OR held_until <= ?5)",
                params![
                    tenant.as_str(),
                    request.as_str(),
                    hold.holder,
                    column::micros(hold.until),
                    column::micros(now)
                ],
            )?;
            Ok(held > 0)
        })
        .await
    }

    async fn renew_requests(&self, hold: &RequestLease) -> Result<u64, StoreError> {
        let hold = hold.clone();
        self.write(move |connection| {
            let renewed = execute(
                HOLDING,
                connection,
                "UPDATE request SET held_until = ?2 WHERE holder = ?1 AND answer IS NULL",
                params![hold.holder, column::micros(hold.until)],
            )?;
            Ok(renewed as u64)
        })
        .await
    }

    async fn release_request(
        &self,
        tenant: &TenantId,
        request: &RequestId,
        holder: &str,
        again_at: Timestamp,
    ) -> Result<(), StoreError> {
        let (tenant, request, holder) = (tenant.clone(), request.clone(), holder.to_owned());
        self.write(move |connection| {
            execute(
                HOLDING,
                connection,
                "UPDATE request SET holder = NULL, held_until = ?4
                 WHERE tenant_id = ?1 AND request_id = ?2 AND holder = ?3 AND answer IS NULL",
                params![
                    tenant.as_str(),
                    request.as_str(),
                    holder,
                    column::micros(again_at)
                ],
            )
            .map(|_| ())
        })
        .await
    }

    async fn request(
        &self,
        tenant: &TenantId,
        request: &RequestId,
    ) -> Result<Option<RequestRecord>, StoreError> {
        let (tenant, request) = (tenant.clone(), request.clone());
        self.read(move |connection| {
            row(
                "reading a request",
                connection,
                &format!("SELECT {COLUMNS} FROM request WHERE tenant_id = ?1 AND request_id = ?2"),
                [tenant.as_str(), request.as_str()],
                record,
            )
        })
        .await
    }

    async fn requests_of(
        &self,
        tenant: &TenantId,
        user: Option<&UserId>,
        page: &PageRequest,
    ) -> Result<Page<RequestRecord>, StoreError> {
        let (tenant, user, page) = (tenant.clone(), user.cloned(), page.clone());
        self.read(move |connection| list(connection, &tenant, user.as_ref(), &page))
            .await
    }

    async fn record_verdict(
        &self,
        tenant: &TenantId,
        request: &RequestId,
        verdict: &str,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let (tenant, request, verdict) = (tenant.clone(), request.clone(), verdict.to_owned());
        self.write(move |connection| {
            let changed = execute(
                "recording a verdict",
                connection,
                "UPDATE request SET verdict = ?3, updated_at = ?4
                 WHERE tenant_id = ?1 AND request_id = ?2 AND verdict IS NULL",
                params![
                    tenant.as_str(),
                    request.as_str(),
                    verdict,
                    column::micros(at)
                ],
            )?;
            once(connection, changed, "verdict", &tenant, &request)
        })
        .await
    }

    async fn close_request(
        &self,
        tenant: &TenantId,
        request: &RequestId,
        answer: &str,
        run: Option<&RunId>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let (tenant, request, answer) = (tenant.clone(), request.clone(), answer.to_owned());
        let run = run.cloned();
        self.write(move |connection| {
            let changed = execute(
                "recording an answer",
                connection,
                "UPDATE request SET answer = ?3, updated_at = ?4, run_id = ?5, holder = NULL,
                 held_until = NULL
                 WHERE tenant_id = ?1 AND request_id = ?2 AND answer IS NULL",
                params![
                    tenant.as_str(),
                    request.as_str(),
                    answer,
                    column::micros(at),
                    run.as_ref().map(RunId::as_str)
                ],
            )?;
            once(connection, changed, "answer", &tenant, &request)
        })
        .await
    }

    async fn record_result(
        &self,
        tenant: &TenantId,
        request: &RequestId,
        result: &str,
        messages: Vec<NewMessage>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let (tenant, request, result) = (tenant.clone(), request.clone(), result.to_owned());
        self.write(move |connection| {
            let changed = execute(
                "recording a result",
                connection,
                "UPDATE request SET result = ?3, updated_at = ?4
                 WHERE tenant_id = ?1 AND request_id = ?2 AND run_id IS NOT NULL AND result IS NULL",
                params![
                    tenant.as_str(),
                    request.as_str(),
                    result,
                    column::micros(at)
                ],
            )?;
            if changed > 0 {
                return outbox::insert(connection, &messages);
            }
            let awaits = row(
                "reading a request",
                connection,
                "SELECT 1 FROM request WHERE tenant_id = ?1 AND request_id = ?2 AND run_id IS NOT NULL",
                [tenant.as_str(), request.as_str()],
                |_| Ok(()),
            )?;
            Err(no_result(awaits, &request))
        })
        .await
    }

    async fn request_of_run(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<RequestRecord>, StoreError> {
        let (tenant, run) = (tenant.clone(), run.clone());
        self.read(move |connection| {
            row(
                "reading a run's request",
                connection,
                &format!(
                    "SELECT {COLUMNS} FROM request
                     WHERE tenant_id = ?1 AND run_id = ?2 AND result IS NULL"
                ),
                [tenant.as_str(), run.as_str()],
                record,
            )
        })
        .await
    }

    async fn requests_of_ended_runs(&self, limit: usize) -> Result<Vec<RequestRecord>, StoreError> {
        self.read(move |connection| {
            let mut found = rows(
                "reading requests of ended runs",
                connection,
                &format!("SELECT {COLUMNS} FROM request WHERE {OF_ENDED_RUN} LIMIT ?1"),
                [column::limit(limit)],
                record,
            )?;
            oldest_first(&mut found);
            Ok(found)
        })
        .await
    }

    async fn take_requests(
        &self,
        now: Timestamp,
        hold: &RequestLease,
        limit: usize,
    ) -> Result<Vec<RequestRecord>, StoreError> {
        let hold = hold.clone();
        self.write(move |connection| {
            let mut taken = rows(
                "taking open requests",
                connection,
                &format!(
                    "UPDATE request SET holder = ?1, held_until = ?2 WHERE rowid IN (
                         SELECT rowid FROM request
                         WHERE answer IS NULL AND (held_until IS NULL OR held_until <= ?3)
                         ORDER BY created_at, tenant_id, request_id LIMIT ?4)
                     RETURNING {COLUMNS}"
                ),
                params![
                    hold.holder,
                    column::micros(hold.until),
                    column::micros(now),
                    column::limit(limit)
                ],
                record,
            )?;
            oldest_first(&mut taken);
            Ok(taken)
        })
        .await
    }

    async fn sweep_requests(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.sweep(
            "DELETE FROM request WHERE rowid IN
             (SELECT rowid FROM request WHERE answer IS NOT NULL AND updated_at < ?1
                AND (run_id IS NULL OR result IS NOT NULL OR NOT EXISTS (
                     SELECT 1 FROM run WHERE run.tenant_id = request.tenant_id
                     AND run.run_id = request.run_id AND run.phase <> 'finished'))
              LIMIT ?2)",
            column::micros(before),
        )
        .await
    }
}

fn list(
    connection: &Connection,
    tenant: &TenantId,
    user: Option<&UserId>,
    page: &PageRequest,
) -> Result<Page<RequestRecord>, StoreError> {
    let (at, id) = column::after(page)?;
    // A separate statement for each filter, so that each uses its index.
    let whose = match user {
        Some(_) => "user_id = ?2",
        None => "?2 IS NULL",
    };
    let listed = rows_within(
        "listing requests",
        connection,
        &format!(
            "SELECT {COLUMNS} FROM request
             WHERE tenant_id = ?1 AND {whose} AND (created_at, request_id) < (?3, ?4)
             ORDER BY created_at DESC, request_id DESC LIMIT ?5"
        ),
        params![
            tenant.as_str(),
            user.map(UserId::as_str),
            at,
            id,
            column::limit(page.limit() + 1)
        ],
        record,
    )?;
    Ok(listed.page(page, |request| Cursor {
        at: column::micros(request.created_at),
        id: request.request_id.to_string(),
    }))
}

/// Explains why nothing changed: the request does not exist, or already has the value.
fn once(
    connection: &Connection,
    changed: usize,
    what: &'static str,
    tenant: &TenantId,
    request: &RequestId,
) -> Result<(), StoreError> {
    if changed > 0 {
        return Ok(());
    }
    let known = row(
        "reading a request",
        connection,
        "SELECT 1 FROM request WHERE tenant_id = ?1 AND request_id = ?2",
        [tenant.as_str(), request.as_str()],
        |_| Ok(()),
    )?;
    Err(match known {
        Some(()) => taken(what, request),
        None => StoreError::NotFound {
            what: "request",
            id: request.to_string(),
        },
    })
}
