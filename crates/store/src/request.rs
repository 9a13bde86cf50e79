//! Requests as received, routed and answered, so that each can be shown, replayed, and resumed after a crash (B000-3).
//!
//! A record is opened once, gets one verdict and one answer, and never changes otherwise. A request whose answer names
//! the run of a change also gets one result: the outcome of that run.

use async_trait::async_trait;
use charter_contract::ids::{RequestId, RunId, TenantId, UserId};
use charter_contract::time::Timestamp;

use crate::StoreError;
use crate::outbox::NewMessage;
use crate::page::{Page, PageRequest};

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRecord {
    /// Its id, unique within the tenant.
    pub request_id: RequestId,
    /// Its tenant.
    pub tenant_id: TenantId,
    /// The caller.
    pub user_id: UserId,
    /// The request and its caller, as JSON.
    pub asked: String,
    /// The routing verdict with candidates, thresholds and model, as JSON.
    pub verdict: Option<String>,
    /// The response or error that answered it, as JSON.
    pub answer: Option<String>,
    /// The run whose outcome is its result; set for a request that changes something, once it is answered.
    pub run_id: Option<RunId>,
    /// The response with that run's outcome, as JSON.
    pub result: Option<String>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A process's lease on requests that it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLease {
    /// The holder: one incarnation of a process.
    pub holder: String,
    /// When others may take over. A lease is live until then, exclusive.
    pub until: Timestamp,
}

/// Requests.
#[async_trait]
pub trait Requests {
    /// Opens a request, leased from the start; verdict, answer, run and result must be absent.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`], for any content of the stored one.
    async fn open_request(
        &self,
        request: &RequestRecord,
        hold: &RequestLease,
    ) -> Result<(), StoreError>;

    /// Leases an open request that no other holder has at `now`, or extends the caller's lease; returns whether it
    /// succeeded.
    async fn hold_request(
        &self,
        tenant: &TenantId,
        request: &RequestId,
        now: Timestamp,
        hold: &RequestLease,
    ) -> Result<bool, StoreError>;

    /// Extends the leases on all open requests of a holder; returns their number.
    async fn renew_requests(&self, hold: &RequestLease) -> Result<u64, StoreError>;

    /// Releases an open request; does nothing if another holder has it. Until `again_at` it can be resumed only by its
    /// id.
    async fn release_request(
        &self,
        tenant: &TenantId,
        request: &RequestId,
        holder: &str,
        again_at: Timestamp,
    ) -> Result<(), StoreError>;

    /// Returns the request, unless it is absent or another tenant's.
    async fn request(
        &self,
        tenant: &TenantId,
        request: &RequestId,
    ) -> Result<Option<RequestRecord>, StoreError>;

    /// Returns the requests of a tenant, newest first; with a user, only that user's.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for an invalid cursor.
    async fn requests_of(
        &self,
        tenant: &TenantId,
        user: Option<&UserId>,
        page: &PageRequest,
    ) -> Result<Page<RequestRecord>, StoreError>;

    /// Records the routing verdict of an open request.
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

    /// Records the answer, and the run whose outcome is the request's result.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`] on a second answer; [`StoreError::NotFound`].
    async fn close_request(
        &self,
        tenant: &TenantId,
        request: &RequestId,
        answer: &str,
        run: Option<&RunId>,
        at: Timestamp,
    ) -> Result<(), StoreError>;

    /// Records the result of a request whose answer names a run, and publishes messages about it, atomically.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`] on a second result; [`StoreError::NotFound`], also for a request that awaits no run.
    async fn record_result(
        &self,
        tenant: &TenantId,
        request: &RequestId,
        result: &str,
        messages: Vec<NewMessage>,
        at: Timestamp,
    ) -> Result<(), StoreError>;

    /// Returns the request that awaits a run's outcome, unless it has its result.
    async fn request_of_run(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<RequestRecord>, StoreError>;

    /// Returns requests of every tenant whose run has ended and that have no result, at most `limit`, oldest first.
    async fn requests_of_ended_runs(&self, limit: usize) -> Result<Vec<RequestRecord>, StoreError>;

    /// Leases requests of every tenant without an answer that have no holder at `now`, in one transaction: the oldest,
    /// at most `limit`, oldest first. Of concurrent calls only one gets a request.
    async fn take_requests(
        &self,
        now: Timestamp,
        hold: &RequestLease,
        limit: usize,
    ) -> Result<Vec<RequestRecord>, StoreError>;

    /// Deletes answered requests that last changed before `before`, except those with an unfinished run; returns their
    /// number.
    async fn sweep_requests(&self, before: Timestamp) -> Result<u64, StoreError>;
}
