//! Routing verdicts in SQLite.

use async_trait::async_trait;
use charter_contract::ids::{RequestId, TenantId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::verdict::{VerdictRecord, Verdicts};
use rusqlite::params;

use super::SqliteStore;
use super::statement::{field, insert, row};
use crate::column;

#[async_trait]
impl Verdicts for SqliteStore {
    async fn put_verdict(&self, verdict: &VerdictRecord) -> Result<(), StoreError> {
        let verdict = verdict.clone();
        self.write(move |connection| {
            insert(
                "writing a verdict",
                connection,
                "INSERT INTO verdict (tenant_id, request_id, at, body) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO NOTHING",
                params![
                    verdict.tenant_id.as_str(),
                    verdict.request_id.as_str(),
                    column::micros(verdict.at),
                    verdict.body
                ],
            )?
            .map(|_| ())
            .ok_or_else(|| StoreError::AlreadyExists {
                what: "verdict",
                id: verdict.request_id.to_string(),
            })
        })
        .await
    }

    async fn verdict(
        &self,
        tenant: &TenantId,
        request: &RequestId,
    ) -> Result<Option<VerdictRecord>, StoreError> {
        let (tenant, request) = (tenant.clone(), request.clone());
        self.read(move |connection| {
            row(
                "reading a verdict",
                connection,
                "SELECT body, at FROM verdict WHERE tenant_id = ?1 AND request_id = ?2",
                [tenant.as_str(), request.as_str()],
                |row| {
                    Ok(VerdictRecord {
                        request_id: request.clone(),
                        tenant_id: tenant.clone(),
                        body: field(row, 0)?,
                        at: column::parse_micros(field(row, 1)?)?,
                    })
                },
            )
        })
        .await
    }

    async fn sweep_verdicts(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.sweep(
            "DELETE FROM verdict WHERE rowid IN
             (SELECT rowid FROM verdict WHERE at < ?1 LIMIT ?2)",
            column::micros(before),
        )
        .await
    }
}
