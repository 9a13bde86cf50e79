//! Routing verdicts as they were given, so that each can be shown and replayed (B000-3).

use async_trait::async_trait;
use charter_contract::ids::{RequestId, TenantId};
use charter_contract::time::Timestamp;

use crate::StoreError;

/// One stored verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictRecord {
    /// The request that was routed.
    pub request_id: RequestId,
    /// Whose it is.
    pub tenant_id: TenantId,
    /// The query, and the verdict with its candidates, thresholds and model, as JSON.
    pub body: String,
    /// When.
    pub at: Timestamp,
}

/// Verdicts.
#[async_trait]
pub trait Verdicts {
    /// Stores the verdict of a request. A request id is unique within its tenant.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`] on a second verdict for the request.
    async fn put_verdict(&self, verdict: &VerdictRecord) -> Result<(), StoreError>;

    /// The verdict, unless it is absent or another tenant's.
    async fn verdict(
        &self,
        tenant: &TenantId,
        request: &RequestId,
    ) -> Result<Option<VerdictRecord>, StoreError>;

    /// Deletes verdicts given before `before`; returns how many.
    async fn sweep_verdicts(&self, before: Timestamp) -> Result<u64, StoreError>;
}
