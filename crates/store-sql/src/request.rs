//! Requests.

use async_trait::async_trait;
use charter_contract::ids::{RequestId, RunId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::outbox::NewMessage;
use charter_store::page::{Page, PageRequest};
use charter_store::request::{RequestLease, RequestRecord, Requests};

use crate::column::{self, Cursor};
use crate::outbox;
use crate::row::{Columns, field};
use crate::store::{Access, RowScope, SqlEngine, SqlStore, sweep};
use crate::tx::{Tx, execute, params, row, rows};

const WHAT: &str = "request";
const READING: &str = "reading a request";
const HOLDING: &str = "holding a request";

/// The columns of [`record`].
const COLUMNS: &str = "tenant_id, request_id, asked, verdict, answer, created_at, updated_at, user_id, \
     run_id, result";

fn record(row: &dyn Columns) -> Result<RequestRecord, StoreError> {
    let run: Option<&str> = field(row, 8)?;
    Ok(RequestRecord {
        tenant_id: column::parse(WHAT, field(row, 0)?)?,
        request_id: column::parse(WHAT, field(row, 1)?)?,
        asked: field(row, 2)?,
        verdict: field(row, 3)?,
        answer: field(row, 4)?,
        created_at: column::parse_micros(field(row, 5)?)?,
        updated_at: column::parse_micros(field(row, 6)?)?,
        user_id: column::parse(WHAT, field(row, 7)?)?,
        run_id: run.map(|run| column::parse(WHAT, run)).transpose()?,
        result: field(row, 9)?,
    })
}

/// Returns why a value was not recorded; `known` is whether there is a request that can have it.
fn unchanged(known: bool, what: &'static str, request: &RequestId) -> StoreError {
    let id = request.to_string();
    match known {
        true => StoreError::AlreadyExists { what, id },
        false => StoreError::NotFound { what: WHAT, id },
    }
}

/// Sorts the result of a change into the order of selection.
fn oldest_first(mut requests: Vec<RequestRecord>) -> Vec<RequestRecord> {
    requests.sort_by_key(|of| (of.created_at, of.tenant_id.clone(), of.request_id.clone()));
    requests
}

async fn put_result(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    request: &RequestId,
    result: &str,
    messages: &[NewMessage],
    at: i64,
) -> Result<(), StoreError> {
    let changed = execute(
        "recording a result",
        tx,
        "UPDATE request SET result = $3, updated_at = $4
         WHERE tenant_id = $1 AND request_id = $2 AND run_id IS NOT NULL AND result IS NULL",
        params![tenant.as_str(), request.as_str(), result, at],
    )
    .await?;
    if changed > 0 {
        return outbox::insert(tx, messages).await;
    }
    let sql =
        "SELECT 1 FROM request WHERE tenant_id = $1 AND request_id = $2 AND run_id IS NOT NULL";
    let values = params![tenant.as_str(), request.as_str()];
    let awaits = row(READING, tx, sql, values, |_| Ok(())).await?;
    Err(unchanged(awaits.is_some(), "result", request))
}

async fn take(
    tx: &mut Tx<'_>,
    now: i64,
    hold: &RequestLease,
    limit: i64,
) -> Result<Vec<RequestRecord>, StoreError> {
    let lock = tx.dialect().for_update_of_free_rows();
    rows(
        "taking open requests",
        tx,
        &format!(
            "UPDATE request SET holder = $1, held_until = $2
             WHERE (tenant_id, request_id) IN (
                 SELECT tenant_id, request_id FROM request
                 WHERE answer IS NULL AND (held_until IS NULL OR held_until <= $3)
                 ORDER BY created_at, tenant_id, request_id LIMIT $4{lock})
             RETURNING {COLUMNS}"
        ),
        params![&hold.holder, column::micros(hold.until), now, limit],
        record,
    )
    .await
}

/// Explains why nothing changed.
async fn once<E: SqlEngine>(
    store: &SqlStore<E>,
    changed: u64,
    what: &'static str,
    (tenant, request): (&TenantId, &RequestId),
) -> Result<(), StoreError> {
    if changed > 0 {
        return Ok(());
    }
    let known = store.request(tenant, request).await?;
    Err(unchanged(known.is_some(), what, request))
}

#[async_trait]
impl<E: SqlEngine> Requests for SqlStore<E> {
    async fn open_request(
        &self,
        request: &RequestRecord,
        hold: &RequestLease,
    ) -> Result<(), StoreError> {
        let added = self
            .engine
            .execute(
                RowScope::Tenant(&request.tenant_id),
                "opening a request",
                "INSERT INTO request
                 (tenant_id, request_id, asked, created_at, updated_at, user_id, holder, held_until)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
                params![
                    request.tenant_id.as_str(),
                    request.request_id.as_str(),
                    &request.asked,
                    column::micros(request.created_at),
                    column::micros(request.updated_at),
                    request.user_id.as_str(),
                    &hold.holder,
                    column::micros(hold.until)
                ],
            )
            .await?;
        match added {
            0 => Err(unchanged(true, WHAT, &request.request_id)),
            _ => Ok(()),
        }
    }

    async fn hold_request(
        &self,
        tenant: &TenantId,
        request: &RequestId,
        now: Timestamp,
        hold: &RequestLease,
    ) -> Result<bool, StoreError> {
        let held = self
            .engine
            .execute(
                RowScope::Tenant(tenant),
                HOLDING,
                "UPDATE request SET holder = $3, held_until = $4
                 WHERE tenant_id = $1 AND request_id = $2 AND answer IS NULL
                   AND (holder IS NULL OR holder = $3 OR held_until <= $5)",
                params![
                    tenant.as_str(),
                    request.as_str(),
                    &hold.holder,
                    column::micros(hold.until),
                    column::micros(now)
                ],
            )
            .await?;
        Ok(held > 0)
    }

    async fn renew_requests(&self, hold: &RequestLease) -> Result<u64, StoreError> {
        self.engine
            .run(Access::InTime, RowScope::Everyone, hold.clone(), |tx, hold| {
                Box::pin(async move {
                    let sql =
                        "UPDATE request SET held_until = $2 WHERE holder = $1 AND answer IS NULL";
                    let values = params![&hold.holder, column::micros(hold.until)];
                    execute(HOLDING, tx, sql, values).await
                })
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
        let again_at = column::micros(again_at);
        self.engine
            .execute(
                RowScope::Tenant(tenant),
                HOLDING,
                "UPDATE request SET holder = NULL, held_until = $4
                 WHERE tenant_id = $1 AND request_id = $2 AND holder = $3 AND answer IS NULL",
                params![tenant.as_str(), request.as_str(), holder, again_at],
            )
            .await
            .map(|_| ())
    }

    async fn request(
        &self,
        tenant: &TenantId,
        request: &RequestId,
    ) -> Result<Option<RequestRecord>, StoreError> {
        self.engine
            .row(
                RowScope::Tenant(tenant),
                READING,
                &format!("SELECT {COLUMNS} FROM request WHERE tenant_id = $1 AND request_id = $2"),
                params![tenant.as_str(), request.as_str()],
                record,
            )
            .await
    }

    async fn requests_of(
        &self,
        tenant: &TenantId,
        user: Option<&UserId>,
        page: &PageRequest,
    ) -> Result<Page<RequestRecord>, StoreError> {
        let (at, id) = column::after(page)?;
        // A separate statement for each filter, so that each uses its index.
        let of_user = match user {
            Some(_) => "user_id = $2",
            None => "CAST($2 AS text) IS NULL",
        };
        let (user, most) = (user.map(UserId::as_str), column::limit(page.limit() + 1));
        let listed = self
            .engine
            .rows_within(
                RowScope::Tenant(tenant),
                "listing requests",
                &format!(
                    "SELECT {COLUMNS} FROM request
                     WHERE tenant_id = $1 AND {of_user} AND (created_at, request_id) < ($3, $4)
                     ORDER BY created_at DESC, request_id DESC LIMIT $5"
                ),
                params![tenant.as_str(), user, at, id, most],
                record,
            )
            .await?;
        Ok(listed.page(page, |request| Cursor {
            at: column::micros(request.created_at),
            id: request.request_id.to_string(),
        }))
    }

    async fn record_verdict(
        &self,
        tenant: &TenantId,
        request: &RequestId,
        verdict: &str,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let at = column::micros(at);
        let changed = self
            .engine
            .execute(
                RowScope::Tenant(tenant),
                "recording a verdict",
                "UPDATE request SET verdict = $3, updated_at = $4
                 WHERE tenant_id = $1 AND request_id = $2 AND verdict IS NULL",
                params![tenant.as_str(), request.as_str(), verdict, at],
            )
            .await?;
        once(self, changed, "verdict", (tenant, request)).await
    }

    async fn close_request(
        &self,
        tenant: &TenantId,
        request: &RequestId,
        answer: &str,
        run: Option<&RunId>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let (run, at) = (run.map(RunId::as_str), column::micros(at));
        let changed = self
            .engine
            .execute(
                RowScope::Tenant(tenant),
                "recording an answer",
                "UPDATE request SET answer = $3, updated_at = $4, run_id = $5, holder = NULL,
                 held_until = NULL
                 WHERE tenant_id = $1 AND request_id = $2 AND answer IS NULL",
                params![tenant.as_str(), request.as_str(), answer, at, run],
            )
            .await?;
        once(self, changed, "answer", (tenant, request)).await
    }

    async fn record_result(
        &self,
        tenant: &TenantId,
        request: &RequestId,
        result: &str,
        messages: Vec<NewMessage>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let count = messages.len();
        let values = (tenant.clone(), request.clone(), result.to_owned(), messages);
        let at = column::micros(at);
        self.engine
            .run(
                Access::Write,
                RowScope::Tenant(tenant),
                values,
                move |tx, (tenant, request, result, messages)| {
                    Box::pin(put_result(tx, tenant, request, result, messages, at))
                },
            )
            .await?;
        self.engine.announce(count);
        Ok(())
    }

    async fn request_of_run(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<RequestRecord>, StoreError> {
        self.engine
            .row(
                RowScope::Tenant(tenant),
                "reading a run's request",
                &format!(
                    "SELECT {COLUMNS} FROM request
                     WHERE tenant_id = $1 AND run_id = $2 AND result IS NULL"
                ),
                params![tenant.as_str(), run.as_str()],
                record,
            )
            .await
    }

    async fn requests_of_ended_runs(&self, limit: usize) -> Result<Vec<RequestRecord>, StoreError> {
        let found = self
            .engine
            .rows(
                RowScope::Everyone,
                "reading requests of ended runs",
                &format!(
                    "SELECT {COLUMNS} FROM request
                     WHERE run_id IS NOT NULL AND result IS NULL AND EXISTS (
                         SELECT 1 FROM run WHERE run.tenant_id = request.tenant_id
                         AND run.run_id = request.run_id AND run.phase = 'finished')
                     LIMIT $1"
                ),
                params![column::limit(limit)],
                record,
            )
            .await?;
        Ok(oldest_first(found))
    }

    async fn take_requests(
        &self,
        now: Timestamp,
        hold: &RequestLease,
        limit: usize,
    ) -> Result<Vec<RequestRecord>, StoreError> {
        let (now, limit) = (column::micros(now), column::limit(limit));
        let (scope, hold) = (RowScope::Everyone, hold.clone());
        let taken = self
            .engine
            .run(Access::Statement, scope, hold, move |tx, hold| {
                Box::pin(take(tx, now, hold, limit))
            });
        Ok(oldest_first(taken.await?))
    }

    async fn sweep_requests(&self, before: Timestamp) -> Result<u64, StoreError> {
        sweep(
            &self.engine,
            "DELETE FROM request WHERE (tenant_id, request_id) IN
             (SELECT tenant_id, request_id FROM request WHERE answer IS NOT NULL AND updated_at < $1
                AND (run_id IS NULL OR result IS NOT NULL OR NOT EXISTS (
                     SELECT 1 FROM run WHERE run.tenant_id = request.tenant_id
                     AND run.run_id = request.run_id AND run.phase <> 'finished'))
              LIMIT $2)",
            column::micros(before),
        )
        .await
    }
}
