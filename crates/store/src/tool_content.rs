//! Content of tool results, such as images: bytes by their digest, deleted when they are past their retention.

use async_trait::async_trait;
use charter_contract::content::{ContentDigest, ToolContent};
use charter_contract::ids::TenantId;
use charter_contract::time::Timestamp;

use crate::StoreError;

/// Content of tool results.
#[async_trait]
pub trait ToolContents {
    /// Writes the contents of one result, all or none. Content that is there already keeps its bytes and media type, and
    /// counts as written at `at` if that is later.
    async fn put_tool_contents(
        &self,
        tenant: &TenantId,
        contents: &[ToolContent],
        at: Timestamp,
    ) -> Result<(), StoreError>;

    /// Returns the content with a digest, unless it is absent or another tenant's.
    async fn tool_content(
        &self,
        tenant: &TenantId,
        digest: &ContentDigest,
    ) -> Result<Option<ToolContent>, StoreError>;

    /// Deletes content that was last written before `before`; returns the number of deleted records.
    async fn sweep_tool_contents(&self, before: Timestamp) -> Result<u64, StoreError>;
}
