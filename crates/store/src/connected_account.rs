//! Connected accounts: what a user granted Charter at another system, sealed. The store never has the key.

use async_trait::async_trait;
use charter_contract::ids::{Label, TenantId, UserId};
use charter_contract::time::Timestamp;

use crate::StoreError;
use crate::outbox::NewMessage;
use crate::page::{Page, PageRequest};

/// Identity of a connected account: one for each tenant, credential and user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountKey {
    /// The tenant.
    pub tenant_id: TenantId,
    /// Name of the credential in the configuration.
    pub credential: Label,
    /// The user who connected the account.
    pub user_id: UserId,
}

/// A secret as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedSecret {
    /// Id of the key that opens it.
    pub key_id: String,
    /// The ciphertext, with all that the key needs to open it.
    pub sealed: Vec<u8>,
}

/// A connected account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedAccount {
    /// Its identity.
    pub key: AccountKey,
    /// Tokens, sealed.
    pub secret: SealedSecret,
    /// When the user connected it.
    pub connected_at: Timestamp,
    /// When its tokens last changed.
    pub changed_at: Timestamp,
    /// When the access token expires; absent if unknown.
    pub expires_at: Option<Timestamp>,
    /// Number of its writes: 1 for the first.
    pub version: u64,
}

/// New tokens of a connected account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountRenewal {
    /// The version that the tokens replace.
    pub expected: u64,
    /// The new tokens, sealed.
    pub secret: SealedSecret,
    /// When the access token expires; absent if unknown.
    pub expires_at: Option<Timestamp>,
    /// When they changed.
    pub at: Timestamp,
}

/// Connected accounts.
#[async_trait]
pub trait ConnectedAccounts {
    /// Stores an account with its messages, in place of an earlier one of the same key. Ignores `version`: the stored
    /// one is one more than before. Returns it.
    async fn connect_account(
        &self,
        account: &ConnectedAccount,
        messages: Vec<NewMessage>,
    ) -> Result<u64, StoreError>;

    /// Returns an account, if the user has connected it.
    async fn account(&self, key: &AccountKey) -> Result<Option<ConnectedAccount>, StoreError>;

    /// Returns a user's accounts, by credential. There are at most as many as credentials.
    async fn accounts_of_user(
        &self,
        tenant: &TenantId,
        user: &UserId,
    ) -> Result<Vec<ConnectedAccount>, StoreError>;

    /// Returns a tenant's accounts of one credential, newest first.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for an invalid cursor.
    async fn accounts_of_credential(
        &self,
        tenant: &TenantId,
        credential: &Label,
        page: &PageRequest,
    ) -> Result<Page<ConnectedAccount>, StoreError>;

    /// Replaces the tokens of an account. Of several concurrent renewals of a version exactly one succeeds.
    ///
    /// # Errors
    /// [`StoreError::VersionConflict`] if the account has another version, or none.
    async fn renew_account(
        &self,
        key: &AccountKey,
        renewal: &AccountRenewal,
    ) -> Result<(), StoreError>;

    /// Deletes an account permanently, with messages; returns whether there was one. A repeat publishes nothing.
    async fn disconnect_account(
        &self,
        key: &AccountKey,
        messages: Vec<NewMessage>,
    ) -> Result<bool, StoreError>;

    /// Returns at most `limit` accounts of all tenants that are sealed with another key.
    async fn accounts_sealed_otherwise(
        &self,
        key_id: &str,
        limit: usize,
    ) -> Result<Vec<ConnectedAccount>, StoreError>;
}
