//! Requests in PostgreSQL.

use async_trait::async_trait;
use charter_contract::ids::{RequestId, RunId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::outbox::NewMessage;
use charter_store::page::{Page, PageRequest};
use charter_store::request::{RequestLease, RequestRecord, Requests};
use deadpool_postgres::Transaction;

use super::PostgresStore;
use super::connection::{RowScope, in_transaction};
use super::outbox;
use super::statement::{execute, params, row, rows, rows_within};
use crate::column::{self, Cursor};
use crate::record::request::{COLUMNS, OF_ENDED_RUN, no_result, oldest_first, record, taken};

const READING: &str = "reading a request";
const HOLDING: &str = "holding a request";

/// Records a result with its messages; does nothing if the request already has a result or awaits none.
async fn put_result(
    connection: &Transaction<'_>,
    (tenant, request): (&TenantId, &RequestId),
    result: &str,
    messages: &[NewMessage],
    at: i64,
) -> Result<(), StoreError> {
    let changed = execute(
        "recording a result",
        connection,
        "UPDATE request SET result = $3, updated_at = $4
         WHERE tenant_id = $1 AND request_id = $2 AND run_id IS NOT NULL AND result IS NULL",
        params![tenant.as_str(), request.as_str(), result, at],
    )
    .await?;
    if changed > 0 {
        return outbox::insert(connection, messages).await;
    }
    let awaits = row(
        READING,
        connection,
        "SELECT FROM request WHERE tenant_id = $1 AND request_id = $2 AND run_id IS NOT NULL",
        params![tenant.as_str(), request.as_str()],
        |_| Ok(()),
    )
    .await?;
    Err(no_result(awaits, request))
}

#[async_trait]
impl Requests for PostgresStore {
    async fn open_request(
        &self,
        request: &RequestRecord,
        hold: &RequestLease,
    ) -> Result<(), StoreError> {
        let client = self.client(RowScope::Tenant(&request.tenant_id)).await?;
        let added = execute(
            "opening a request",
            &client,
            "INSERT INTO request
             (tenant_id, request_id, asked, created_at, updated_at, user_id, holder, held_until)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
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
        )
        .await?;
        if added == 0 {
            return Err(taken("request", &request.request_id));
        }
        Ok(())
    }

    async fn hold_request(
        &self,
        tenant: &TenantId,
        request: &RequestId,
        now: Timestamp,
        hold: &RequestLease,
    ) -> Result<bool, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        let held = execute(
            HOLDING,
            &client,
            "UPDATE request SET holder = $3, held_until = $4
             WHERE tenant_id = $1 AND request_id = $2 AND answer IS NULL
               AND (holder IS NULL OR holder = $3 OR held_until <= $5)",
            params![
                tenant.as_str(),
                request.as_str(),
                hold.holder,
                column::micros(hold.until),
                column::micros(now)
            ],
        )
        .await?;
        Ok(held > 0)
    }

    async fn renew_requests(&self, hold: &RequestLease) -> Result<u64, StoreError> {
        let client = self.client_in_time().await?;
        execute(
            HOLDING,
            &client,
            "UPDATE request SET held_until = $2 WHERE holder = $1 AND answer IS NULL",
            params![hold.holder, column::micros(hold.until)],
        )
        .await
    }

    async fn release_request(
        &self,
        tenant: &TenantId,
        request: &RequestId,
        holder: &str,
        again_at: Timestamp,
    ) -> Result<(), StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        execute(
            HOLDING,
            &client,
            "UPDATE request SET holder = NULL, held_until = $4
             WHERE tenant_id = $1 AND request_id = $2 AND holder = $3 AND answer IS NULL",
            params![
                tenant.as_str(),
                request.as_str(),
                holder,
                column::micros(again_at)
            ],
        )
        .await
        .map(|_| ())
    }

    async fn request(
        &self,
        tenant: &TenantId,
        request: &RequestId,
    ) -> Result<Option<RequestRecord>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        row(
            READING,
            &client,
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
        let whose = match user {
            Some(_) => "user_id = $2",
            None => "$2::text IS NULL",
        };
        let user = user.map(UserId::as_str);
        let client = self.client(RowScope::Tenant(tenant)).await?;
        let listed = rows_within(
            "listing requests",
            &client,
            &format!(
                "SELECT {COLUMNS} FROM request
                 WHERE tenant_id = $1 AND {whose} AND (created_at, request_id) < ($3, $4)
                 ORDER BY created_at DESC, request_id DESC LIMIT $5"
            ),
            params![
                tenant.as_str(),
                user,
                at,
                id,
                column::limit(page.limit() + 1)
            ],
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
        let client = self.client(RowScope::Tenant(tenant)).await?;
        let changed = execute(
            "recording a verdict",
            &client,
            "UPDATE request SET verdict = $3, updated_at = $4
             WHERE tenant_id = $1 AND request_id = $2 AND verdict IS NULL",
            params![
                tenant.as_str(),
                request.as_str(),
                verdict,
                column::micros(at)
            ],
        )
        .await?;
        drop(client);
        self.once(changed, "verdict", tenant, request).await
    }

    async fn close_request(
        &self,
        tenant: &TenantId,
        request: &RequestId,
        answer: &str,
        run: Option<&RunId>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        let changed = execute(
            "recording an answer",
            &client,
            "UPDATE request SET answer = $3, updated_at = $4, run_id = $5, holder = NULL,
             held_until = NULL
             WHERE tenant_id = $1 AND request_id = $2 AND answer IS NULL",
            params![
                tenant.as_str(),
                request.as_str(),
                answer,
                column::micros(at),
                run.map(RunId::as_str)
            ],
        )
        .await?;
        drop(client);
        self.once(changed, "answer", tenant, request).await
    }

    async fn record_result(
        &self,
        tenant: &TenantId,
        request: &RequestId,
        result: &str,
        messages: Vec<NewMessage>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let (of, at) = ((tenant, request), column::micros(at));
        in_transaction!(self, RowScope::Tenant(tenant), tx =>
            put_result(&tx, of, result, &messages, at))?;
        self.announce(messages.len());
        Ok(())
    }

    async fn request_of_run(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<RequestRecord>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        row(
            "reading a run's request",
            &client,
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
        let client = self.client(RowScope::Everyone).await?;
        let mut found = rows(
            "reading requests of ended runs",
            &client,
            &format!("SELECT {COLUMNS} FROM request WHERE {OF_ENDED_RUN} LIMIT $1"),
            params![column::limit(limit)],
            record,
        )
        .await?;
        oldest_first(&mut found);
        Ok(found)
    }

    async fn take_requests(
        &self,
        now: Timestamp,
        hold: &RequestLease,
        limit: usize,
    ) -> Result<Vec<RequestRecord>, StoreError> {
        let client = self.client(RowScope::Everyone).await?;
        let mut taken = rows(
            "taking open requests",
            &client,
            &format!(
                "UPDATE request SET holder = $1, held_until = $2
                 WHERE (tenant_id, request_id) IN (
                     SELECT tenant_id, request_id FROM request
                     WHERE answer IS NULL AND (held_until IS NULL OR held_until <= $3)
                     ORDER BY created_at, tenant_id, request_id LIMIT $4 FOR UPDATE SKIP LOCKED)
                 RETURNING {COLUMNS}"
            ),
            params![
                hold.holder,
                column::micros(hold.until),
                column::micros(now),
                column::limit(limit)
            ],
            record,
        )
        .await?;
        oldest_first(&mut taken);
        Ok(taken)
    }

    async fn sweep_requests(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.sweep(
            "DELETE FROM request WHERE (tenant_id, request_id) IN
             (SELECT tenant_id, request_id FROM request WHERE answer IS NOT NULL AND updated_at < $1
                AND (run_id IS NULL OR result IS NOT NULL OR NOT EXISTS (
                     SELECT FROM run WHERE run.tenant_id = request.tenant_id
                     AND run.run_id = request.run_id AND run.phase <> 'finished'))
              LIMIT $2)",
            column::micros(before),
        )
        .await
    }
}

impl PostgresStore {
    /// Explains why nothing changed: the request does not exist, or already has the value.
    async fn once(
        &self,
        changed: u64,
        what: &'static str,
        tenant: &TenantId,
        request: &RequestId,
    ) -> Result<(), StoreError> {
        if changed > 0 {
            return Ok(());
        }
        Err(match self.request(tenant, request).await? {
            Some(_) => taken(what, request),
            None => StoreError::NotFound {
                what: "request",
                id: request.to_string(),
            },
        })
    }
}
