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
    /// Its tenant.
    pub tenant_id: TenantId,
    /// The user who opened it.
    pub user_id: UserId,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it expires unless a turn extends it.
    pub expires_at: Timestamp,
}

/// One request and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The request.
    pub request_id: RequestId,
    /// The request's text.
    pub input: String,
    /// The answer's text; absent while the request runs or when it failed.
    pub output: Option<String>,
    /// Time of the turn.
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

    /// Returns the session, unless it is absent, another tenant's, or expired at `now`.
    async fn session(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        now: Timestamp,
    ) -> Result<Option<SessionRecord>, StoreError>;

    /// Adds a turn, extends the expiry (never shortens it), and drops the oldest turns beyond `keep`, in one
    /// transaction. A turn of the same request is replaced, so that an answer can be added later.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when [`Sessions::session`] returns none at `turn.at`.
    async fn append_turn(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        turn: &Turn,
        expires_at: Timestamp,
        keep: usize,
    ) -> Result<(), StoreError>;

    /// Returns the newest `limit` turns, oldest first.
    async fn turns(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        limit: usize,
    ) -> Result<Vec<Turn>, StoreError>;

    /// Deletes sessions that expired at or before `now`, with their turns; returns their number.
    async fn sweep_sessions(&self, now: Timestamp) -> Result<u64, StoreError>;
}
