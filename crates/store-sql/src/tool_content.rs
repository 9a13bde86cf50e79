//! Content of tool results.

use async_trait::async_trait;
use charter_contract::content::{ContentDigest, ToolContent};
use charter_contract::ids::TenantId;
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::tool_content::ToolContents;

use crate::column;
use crate::row::field;
use crate::store::{Access, RowScope, SqlEngine, SqlStore, sweep};
use crate::tx::{SqlValue, execute_many, params};

#[async_trait]
impl<E: SqlEngine> ToolContents for SqlStore<E> {
    async fn put_tool_contents(
        &self,
        tenant: &TenantId,
        contents: &[ToolContent],
        at: Timestamp,
    ) -> Result<(), StoreError> {
        if contents.is_empty() {
            return Ok(());
        }
        let values = (tenant.clone(), contents.to_vec(), column::micros(at));
        self.engine
            .run(
                Access::Write,
                RowScope::Tenant(tenant),
                values,
                |tx, (tenant, contents, at)| {
                    Box::pin(async move {
                        let rows: Vec<Vec<SqlValue<'_>>> = contents
                            .iter()
                            .map(|content| {
                                params![
                                    tenant.as_str(),
                                    content.digest.as_str(),
                                    content.media_type.as_str(),
                                    *at,
                                    content.bytes.as_slice()
                                ]
                                .to_vec()
                            })
                            .collect();
                        execute_many(
                            "writing content of a tool",
                            tx,
                            "INSERT INTO tool_content (tenant_id, digest, media_type, kept_at, bytes)
                             VALUES ($1, $2, $3, $4, $5)
                             ON CONFLICT (tenant_id, digest) DO UPDATE SET kept_at = excluded.kept_at
                             WHERE tool_content.kept_at < excluded.kept_at",
                            &rows,
                        )
                        .await
                        .map(|_| ())
                    })
                },
            )
            .await
    }

    async fn tool_content(
        &self,
        tenant: &TenantId,
        digest: &ContentDigest,
    ) -> Result<Option<ToolContent>, StoreError> {
        let found: Option<(String, Vec<u8>)> = self
            .engine
            .row(
                RowScope::Tenant(tenant),
                "reading content of a tool",
                "SELECT media_type, bytes FROM tool_content WHERE tenant_id = $1 AND digest = $2",
                params![tenant.as_str(), digest.as_str()],
                |row| Ok((field(row, 0)?, field(row, 1)?)),
            )
            .await?;
        Ok(found.map(|(media_type, bytes)| ToolContent {
            digest: digest.clone(),
            media_type,
            bytes,
        }))
    }

    async fn sweep_tool_contents(&self, before: Timestamp) -> Result<u64, StoreError> {
        sweep(
            &self.engine,
            "DELETE FROM tool_content WHERE (tenant_id, digest) IN
             (SELECT tenant_id, digest FROM tool_content WHERE kept_at < $1 LIMIT $2)",
            column::micros(before),
        )
        .await
    }
}
