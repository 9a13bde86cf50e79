//! The tag store.

use async_trait::async_trait;
use charter_contract::catalogue::tags::TagRecord;
use charter_contract::ids::{TagRequestId, TenantId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::tag::Tags;

use crate::column;
use crate::row::field;
use crate::store::{RowScope, SqlEngine, SqlStore, sweep};
use crate::tx::params;

const WHAT: &str = "tag record";

#[async_trait]
impl<E: SqlEngine> Tags for SqlStore<E> {
    async fn put_tags(&self, tags: &TagRecord) -> Result<(), StoreError> {
        let request = tags.request_id.as_str();
        let body = column::json(WHAT, request, tags)?;
        let expires_at = tags.expires_at.ok_or_else(|| StoreError::Refused {
            what: WHAT,
            id: request.to_owned(),
            detail: "it has no expiry".to_owned(),
        })?;
        let added = self
            .engine
            .execute(
                RowScope::Tenant(&tags.tenant_id),
                "writing tags",
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
                what: WHAT,
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
        let body: Option<String> = self
            .engine
            .row(
                RowScope::Tenant(tenant),
                "reading tags",
                "SELECT body FROM tag WHERE tenant_id = $1 AND request_id = $2 AND expires_at > $3",
                params![tenant.as_str(), request.as_str(), column::micros(now)],
                |row| field(row, 0),
            )
            .await?;
        body.map(|body| column::parse_json(WHAT, request.as_str(), &body))
            .transpose()
    }

    async fn sweep_tags(&self, now: Timestamp) -> Result<u64, StoreError> {
        sweep(
            &self.engine,
            "DELETE FROM tag WHERE (tenant_id, request_id) IN
             (SELECT tenant_id, request_id FROM tag WHERE expires_at <= $1 LIMIT $2)",
            column::micros(now),
        )
        .await
    }
}
