//! API keys: whom a secret stands for, and until when. The secret itself is never stored.

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
    /// Whose data it sees.
    pub tenant_id: TenantId,
    /// What people call it.
    pub name: ShortText,
    /// What it is recognised by.
    pub hash: KeyHash,
    /// Whom it stands for.
    pub user_id: UserId,
    /// What it lets that user do.
    pub rights: Rights,
    /// Who made it.
    pub created_by: UserId,
    /// The users who made it, directly or through keys that they made. Empty for a key that was made without
    /// a key.
    pub makers: BTreeSet<UserId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it lets nobody in; absent for never.
    pub expires_at: Option<Timestamp>,
    /// When it last let somebody in, to about a minute.
    pub last_used_at: Option<Timestamp>,
    /// Who revoked it, and when.
    pub revoked: Option<Revocation>,
    /// The key whose place it took.
    pub rotated_from: Option<KeyId>,
}

/// The end of a key by somebody's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    /// When.
    pub at: Timestamp,
    /// Who said so.
    pub by: UserId,
}

impl KeyRecord {
    /// Whether it lets somebody in at `now`.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked.is_none() && self.expires_at.is_none_or(|end| end > now)
    }
}

/// Which keys there are, in all tenants together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyPresence {
    /// None, and never was one.
    #[default]
    None,
    /// None that lets anybody in.
    Ended,
    /// At least one that lets somebody in.
    Live,
}

/// API keys.
#[async_trait]
pub trait Keys {
    /// Keeps a new key, with its messages.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`].
    async fn create_key(
        &self,
        key: &KeyRecord,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError>;

    /// The key, ended or not, unless it is absent or another tenant's.
    async fn key(&self, tenant: &TenantId, key: &KeyId) -> Result<Option<KeyRecord>, StoreError>;

    /// The key of a hash, ended or not, whose ever it is: this is asked before the tenant is known, and
    /// answers who it is. What a method here acknowledged is seen by every look-up that begins after it, in
    /// every process.
    async fn key_of_hash(&self, hash: &KeyHash) -> Result<Option<KeyRecord>, StoreError>;

    /// A tenant's keys, newest first.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for a cursor that no page gave out.
    async fn keys(
        &self,
        tenant: &TenantId,
        page: &PageRequest,
    ) -> Result<Page<KeyRecord>, StoreError>;

    /// Puts `new` in the place of the key that it names in `rotated_from`, with its messages, in one
    /// transaction: the old one ends at `end`, or earlier if it would anyway. Of several rotations of a key
    /// at the same time exactly one happens.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the tenant has no such key, or `new` names none;
    /// [`StoreError::Refused`] when that key has ended at `new.created_at`, or another took its place.
    async fn rotate_key(
        &self,
        new: &KeyRecord,
        end: Timestamp,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError>;

    /// Ends a key, with its messages; says whether this did it. The first revocation stands: a repeat
    /// changes and tells nothing.
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

    /// Notes that a key let somebody in at `at`, unless a later use, or one after `unless_after`, is noted.
    async fn note_key_use(
        &self,
        tenant: &TenantId,
        key: &KeyId,
        at: Timestamp,
        unless_after: Timestamp,
    ) -> Result<(), StoreError>;

    /// The tenants that ever had a key, in the order of their ids.
    async fn key_tenants(&self) -> Result<Vec<TenantId>, StoreError>;

    /// Which keys there are at `now`.
    async fn keys_kept(&self, now: Timestamp) -> Result<KeyPresence, StoreError>;
}
