//! The tag store (seed 000 §2.10): one immutable record per request, deleted when it expires.

use async_trait::async_trait;
use charter_contract::catalogue::tags::TagRecord;
use charter_contract::ids::{TagRequestId, TenantId};
use charter_contract::time::Timestamp;

use crate::StoreError;

/// Request tags.
#[async_trait]
pub trait Tags {
    /// Writes the record of one request. A request id is unique within its tenant.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`] on a second write for the request, for any content (B000-15), even when the first
    /// has expired and is not swept yet; [`StoreError::Refused`] for a record without `expires_at`.
    async fn put_tags(&self, tags: &TagRecord) -> Result<(), StoreError>;

    /// Returns the record, unless it is absent, another tenant's, or expired at `now`.
    async fn tags(
        &self,
        tenant: &TenantId,
        request: &TagRequestId,
        now: Timestamp,
    ) -> Result<Option<TagRecord>, StoreError>;

    /// Deletes records that expired at or before `now`; returns their number.
    async fn sweep_tags(&self, now: Timestamp) -> Result<u64, StoreError>;
}
