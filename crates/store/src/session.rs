//! Sessions (B003-11): a bounded, expiring conversation of one user in one tenant.

use async_trait::async_trait;
use charter_contract::ids::{RequestId, SessionId, TenantId, UserId};
use charter_contract::time::Timestamp;

use crate::StoreError;

/// A session without its turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Its id.
    pub session_id: SessionId,
    /// Whose it is.
    pub tenant_id: TenantId,
    /// The user who opened it.
    pub user_id: UserId,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it ends unless a turn extends it.
    pub expires_at: Timestamp,
}

/// One question and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The request.
    pub request_id: RequestId,
    /// What was asked.
    pub input: String,
    /// What was answered; absent while the request runs or when it failed.
    pub output: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// Sessions.
#[async_trait]
pub trait Sessions {
    /// Opens a session.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`].
    async fn open_session(&self, session: &SessionRecord) -> Result<(), StoreError>;

    /// The session, unless it is absent, another tenant's, or expired at `now`.
    async fn session(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        now: Timestamp,
    ) -> Result<Option<SessionRecord>, StoreError>;

    /// Adds a turn, extends the expiry (never shortens it), and drops the oldest turns beyond
    /// `keep`, in one transaction. A turn of a request that has one already takes its place, so
    /// that an answer can be filled in.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when [`Sessions::session`] would say absent at `turn.at`.
    async fn append_turn(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        turn: &Turn,
        expires_at: Timestamp,
        keep: usize,
    ) -> Result<(), StoreError>;

    /// The newest `limit` turns, oldest first.
    async fn turns(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        limit: usize,
    ) -> Result<Vec<Turn>, StoreError>;

    /// Deletes sessions that expired at or before `now`, with their turns; returns how many.
    async fn sweep_sessions(&self, now: Timestamp) -> Result<u64, StoreError>;
}
