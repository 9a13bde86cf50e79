//! Requests as they were asked, routed and answered, so that each can be shown, replayed, and taken
//! up again after a crash (B000-3).
//!
//! A record is opened once, gets one verdict and one answer, and never changes otherwise.

use async_trait::async_trait;
use charter_contract::ids::{RequestId, TenantId, UserId};
use charter_contract::time::Timestamp;

use crate::StoreError;
use crate::page::{Page, PageRequest};

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRecord {
    /// Its id, unique within the tenant.
    pub request_id: RequestId,
    /// Whose it is.
    pub tenant_id: TenantId,
    /// The user who asked.
    pub user_id: UserId,
    /// What was asked and by whom, as JSON.
    pub asked: String,
    /// Where it was routed: the verdict with candidates, thresholds and model, as JSON.
    pub verdict: Option<String>,
    /// The response or error that answered it, as JSON.
    pub answer: Option<String>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// Requests.
#[async_trait]
pub trait Requests {
    /// Opens a request; verdict and answer must be absent.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`], whatever the stored one says.
    async fn open_request(&self, request: &RequestRecord) -> Result<(), StoreError>;

    /// The request, unless it is absent or another tenant's.
    async fn request(
        &self,
        tenant: &TenantId,
        request: &RequestId,
    ) -> Result<Option<RequestRecord>, StoreError>;

    /// A user's requests in a tenant, newest first.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for a cursor that no page gave out.
    async fn requests_of(
        &self,
        tenant: &TenantId,
        user: &UserId,
        page: &PageRequest,
    ) -> Result<Page<RequestRecord>, StoreError>;

    /// Records where an open request was routed.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`] on a second verdict; [`StoreError::NotFound`].
    async fn record_verdict(
        &self,
        tenant: &TenantId,
        request: &RequestId,
        verdict: &str,
        at: Timestamp,
    ) -> Result<(), StoreError>;

    /// Records the answer.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`] on a second answer; [`StoreError::NotFound`].
    async fn close_request(
        &self,
        tenant: &TenantId,
        request: &RequestId,
        answer: &str,
        at: Timestamp,
    ) -> Result<(), StoreError>;

    /// Requests of every tenant without an answer, oldest first, at most `limit`.
    async fn open_requests(&self, limit: usize) -> Result<Vec<RequestRecord>, StoreError>;

    /// Deletes answered requests that last changed before `before`; returns how many.
    async fn sweep_requests(&self, before: Timestamp) -> Result<u64, StoreError>;
}
