//! Requests as they were asked, routed and answered, so that each can be shown, replayed, and taken
//! up again after a crash (B000-3).
//!
//! A record is opened once, gets one verdict and one answer, and never changes otherwise. One whose answer names the run
//! of a change gets one result more: what that run came to.

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
    /// The run whose end its result is; of a request that changes something, once it is answered.
    pub run_id: Option<RunId>,
    /// The response that says what that run came to, as JSON.
    pub result: Option<String>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A process that answers requests, and until when others leave them to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLease {
    /// Who: one process, one incarnation.
    pub holder: String,
    /// When others may take what it holds. A hold is live until then, exclusive.
    pub until: Timestamp,
}

/// Requests.
#[async_trait]
pub trait Requests {
    /// Opens a request, held from the start; verdict, answer, run and result must be absent.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`], whatever the stored one says.
    async fn open_request(
        &self,
        request: &RequestRecord,
        hold: &RequestLease,
    ) -> Result<(), StoreError>;

    /// Takes an open request that nobody else holds at `now`, or extends the own hold; whether that went.
    async fn hold_request(
        &self,
        tenant: &TenantId,
        request: &RequestId,
        now: Timestamp,
        hold: &RequestLease,
    ) -> Result<bool, StoreError>;

    /// Extends the holds on all open requests of a holder; returns how many.
    async fn renew_requests(&self, hold: &RequestLease) -> Result<u64, StoreError>;

    /// Gives an open request back; one that somebody else holds stays theirs. Nobody takes it up before
    /// `again_at`, other than by its id.
    async fn release_request(
        &self,
        tenant: &TenantId,
        request: &RequestId,
        holder: &str,
        again_at: Timestamp,
    ) -> Result<(), StoreError>;

    /// The request, unless it is absent or another tenant's.
    async fn request(
        &self,
        tenant: &TenantId,
        request: &RequestId,
    ) -> Result<Option<RequestRecord>, StoreError>;

    /// The requests of a tenant, newest first; with a user, those that the user asked.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for a cursor that no page gave out.
    async fn requests_of(
        &self,
        tenant: &TenantId,
        user: Option<&UserId>,
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

    /// Records the answer, and the run whose end is the request's result.
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

    /// Records the result of a request whose answer names a run, and publishes messages about it, all or none.
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

    /// The request whose result a run's end is, unless it has its result.
    async fn request_of_run(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<RequestRecord>, StoreError>;

    /// Requests of every tenant whose run has ended and that have no result, at most `limit`, oldest first.
    async fn requests_of_ended_runs(&self, limit: usize) -> Result<Vec<RequestRecord>, StoreError>;

    /// Takes requests of every tenant without an answer that nobody holds at `now`, in one transaction:
    /// the oldest, at most `limit`, oldest first. Each is taken by one of those who do so at the same time.
    async fn take_requests(
        &self,
        now: Timestamp,
        hold: &RequestLease,
        limit: usize,
    ) -> Result<Vec<RequestRecord>, StoreError>;

    /// Deletes answered requests that last changed before `before`, but none whose run has not ended; returns how many.
    async fn sweep_requests(&self, before: Timestamp) -> Result<u64, StoreError>;
}
