//! Requests in PostgreSQL.

use async_trait::async_trait;
use charter_contract::ids::{RequestId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::page::{Page, PageRequest};
use charter_store::request::{RequestRecord, Requests};

use super::PostgresStore;
use super::statement::{execute, params, row, rows};
use crate::column::{self, Cursor};
use crate::record::request::{COLUMNS, record, taken};

const READING: &str = "reading a request";

#[async_trait]
impl Requests for PostgresStore {
    async fn open_request(&self, request: &RequestRecord) -> Result<(), StoreError> {
        let client = self.client().await?;
        let added = execute(
            "opening a request",
            &client,
            "INSERT INTO request (tenant_id, request_id, asked, created_at, updated_at, user_id)
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
            params![
                request.tenant_id.as_str(),
                request.request_id.as_str(),
                request.asked,
                column::micros(request.created_at),
                column::micros(request.updated_at),
                request.user_id.as_str()
            ],
        )
        .await?;
        if added == 0 {
            return Err(taken("request", &request.request_id));
        }
        Ok(())
    }

    async fn request(
        &self,
        tenant: &TenantId,
        request: &RequestId,
    ) -> Result<Option<RequestRecord>, StoreError> {
        let client = self.client().await?;
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
        user: &UserId,
        page: &PageRequest,
    ) -> Result<Page<RequestRecord>, StoreError> {
        let (at, id) = column::after(page)?;
        let client = self.client().await?;
        let entries = rows(
            "listing requests",
            &client,
            &format!(
                "SELECT {COLUMNS} FROM request
                 WHERE tenant_id = $1 AND user_id = $2 AND (created_at, request_id) < ($3, $4)
                 ORDER BY created_at DESC, request_id DESC LIMIT $5"
            ),
            params![
                tenant.as_str(),
                user.as_str(),
                at,
                id,
                column::limit(page.limit() + 1)
            ],
            record,
        )
        .await?;
        Ok(column::page(entries, page, |request| Cursor {
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
        let client = self.client().await?;
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
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let client = self.client().await?;
        let changed = execute(
            "recording an answer",
            &client,
            "UPDATE request SET answer = $3, updated_at = $4
             WHERE tenant_id = $1 AND request_id = $2 AND answer IS NULL",
            params![
                tenant.as_str(),
                request.as_str(),
                answer,
                column::micros(at)
            ],
        )
        .await?;
        drop(client);
        self.once(changed, "answer", tenant, request).await
    }

    async fn open_requests(&self, limit: usize) -> Result<Vec<RequestRecord>, StoreError> {
        let client = self.client().await?;
        rows(
            "finding open requests",
            &client,
            &format!(
                "SELECT {COLUMNS} FROM request WHERE answer IS NULL
                 ORDER BY created_at, tenant_id, request_id LIMIT $1"
            ),
            params![column::limit(limit)],
            record,
        )
        .await
    }

    async fn sweep_requests(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.sweep(
            "DELETE FROM request WHERE (tenant_id, request_id) IN
             (SELECT tenant_id, request_id FROM request
              WHERE answer IS NOT NULL AND updated_at < $1 LIMIT $2)",
            column::micros(before),
        )
        .await
    }
}

impl PostgresStore {
    /// Why nothing changed: the request is not there, or has what was to be recorded.
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
