//! Console sessions: users who signed in to the console at an identity provider. The store has neither the id of a
//! session nor the key that opens its content.

use async_trait::async_trait;
use charter_contract::ids::{TenantId, UserId};
use charter_contract::time::Timestamp;

use crate::StoreError;
use crate::connected_account::SealedSecret;

/// The SHA-256 of a session's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConsoleSessionHash(pub [u8; 32]);

/// A console session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleSession {
    /// The hash that identifies it.
    pub hash: ConsoleSessionHash,
    /// The user's tenant.
    pub tenant_id: TenantId,
    /// The user who signed in.
    pub user_id: UserId,
    /// Claims and tokens of the user, sealed.
    pub secret: SealedSecret,
    /// When the user signed in.
    pub created_at: Timestamp,
    /// When it ends unless it is used before.
    pub ends_at: Timestamp,
    /// When it ends in any case.
    pub expires_at: Timestamp,
    /// Number of writes of its secret: 1 for the first.
    pub version: u64,
}

impl ConsoleSession {
    /// Whether it is valid at `now`.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.ends_at > now && self.expires_at > now
    }
}

/// Console sessions.
#[async_trait]
pub trait ConsoleSessions {
    /// Stores a new session, and deletes the oldest sessions of its user beyond `most`, in one transaction. Returns the
    /// deleted sessions, in any order.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`].
    async fn open_console_session(
        &self,
        session: &ConsoleSession,
        most: usize,
    ) -> Result<Vec<ConsoleSession>, StoreError>;

    /// Returns the session with a hash, valid or not, of any tenant: the caller does not know the tenant yet. Every
    /// acknowledged write of a method here is visible to later look-ups, in every process.
    async fn console_session(
        &self,
        hash: &ConsoleSessionHash,
    ) -> Result<Option<ConsoleSession>, StoreError>;

    /// Replaces the secret of a session of the version `expected`. Of several concurrent renewals of a version exactly
    /// one succeeds.
    ///
    /// # Errors
    /// [`StoreError::VersionConflict`] if the session has another version, or has ended.
    async fn renew_console_session(
        &self,
        session: &ConsoleSession,
        secret: &SealedSecret,
    ) -> Result<(), StoreError>;

    /// Moves the end of a used session to `ends_at`, unless it ends later. Does nothing without the session.
    async fn extend_console_session(
        &self,
        session: &ConsoleSession,
        ends_at: Timestamp,
    ) -> Result<(), StoreError>;

    /// Deletes a session permanently; returns whether there was one.
    async fn end_console_session(&self, session: &ConsoleSession) -> Result<bool, StoreError>;

    /// Deletes the sessions that have ended; returns their number.
    async fn sweep_console_sessions(&self, now: Timestamp) -> Result<u64, StoreError>;
}
