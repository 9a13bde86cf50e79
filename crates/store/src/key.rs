//! API keys: the user of a secret, and its expiry. The secret itself is never stored.

use std::collections::BTreeSet;

use async_trait::async_trait;
use charter_contract::identity::Rights;
use charter_contract::ids::{KeyId, TenantId, UserId};
use charter_contract::text::ShortText;
use charter_contract::time::Timestamp;

use crate::StoreError;
use crate::outbox::NewMessage;
use crate::page::{Page, PageRequest};

/// The SHA-256 of a key's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyHash(pub [u8; 32]);

/// A key without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// Its id.
    pub key_id: KeyId,
    /// Its tenant.
    pub tenant_id: TenantId,
    /// Its display name.
    pub name: ShortText,
    /// The hash that identifies it.
    pub hash: KeyHash,
    /// The user that it authenticates.
    pub user_id: UserId,
    /// Its rights.
    pub rights: Rights,
    /// Its creator.
    pub created_by: UserId,
    /// The users who created it, directly or through keys that they created. Empty for a key that was created without a
    /// key.
    pub makers: BTreeSet<UserId>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires; absent for never.
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to about a minute.
    pub last_used_at: Option<Timestamp>,
    /// Its revocation.
    pub revoked: Option<Revocation>,
    /// The key that it replaced.
    pub rotated_from: Option<KeyId>,
}

/// The revocation of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    /// Time of the revocation.
    pub at: Timestamp,
    /// The acting user.
    pub by: UserId,
}

impl KeyRecord {
    /// Whether it is valid at `now`.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked.is_none() && self.expires_at.is_none_or(|end| end > now)
    }
}

/// Whether there are keys, in all tenants together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyPresence {
    /// There is no key, and never was one.
    #[default]
    None,
    /// No key is valid.
    Ended,
    /// At least one key is valid.
    Live,
}

/// API keys.
#[async_trait]
pub trait Keys {
    /// Stores a new key, with its messages.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`].
    async fn create_key(
        &self,
        key: &KeyRecord,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError>;

    /// Returns the key, valid or not, unless it is absent or another tenant's.
    async fn key(&self, tenant: &TenantId, key: &KeyId) -> Result<Option<KeyRecord>, StoreError>;

    /// Returns the key with a hash, valid or not, of any tenant: the caller does not know the tenant yet. Every
    /// acknowledged write of a method here is visible to later look-ups, in every process.
    async fn key_of_hash(&self, hash: &KeyHash) -> Result<Option<KeyRecord>, StoreError>;

    /// Returns a tenant's keys, newest first.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for an invalid cursor.
    async fn keys(
        &self,
        tenant: &TenantId,
        page: &PageRequest,
    ) -> Result<Page<KeyRecord>, StoreError>;

    /// Replaces the key that `new` names in `rotated_from`, with messages, in one transaction: the old key expires at
    /// `end`, or earlier if it would anyway. Of several concurrent rotations of a key exactly one succeeds.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the tenant has no such key, or `new` names none; [`StoreError::Refused`] when that
    /// key is invalid at `new.created_at`, or has been replaced.
    async fn rotate_key(
        &self,
        new: &KeyRecord,
        end: Timestamp,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError>;

    /// Revokes a key, with its messages; returns whether this call did. The first revocation is final: a repeat changes
    /// and publishes nothing.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the tenant has no such key.
    async fn revoke_key(
        &self,
        tenant: &TenantId,
        key: &KeyId,
        revocation: &Revocation,
        messages: Vec<NewMessage>,
    ) -> Result<bool, StoreError>;

    /// Records a use of a key at `at`, unless a later use, or one after `unless_after`, is recorded.
    async fn note_key_use(
        &self,
        tenant: &TenantId,
        key: &KeyId,
        at: Timestamp,
        unless_after: Timestamp,
    ) -> Result<(), StoreError>;

    /// Returns the tenants that ever had a key, in the order of their ids.
    async fn key_tenants(&self) -> Result<Vec<TenantId>, StoreError>;

    /// Returns whether there are keys, and valid ones, at `now`.
    async fn keys_kept(&self, now: Timestamp) -> Result<KeyPresence, StoreError>;
}
