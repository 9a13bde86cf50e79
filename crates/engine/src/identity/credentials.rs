//! Credentials that tools act with: secrets of the operator, and accounts that users connect.
//!
//! A call gets the credential of the user on whose behalf its run acts, also after another person started, approved or
//! resumed the run. Tokens of users are stored sealed, read at each call, and never shown. So a disconnected account is
//! refused at once, in every process.

mod call;
mod connect;
mod form;
mod shared_token;
mod stored_tokens;
mod user_token;
mod wait;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{Label, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_domain::run::MissingAccount;
use charter_effects::AuthorizationServers;
use charter_store::connected_account::{AccountKey, ConnectedAccount};
use charter_store::outbox::NewMessage;
use charter_store::page::PageRequest;
use quick_cache::sync::Cache;
use serde_json::json;
use tokio::sync::Notify;

use crate::ground::core_ports::{BackgroundTasks, CorePorts};
use crate::ground::credentials::{CredentialDefinition, CredentialKind, CredentialSettings};
use crate::ground::vault::SealingKeys;
use crate::{Caller, EngineError, Role};
use stored_tokens::StoredTokens;

pub(crate) use call::CallSecrets;
pub use form::{
    AccountEventRef, AccountPage, AccountView, ConnectionOrder, ConnectionStart, CredentialState,
    CredentialView,
};
use shared_token::PreparedCredential;

/// Users whose newest token of an identity provider is remembered, so that it is stored once.
const REMEMBERED_TOKENS: usize = 10_000;

/// Accounts that are sealed again by one statement.
const RESEAL_BATCH: usize = 100;

/// The ports of credentials.
pub(crate) struct CredentialPorts {
    pub(crate) core: CorePorts,
    pub(crate) background: BackgroundTasks,
    pub(crate) news: Arc<Notify>,
    pub(crate) servers: Arc<dyn AuthorizationServers>,
}

/// The credentials of all tenants.
pub struct CredentialService {
    ports: CredentialPorts,
    shared: BTreeMap<Label, Arc<PreparedCredential>>,
    tenants: BTreeMap<TenantId, BTreeMap<Label, Arc<PreparedCredential>>>,
    keys: Option<SealingKeys>,
    public_url: Option<String>,
    plain: BTreeSet<String>,
    /// Digests of tokens that are stored already.
    remembered: Cache<AccountKey, [u8; 32]>,
}

impl std::fmt::Debug for CredentialService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CredentialService").finish_non_exhaustive()
    }
}

impl CredentialService {
    pub(crate) fn new(ports: CredentialPorts, settings: &CredentialSettings) -> Self {
        let prepared = |all: &BTreeMap<Label, CredentialDefinition>| {
            let all = all.iter();
            let all = all
                .map(|(name, one)| (name.clone(), Arc::new(PreparedCredential::new(one.clone()))));
            all.collect::<BTreeMap<_, _>>()
        };
        let tenants = settings.tenants.iter();
        Self {
            ports,
            shared: prepared(&settings.definitions),
            tenants: tenants
                .map(|(tenant, own)| (tenant.clone(), prepared(own)))
                .collect(),
            keys: settings.keys.clone(),
            public_url: settings.public_url.clone(),
            plain: settings.plain.clone(),
            remembered: Cache::new(REMEMBERED_TOKENS),
        }
    }

    /// Lists the credentials of the caller's tenant, with the state of the caller's own accounts.
    ///
    /// # Errors
    /// If storage fails.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<CredentialView>, EngineError> {
        let own = self
            .ports
            .core
            .store
            .accounts_of_user(&caller.tenant, &caller.user);
        let own: BTreeMap<Label, ConnectedAccount> = own
            .await?
            .into_iter()
            .map(|account| (account.key.credential.clone(), account))
            .collect();
        let all = self.of_tenant(&caller.tenant).into_iter();
        let views = all.map(|(name, credential)| {
            let account = own.get(name);
            self.view(name, credential, account)
        });
        Ok(views.collect())
    }

    /// Returns a credential, with the state of the caller's own account.
    ///
    /// # Errors
    /// `not_found`; if storage fails.
    pub async fn get(&self, caller: &Caller, name: &Label) -> Result<CredentialView, EngineError> {
        let credential = self.credential(&caller.tenant, name)?;
        let key = account_key(&caller.tenant, name, &caller.user);
        let account = self.ports.core.store.account(&key).await?;
        Ok(self.view(name, &credential, account.as_ref()))
    }

    /// Lists the users of the caller's tenant who connected an account, newest first.
    ///
    /// # Errors
    /// `permission_denied` for a caller who is not an admin; `not_found`.
    pub async fn accounts(
        &self,
        caller: &Caller,
        name: &Label,
        page: &PageRequest,
    ) -> Result<AccountPage, EngineError> {
        caller.must_be(
            Role::Admin,
            "only admins can list the accounts of other users",
        )?;
        self.credential(&caller.tenant, name)?;
        let store = &self.ports.core.store;
        let page = store
            .accounts_of_credential(&caller.tenant, name, page)
            .await?;
        Ok(AccountPage {
            entries: page.entries.iter().map(AccountView::new).collect(),
            next: page.next,
        })
    }

    /// Seals again all accounts that are sealed with an earlier key. Returns their number.
    ///
    /// # Errors
    /// If storage fails.
    pub async fn reseal(&self) -> Result<u64, EngineError> {
        let Some(keys) = &self.keys else {
            return Ok(0);
        };
        let store = &self.ports.core.store;
        let mut resealed = 0;
        loop {
            let found = store
                .accounts_sealed_otherwise(keys.id(), RESEAL_BATCH)
                .await?;
            let mut moved = 0;
            for account in &found {
                match self.reseal_account(keys, account).await {
                    Ok(()) => moved += 1,
                    Err(error) => tracing::warn!(
                        error = %error, tenant.id = %account.key.tenant_id, credential = %account.key.credential,
                        "a connected account could not be sealed with the current key"
                    ),
                }
            }
            resealed += moved;
            // Accounts that no key opens are found again each time.
            if found.len() < RESEAL_BATCH || moved == 0 {
                return Ok(resealed);
            }
        }
    }

    async fn reseal_account(
        &self,
        keys: &SealingKeys,
        account: &ConnectedAccount,
    ) -> Result<(), EngineError> {
        let tokens = StoredTokens::open(keys, account)?;
        let renewal = tokens.renewal(keys, account, account.expires_at, account.changed_at)?;
        Ok(self
            .ports
            .core
            .store
            .renew_account(&account.key, &renewal)
            .await?)
    }

    fn view(
        &self,
        name: &Label,
        credential: &PreparedCredential,
        account: Option<&ConnectedAccount>,
    ) -> CredentialView {
        let state = match &credential.definition.kind {
            CredentialKind::Static(_) | CredentialKind::ClientCredentials(_) => {
                CredentialState::Ready
            }
            CredentialKind::AuthorizationCode(_) | CredentialKind::TokenExchange(_) => account
                .map_or(CredentialState::NotConnected, |account| {
                    self.state_of(account)
                }),
        };
        CredentialView {
            name: name.clone(),
            kind: credential.definition.kind.word().to_owned(),
            state,
            connected_at: account.map(|account| account.connected_at),
            connect_url: match credential.definition.kind {
                CredentialKind::AuthorizationCode(_) => self.connect_url(name),
                CredentialKind::Static(_)
                | CredentialKind::ClientCredentials(_)
                | CredentialKind::TokenExchange(_) => None,
            },
        }
    }

    /// Returns the state of a stored account. One that no key opens has to be connected again.
    fn state_of(&self, account: &ConnectedAccount) -> CredentialState {
        let opened = self
            .keys()
            .and_then(|keys| StoredTokens::open(keys, account));
        match opened {
            Ok(tokens) if tokens.is_live(account, self.now()) => CredentialState::Connected,
            Ok(_) | Err(_) => CredentialState::Ended,
        }
    }

    /// Returns the definitions of a tenant: its own override shared ones of the same name.
    fn of_tenant(&self, tenant: &TenantId) -> BTreeMap<&Label, &Arc<PreparedCredential>> {
        let own = self.tenants.get(tenant).into_iter().flatten();
        self.shared.iter().chain(own).collect()
    }

    fn credential(
        &self,
        tenant: &TenantId,
        name: &Label,
    ) -> Result<Arc<PreparedCredential>, EngineError> {
        let all = self.of_tenant(tenant);
        if let Some(found) = all.get(name) {
            return Ok(Arc::clone(found));
        }
        let known = all.keys().map(|name| name.as_str());
        Err(EngineError::not_found("credential", name).or_nearest(name.as_str(), known))
    }

    /// Returns the keys that seal accounts.
    fn keys(&self) -> Result<&SealingKeys, EngineError> {
        let missing = || {
            let message = "this process has no key for connected accounts";
            EngineError::new(ErrorCode::Unavailable, message)
        };
        self.keys.as_ref().ok_or_else(missing)
    }

    fn now(&self) -> Timestamp {
        self.ports.core.clock.now()
    }

    /// Returns the page of the console on which a user connects an account.
    fn connect_url(&self, name: &Label) -> Option<String> {
        let url = self.public_url.as_ref()?;
        Some(format!(
            "{}/console/connect/{name}",
            url.trim_end_matches('/')
        ))
    }

    /// Returns the error for a user who has not connected an account, with the link for doing so.
    fn required(&self, key: &AccountKey, why: &str) -> EngineError {
        let (name, user) = (&key.credential, &key.user_id);
        let credential = self.credential(&key.tenant_id, name);
        let is_exchanged = credential.is_ok_and(|credential| match &credential.definition.kind {
            CredentialKind::TokenExchange(_) => true,
            CredentialKind::Static(_)
            | CredentialKind::ClientCredentials(_)
            | CredentialKind::AuthorizationCode(_) => false,
        });
        let account = MissingAccount {
            credential: name.clone(),
            connect_url: self.connect_url(name).filter(|_| !is_exchanged),
        };
        let how = match &account.connect_url {
            _ if is_exchanged => {
                "send a request with a current token of the identity provider".to_owned()
            }
            Some(url) => format!("open {url} or run `charter credential connect {name}`"),
            None => format!("run `charter credential connect {name}`"),
        };
        let message = format!("the account `{name}` of `{user}` {why}; as that user, {how}");
        EngineError::new(ErrorCode::CredentialRequired, message).lacking(&account)
    }
}

fn account_key(tenant: &TenantId, name: &Label, user: &UserId) -> AccountKey {
    AccountKey {
        tenant_id: tenant.clone(),
        credential: name.clone(),
        user_id: user.clone(),
    }
}

/// Builds the event about an account: the credential, its user and the acting user. It contains no token, nor anything
/// derived from one.
fn about(key: &AccountKey, by: &UserId, word: &str, at: Timestamp) -> NewMessage {
    let said = AccountEventRef {
        credential: key.credential.clone(),
        user: key.user_id.clone(),
        by: by.clone(),
    };
    NewMessage {
        topic: format!("account.{word}"),
        tenant: Some(key.tenant_id.to_string()),
        user_id: Some(key.user_id.clone()),
        payload: json!(said).to_string(),
        at,
    }
}

#[cfg(test)]
mod tests;
