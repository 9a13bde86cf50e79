//! The tag store in PostgreSQL.

use async_trait::async_trait;
use charter_contract::catalogue::tags::TagRecord;
use charter_contract::ids::{TagRequestId, TenantId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::tag::Tags;

use super::PostgresStore;
use super::connection::RowScope;
use super::statement::{execute, params, row};
use crate::column;
use crate::row::field;

#[async_trait]
impl Tags for PostgresStore {
    async fn put_tags(&self, tags: &TagRecord) -> Result<(), StoreError> {
        let request = tags.request_id.as_str();
        let body = column::json("tag record", request, tags)?;
        let expires_at = tags.expires_at.ok_or_else(|| StoreError::Refused {
            what: "tag record",
            id: request.to_owned(),
            detail: "it has no expiry".to_owned(),
        })?;
        let client = self.client(RowScope::Tenant(&tags.tenant_id)).await?;
        let added = execute(
            "writing tags",
            &client,
            "INSERT INTO tag (tenant_id, request_id, expires_at, body)
             VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
            params![
                tags.tenant_id.as_str(),
                request,
                column::micros(expires_at),
                body
            ],
        )
        .await?;
        if added == 0 {
            return Err(StoreError::AlreadyExists {
                what: "tag record",
                id: request.to_owned(),
            });
        }
        Ok(())
    }

    async fn tags(
        &self,
        tenant: &TenantId,
        request: &TagRequestId,
        now: Timestamp,
    ) -> Result<Option<TagRecord>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        row(
            "reading tags",
            &client,
            "SELECT body FROM tag WHERE tenant_id = $1 AND request_id = $2 AND expires_at > $3",
            params![tenant.as_str(), request.as_str(), column::micros(now)],
            |row| column::parse_json("tag record", request.as_str(), field(row, 0)?),
        )
        .await
    }

    async fn sweep_tags(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.sweep(
            "DELETE FROM tag WHERE (tenant_id, request_id) IN
             (SELECT tenant_id, request_id FROM tag WHERE expires_at <= $1 LIMIT $2)",
            column::micros(now),
        )
        .await
    }
}
