//! The access token of a user's account: as stored, renewed by its refresh token, or exchanged for the user's token of
//! an identity provider.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::cause::chain;
use charter_contract::error_code::ErrorCode;
use charter_contract::hex;
use charter_contract::time::Timestamp;
use charter_effects::{OAuthClient, OAuthFault, TokenGrant, TokenSet};
use charter_store::StoreError;
use charter_store::connected_account::{AccountKey, ConnectedAccount};
use sha2::{Digest, Sha256};

use super::shared_token::{PreparedCredential, failed};
use super::stored_tokens::{StoredTokens, end_of};
use super::{CredentialService, about, account_key};
use crate::ground::credentials::{CredentialKind, TokenExchange};
use crate::identity::renewals::{RenewableToken, RenewalTurns};
use crate::{Caller, CredentialId, EngineError};

/// How an account is renewed.
struct Renewal<'c> {
    client: &'c OAuthClient,
    exchange: Option<&'c TokenExchange>,
}

impl<'c> Renewal<'c> {
    fn for_credential(credential: &'c PreparedCredential) -> Option<Self> {
        match &credential.definition.kind {
            CredentialKind::AuthorizationCode(client) => Some(Self {
                client,
                exchange: None,
            }),
            CredentialKind::TokenExchange(exchange) => Some(Self {
                client: &exchange.client,
                exchange: Some(exchange),
            }),
            CredentialKind::Static(_) | CredentialKind::ClientCredentials(_) => None,
        }
    }

    /// The grants to try, in order.
    fn grants(&self, tokens: &StoredTokens) -> Vec<TokenGrant> {
        let refresh = tokens.refresh_token.iter();
        let refresh = refresh.map(|token| TokenGrant::Refresh {
            refresh_token: token.clone(),
        });
        let subject = self.exchange.iter().zip(&tokens.subject_token);
        let subject = subject.map(|(exchange, token)| TokenGrant::Exchange {
            subject_token: token.clone(),
            audience: exchange.audience.clone(),
            resource: exchange.resource.clone(),
        });
        refresh.chain(subject).collect()
    }
}

/// The token of an account, which its server renews.
struct AccountToken {
    service: Arc<CredentialService>,
    credential: Arc<PreparedCredential>,
    key: AccountKey,
}

#[async_trait]
impl RenewableToken for AccountToken {
    type Value = String;

    fn lease_name(&self) -> String {
        lease_name(&self.key)
    }

    fn longest_renewal(&self) -> Duration {
        let timeout = Renewal::for_credential(&self.credential);
        let timeout = timeout.map(|renewal| renewal.client.timeout);
        // Two grants may be tried, each after a discovery.
        timeout.unwrap_or_default().saturating_mul(4)
    }

    async fn usable(&self) -> Result<Option<String>, EngineError> {
        let (account, tokens) = self.service.tokens_of(&self.key).await?;
        let token = tokens.usable(&account, self.service.now());
        Ok(token.map(str::to_owned))
    }

    async fn renew(&self) -> Result<String, EngineError> {
        self.service.renew(&self.credential, &self.key).await
    }

    fn busy(&self) -> EngineError {
        let message = format!(
            "the account `{}` is being renewed by another call",
            self.key.credential
        );
        EngineError::new(ErrorCode::Unavailable, message)
    }
}

impl CredentialService {
    /// Returns the access token of a user's account.
    pub(super) async fn user_token(
        self: &Arc<Self>,
        credential: &Arc<PreparedCredential>,
        key: &AccountKey,
    ) -> Result<String, EngineError> {
        let token = Arc::new(AccountToken {
            service: Arc::clone(self),
            credential: Arc::clone(credential),
            key: key.clone(),
        });
        let turns = RenewalTurns {
            core: &self.ports.core,
            background: &self.ports.background,
        };
        turns.value_of(&token).await
    }

    pub(super) async fn tokens_of(
        &self,
        key: &AccountKey,
    ) -> Result<(ConnectedAccount, StoredTokens), EngineError> {
        let account = self.ports.core.store.account(key).await?;
        let account = account.ok_or_else(|| self.required(key, "is not connected"))?;
        match StoredTokens::open(self.keys()?, &account) {
            Ok(tokens) => Ok((account, tokens)),
            Err(error) => {
                tracing::error!(
                    error = %chain(&error), credential = %key.credential,
                    "a connected account cannot be opened: is a key file missing in `credentials.previous_key_files`?"
                );
                Err(self.required(key, "cannot be opened any more"))
            }
        }
    }

    /// Renews an account. The caller has the right to do so.
    async fn renew(
        &self,
        credential: &PreparedCredential,
        key: &AccountKey,
    ) -> Result<String, EngineError> {
        let (account, tokens) = self.tokens_of(key).await?;
        let renewal = Renewal::for_credential(credential);
        let renewal = renewal.ok_or_else(|| self.required(key, "is not one of a user"))?;
        let client = tokens.client(renewal.client);
        let grants = renewal.grants(&tokens);
        let was_live = !grants.is_empty();
        // A registration that its server has forgotten is made again with the next connection.
        let is_registered = tokens.client.is_some();
        let is_over = |fault: OAuthFault| {
            fault == OAuthFault::Refused || (is_registered && fault == OAuthFault::Misconfigured)
        };
        for grant in grants {
            let issued = self.ports.servers.request_token(&client, &grant);
            match issued.await {
                Ok(issued) => return self.stored(&client, &account, tokens, issued).await,
                Err(failure) if is_over(failure.fault) => {
                    tracing::info!(
                        tenant.id = %key.tenant_id, user.id = %key.user_id, credential = %key.credential,
                        reason = %failure, "an authorization server refused to renew an account"
                    );
                }
                Err(failure) => return Err(failed(&failure)),
            }
        }
        if was_live {
            let ended = StoredTokens::default();
            self.store_renewed(&account, ended, None, self.now())
                .await?;
        }
        let why = match renewal.exchange {
            Some(exchange) => format!(
                "has ended: it is renewed by a token of the issuer {:?}",
                exchange.subject_issuer
            ),
            None => "has ended".to_owned(),
        };
        Err(self.required(key, &why))
    }

    /// Stores issued tokens; returns the access token. Those of an account that was disconnected in between are
    /// revoked.
    async fn stored(
        &self,
        client: &OAuthClient,
        account: &ConnectedAccount,
        tokens: StoredTokens,
        issued: TokenSet,
    ) -> Result<String, EngineError> {
        let now = self.now();
        let token = issued.access_token.clone();
        let newest = issued.refresh_token.clone();
        let end = end_of(&issued, now);
        let tokens = tokens.with_issued(issued);
        let stored = self.store_renewed(account, tokens, end, now).await;
        if let Err(error) = &stored
            && error.code == ErrorCode::CredentialRequired
        {
            let newest = newest.as_ref().unwrap_or(&token);
            self.revoke_token(client, &account.key, newest).await;
        }
        stored.map(|()| token)
    }

    /// Stores new tokens, unless the user connected the account again in between. A token of the identity provider that
    /// came in between stays.
    async fn store_renewed(
        &self,
        before: &ConnectedAccount,
        mut tokens: StoredTokens,
        expires_at: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<(), EngineError> {
        let store = &self.ports.core.store;
        let mut account = before.clone();
        loop {
            let renewal = tokens.renewal(self.keys()?, &account, expires_at, at)?;
            match store.renew_account(&account.key, &renewal).await {
                Err(StoreError::VersionConflict { .. }) => {}
                stored => return Ok(stored?),
            }
            let present = store.account(&before.key).await?;
            account = present.ok_or_else(|| self.required(&before.key, "was disconnected"))?;
            if account.connected_at != before.connected_at {
                return Ok(());
            }
            tokens.subject_token = StoredTokens::open(self.keys()?, &account)?.subject_token;
        }
    }

    /// Stores the token of an identity provider that a caller sent, for the exchanges of its tenant. A failure does not
    /// refuse the caller.
    pub async fn remember_token(&self, caller: &Caller, token: &str) {
        let CredentialId::Token { issuer, .. } = &caller.credential else {
            return;
        };
        let digest: [u8; 32] = Sha256::digest(token).into();
        for (name, credential) in self.of_tenant(&caller.tenant) {
            let CredentialKind::TokenExchange(exchange) = &credential.definition.kind else {
                continue;
            };
            let key = account_key(&caller.tenant, name, &caller.user);
            if exchange.subject_issuer != *issuer || self.remembered.get(&key) == Some(digest) {
                continue;
            }
            match self.store_subject(caller, &key, token).await {
                Ok(()) => self.remembered.insert(key, digest),
                Err(error) => tracing::warn!(
                    error = %error, credential = %name, "the token of a caller could not be stored for an exchange"
                ),
            }
        }
    }

    async fn store_subject(
        &self,
        caller: &Caller,
        key: &AccountKey,
        token: &str,
    ) -> Result<(), EngineError> {
        let (store, keys, now) = (&self.ports.core.store, self.keys()?, self.now());
        let subject = Some(token.to_owned());
        let Some(account) = store.account(key).await? else {
            let tokens = StoredTokens {
                subject_token: subject,
                ..StoredTokens::default()
            };
            let account = ConnectedAccount {
                key: key.clone(),
                secret: tokens.seal(keys, key)?,
                connected_at: now,
                changed_at: now,
                expires_at: None,
                version: 1,
            };
            let told = vec![about(key, &caller.user, "connected", now)];
            store.connect_account(&account, told).await?;
            self.ports.news.notify_waiters();
            return Ok(());
        };
        let tokens = StoredTokens::open(keys, &account)?;
        if tokens.subject_token == subject {
            return Ok(());
        }
        let tokens = StoredTokens {
            subject_token: subject,
            ..tokens
        };
        let renewal = tokens.renewal(keys, &account, account.expires_at, now)?;
        Ok(store.renew_account(key, &renewal).await?)
    }
}

/// The resource of an account's renewal. A digest, because names of leases outlive the erasure of a tenant.
fn lease_name(key: &AccountKey) -> String {
    let name = format!("{}/{}/{}", key.tenant_id, key.credential, key.user_id);
    let digest: [u8; 32] = Sha256::digest(name).into();
    format!("account-{}", hex::encode(&digest))
}
