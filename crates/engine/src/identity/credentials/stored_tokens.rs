//! The tokens of a connected account, as they are sealed.

use std::fmt;
use std::time::Duration;

use charter_contract::json::{self, Profile};
use charter_contract::time::Timestamp;
use charter_effects::{BoundClient, OAuthClient, TokenSet};
use charter_store::connected_account::{
    AccountKey, AccountRenewal, ConnectedAccount, SealedSecret,
};
use serde::{Deserialize, Serialize};

use crate::EngineError;
use crate::ground::moments;
use crate::ground::vault::SealingKeys;

/// How long before its end a token is renewed, so that it lasts for the call that it is for.
const MARGIN: Duration = Duration::from_secs(30);

/// The tokens of one account.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredTokens {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) access_token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refresh_token: Option<String>,
    /// The user's newest token of the identity provider, for an exchange.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) subject_token: Option<String>,
    /// The client that the account was connected with, if the configuration leaves it open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<BoundClient>,
}

impl fmt::Debug for StoredTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoredTokens(…)")
    }
}

impl StoredTokens {
    /// Opens the tokens of an account.
    pub(super) fn open(
        keys: &SealingKeys,
        account: &ConnectedAccount,
    ) -> Result<Self, EngineError> {
        let opened = keys.open(&context(&account.key), &account.secret)?;
        json::decode(&opened, Profile::NOTICE)
            .map_err(|error| EngineError::internal("reading stored tokens", error))
    }

    /// Seals the tokens for an account.
    pub(super) fn seal(
        &self,
        keys: &SealingKeys,
        key: &AccountKey,
    ) -> Result<SealedSecret, EngineError> {
        let text = serde_json::to_vec(self)
            .map_err(|error| EngineError::internal("writing tokens", error))?;
        keys.seal(&context(key), &text)
    }

    /// Builds the renewal of an account with these tokens.
    pub(super) fn renewal(
        &self,
        keys: &SealingKeys,
        account: &ConnectedAccount,
        expires_at: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<AccountRenewal, EngineError> {
        Ok(AccountRenewal {
            expected: account.version,
            secret: self.seal(keys, &account.key)?,
            expires_at,
            at,
        })
    }

    /// Returns the tokens after new ones were issued. A server that issues no new refresh token leaves the present one
    /// valid (RFC 6749, section 6).
    pub(super) fn with_issued(self, issued: TokenSet) -> Self {
        Self {
            access_token: Some(issued.access_token),
            refresh_token: issued.refresh_token.or(self.refresh_token),
            subject_token: self.subject_token,
            client: self.client,
        }
    }

    /// Returns the access token, if it lasts for a call.
    pub(super) fn usable(&self, account: &ConnectedAccount, now: Timestamp) -> Option<&str> {
        let lasts = account
            .expires_at
            .is_none_or(|end| end > moments::after(now, MARGIN));
        self.access_token.as_deref().filter(|_| lasts)
    }

    /// Returns the client that the account was connected with.
    pub(super) fn client(&self, configured: &OAuthClient) -> OAuthClient {
        match &self.client {
            Some(bound) => configured.bound_as(bound),
            None => configured.clone(),
        }
    }

    /// Whether a call can use the account, perhaps after a renewal.
    pub(super) fn is_live(&self, account: &ConnectedAccount, now: Timestamp) -> bool {
        self.usable(account, now).is_some()
            || self.refresh_token.is_some()
            || self.subject_token.is_some()
    }
}

/// The context of an account's secret. No part of a key has a slash.
fn context(key: &AccountKey) -> String {
    format!(
        "account/{}/{}/{}",
        key.tenant_id, key.credential, key.user_id
    )
}

/// Returns when an issued token expires.
pub(super) fn end_of(issued: &TokenSet, now: Timestamp) -> Option<Timestamp> {
    issued.expires_in.map(|span| moments::after(now, span))
}
