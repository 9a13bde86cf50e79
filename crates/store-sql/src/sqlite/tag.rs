//! The tag store in SQLite.

use async_trait::async_trait;
use charter_contract::catalogue::tags::TagRecord;
use charter_contract::ids::{TagRequestId, TenantId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::tag::Tags;
use rusqlite::params;

use super::SqliteStore;
use super::statement::{insert, row};
use crate::column;
use crate::row::field;

#[async_trait]
impl Tags for SqliteStore {
    async fn put_tags(&self, tags: &TagRecord) -> Result<(), StoreError> {
        let body = column::json("tag record", tags.request_id.as_str(), tags)?;
        let (tenant, request) = (tags.tenant_id.clone(), tags.request_id.clone());
        let expires_at = tags.expires_at.ok_or_else(|| StoreError::Refused {
            what: "tag record",
            id: request.to_string(),
            detail: "it has no expiry".to_owned(),
        })?;
        self.write(move |connection| {
            insert(
                "writing tags",
                connection,
                "INSERT INTO tag (tenant_id, request_id, expires_at, body)
                 VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
                params![
                    tenant.as_str(),
                    request.as_str(),
                    column::micros(expires_at),
                    body
                ],
            )?
            .map(|_| ())
            .ok_or_else(|| StoreError::AlreadyExists {
                what: "tag record",
                id: request.to_string(),
            })
        })
        .await
    }

    async fn tags(
        &self,
        tenant: &TenantId,
        request: &TagRequestId,
        now: Timestamp,
    ) -> Result<Option<TagRecord>, StoreError> {
        let (tenant, request) = (tenant.clone(), request.clone());
        self.read(move |connection| {
            row(
                "reading tags",
                connection,
                "SELECT body FROM tag
                 WHERE tenant_id = ?1 AND request_id = ?2 AND expires_at > ?3",
                params![tenant.as_str(), request.as_str(), column::micros(now)],
                |row| {
                    let body: String = field(row, 0)?;
                    column::parse_json("tag record", request.as_str(), &body)
                },
            )
        })
        .await
    }

    async fn sweep_tags(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.sweep(
            "DELETE FROM tag WHERE rowid IN
             (SELECT rowid FROM tag WHERE expires_at <= ?1 LIMIT ?2)",
            column::micros(now),
        )
        .await
    }
}
