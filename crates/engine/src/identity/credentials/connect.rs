//! Connects accounts of users by authorization code with PKCE, and disconnects them.
//!
//! The state of a connection is sealed and not stored: it names the user who started it, and only that user can
//! complete it. So a user who follows the link of another user's connection connects nothing.

use std::net::IpAddr;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{Label, TenantId, UserId};
use charter_effects::{BoundClient, OAuthClient, OAuthFault};
use charter_store::connected_account::{AccountKey, ConnectedAccount};
use serde::{Deserialize, Serialize};

use super::form::{ConnectionOrder, ConnectionStart, CredentialView};
use super::shared_token::{PreparedCredential, failed};
use super::stored_tokens::{StoredTokens, end_of};
use super::{CredentialService, about, account_key};
use crate::ground::credentials::CredentialKind;
use crate::identity::authorization_code::{
    AuthorizationFlow, ConnectionCode, NewAuthorization, PendingAuthorization, StateFault,
};
use crate::{Caller, EngineError, Role};

/// The context of a sealed connection.
const CONNECTION: &str = "connection";
/// The path of the console to which an authorization server sends a browser back.
const RETURN_PATH: &str = "/console/connected";

/// The account that a started connection is for.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConnectionSubject {
    tenant: TenantId,
    user: UserId,
    credential: Label,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<BoundClient>,
}

impl CredentialService {
    /// Starts the connection of the caller's account; returns the page on which the user grants access.
    ///
    /// # Errors
    /// `not_found`; `invalid_request` for a credential without accounts and for a return address that is neither the
    /// console's nor one of this machine; failures of the authorization server.
    pub async fn connect(
        &self,
        caller: &Caller,
        name: &Label,
        order: ConnectionOrder,
    ) -> Result<ConnectionStart, EngineError> {
        let credential = self.credential(&caller.tenant, name)?;
        let client = connectable(&credential, name)?;
        let redirect_uri = self.redirect_uri(order.redirect_uri)?;
        let bound = self.bound(client, &redirect_uri).await?;
        let client = match &bound {
            Some(bound) => client.bound_as(bound),
            None => client.clone(),
        };
        let new = NewAuthorization {
            client: &client,
            redirect_uri,
            nonce: None,
            subject: ConnectionSubject {
                tenant: caller.tenant.clone(),
                user: caller.user.clone(),
                credential: name.clone(),
                client: bound,
            },
        };
        let started = self.connection_flow()?.start(new, self.now()).await?;
        let started = started.map_err(|failure| failed(&failure))?;
        Ok(ConnectionStart {
            authorization_url: started.url,
            redirect_uri: started.redirect_uri,
            expires_at: started.expires_at,
        })
    }

    /// Binds a client that the configuration leaves open.
    async fn bound(
        &self,
        client: &OAuthClient,
        redirect_uri: &str,
    ) -> Result<Option<BoundClient>, EngineError> {
        if !client.is_unbound() {
            return Ok(None);
        }
        let bound = self.ports.servers.bind_client(client, redirect_uri).await;
        bound.map(Some).map_err(|failure| failed(&failure))
    }

    /// Completes the connection of the caller's account.
    ///
    /// # Errors
    /// `invalid_request` for a connection that expired, or that another user or credential started, and for a code that
    /// the authorization server refuses; failures of the authorization server.
    pub async fn complete(
        &self,
        caller: &Caller,
        name: &Label,
        code: ConnectionCode,
    ) -> Result<CredentialView, EngineError> {
        let credential = self.credential(&caller.tenant, name)?;
        let client = connectable(&credential, name)?;
        let pending = self.pending(caller, name, &code.state)?;
        let before = StoredTokens {
            client: pending.subject.client.clone(),
            ..StoredTokens::default()
        };
        let client = before.client(client);
        let flow = self.connection_flow()?;
        let issued = flow.redeem(&client, &pending, code).await;
        let issued = issued.map_err(|failure| match failure.fault {
            OAuthFault::Refused | OAuthFault::Forbidden => {
                let message =
                    format!("the account `{name}` was not connected: {failure}; start again");
                EngineError::new(ErrorCode::InvalidRequest, message)
            }
            OAuthFault::Unavailable | OAuthFault::Misconfigured => failed(&failure),
        })?;
        let now = self.now();
        let key = account_key(&caller.tenant, name, &caller.user);
        let expires_at = end_of(&issued, now);
        let tokens = before.with_issued(issued);
        let account = ConnectedAccount {
            secret: tokens.seal(self.keys()?, &key)?,
            connected_at: now,
            changed_at: now,
            expires_at,
            version: 1,
            key,
        };
        let told = vec![about(&account.key, &caller.user, "connected", now)];
        self.ports
            .core
            .store
            .connect_account(&account, told)
            .await?;
        self.noted(&account.key, "connected", &caller.user);
        self.get(caller, name).await
    }

    /// Deletes an account of the caller, or as an admin that of another user of the tenant, and revokes its tokens at
    /// their server. Without an account, does nothing.
    ///
    /// # Errors
    /// `not_found` for an unknown credential; `permission_denied` for another user's account and a caller who is not an
    /// admin.
    pub async fn disconnect(
        &self,
        caller: &Caller,
        name: &Label,
        user: Option<&UserId>,
    ) -> Result<CredentialView, EngineError> {
        let user = user.unwrap_or(&caller.user);
        if *user != caller.user {
            caller.must_be(
                Role::Admin,
                "only admins can disconnect accounts of other users",
            )?;
        }
        let credential = self.credential(&caller.tenant, name)?;
        let key = account_key(&caller.tenant, name, user);
        let store = &self.ports.core.store;
        if let Some(account) = store.account(&key).await? {
            let told = vec![about(&key, &caller.user, "disconnected", self.now())];
            if store.disconnect_account(&key, told).await? {
                self.noted(&key, "disconnected", &caller.user);
                self.revoke(&credential, &account).await;
            }
        }
        self.get(caller, name).await
    }

    /// Revokes the tokens of a deleted account at their server, as far as it can.
    async fn revoke(&self, credential: &PreparedCredential, account: &ConnectedAccount) {
        let client = match &credential.definition.kind {
            CredentialKind::AuthorizationCode(client) => client,
            CredentialKind::TokenExchange(exchange) => &exchange.client,
            CredentialKind::Static(_) | CredentialKind::ClientCredentials(_) => return,
        };
        let opened = self
            .keys()
            .and_then(|keys| StoredTokens::open(keys, account));
        let Ok(tokens) = opened else {
            tracing::warn!(credential = %account.key.credential, "the tokens of a disconnected account cannot be opened");
            return;
        };
        let client = tokens.client(client);
        // Revoking a refresh token ends the access tokens that were issued for it (RFC 7009, section 2.1).
        let Some(token) = tokens.refresh_token.or(tokens.access_token) else {
            return;
        };
        self.revoke_token(&client, &account.key, &token).await;
    }

    /// Revokes a token of a deleted account at its server.
    pub(super) async fn revoke_token(&self, client: &OAuthClient, key: &AccountKey, token: &str) {
        if let Err(failure) = self.ports.servers.revoke_token(client, token).await {
            tracing::warn!(
                credential = %key.credential, reason = %failure,
                "a disconnected account could not be revoked at its server"
            );
        }
    }

    /// The flow by which accounts are connected.
    fn connection_flow(&self) -> Result<AuthorizationFlow<'_>, EngineError> {
        Ok(AuthorizationFlow {
            servers: self.ports.servers.as_ref(),
            keys: self.keys()?,
            purpose: CONNECTION,
        })
    }

    /// Opens the state of a connection that the caller started.
    fn pending(
        &self,
        caller: &Caller,
        name: &Label,
        state: &str,
    ) -> Result<PendingAuthorization<ConnectionSubject>, EngineError> {
        let refusal = |why: &str| {
            let message = format!("the connection of the account `{name}` {why}; start it again");
            EngineError::new(ErrorCode::InvalidRequest, message)
        };
        let unusable = |fault: StateFault| refusal(&fault.to_string());
        let pending = self.connection_flow()?.open::<ConnectionSubject>(state);
        let pending = pending.map_err(unusable)?;
        let subject = &pending.subject;
        if subject.tenant != caller.tenant || subject.user != caller.user {
            return Err(refusal("was started by another user"));
        }
        if subject.credential != *name {
            return Err(refusal("was started for another account"));
        }
        pending.must_be_current(self.now()).map_err(unusable)?;
        Ok(pending)
    }

    /// Checks the address to which a browser is sent back: the console's, or one of the caller's own machine.
    fn redirect_uri(&self, given: Option<String>) -> Result<String, EngineError> {
        let refused = |message: String| Err(EngineError::new(ErrorCode::InvalidRequest, message));
        let own = self.public_url.as_ref();
        let own = own.map(|url| format!("{}{RETURN_PATH}", url.trim_end_matches('/')));
        match (given, own) {
            (None, Some(own)) => Ok(own),
            (None, None) => refused(
                "`redirect_uri` is needed: this server has no public address (`a2a.public_url`)"
                    .to_owned(),
            ),
            (Some(given), Some(own)) if given == own => Ok(given),
            (Some(given), _) if is_of_own_machine(&given) => Ok(given),
            (Some(given), _) => refused(format!(
                "`redirect_uri` is {given:?}: it must be an http address of 127.0.0.1 or [::1] with a port"
            )),
        }
    }

    fn noted(&self, key: &AccountKey, what: &str, by: &UserId) {
        tracing::info!(
            tenant.id = %key.tenant_id, user.id = %key.user_id, credential = %key.credential, by = %by,
            "account {what}"
        );
        self.ports.news.notify_waiters();
    }
}

fn connectable<'c>(
    credential: &'c PreparedCredential,
    name: &Label,
) -> Result<&'c OAuthClient, EngineError> {
    match &credential.definition.kind {
        CredentialKind::AuthorizationCode(client) => Ok(client),
        kind @ (CredentialKind::Static(_)
        | CredentialKind::ClientCredentials(_)
        | CredentialKind::TokenExchange(_)) => {
            let message = format!(
                "the credential `{name}` is of the kind {}: users connect no account",
                kind.word()
            );
            Err(EngineError::new(ErrorCode::InvalidRequest, message))
        }
    }
}

/// Whether an address is one of the loopback interface with a port (RFC 8252, section 7.3). Names are refused, because
/// a resolver decides where they lead.
fn is_of_own_machine(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else {
        return false;
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let Some((host, port)) = authority.rsplit_once(':') else {
        return false;
    };
    let host = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    let is_loopback = host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let is_plain = path
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.'));
    is_loopback && is_plain && port.parse::<u16>().is_ok_and(|port| port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_sent_back_to_its_own_machine_only() {
        for (url, expected) in [
            ("http://127.0.0.1:8123/", true),
            ("http://[::1]:8123/done", true),
            ("http://127.0.0.1:8123", true),
            ("http://localhost:8123/", false),
            ("https://127.0.0.1:8123/", false),
            ("http://127.0.0.1/", false),
            ("http://127.0.0.1:8123@evil.example/", false),
            ("http://evil.example:80/127.0.0.1", false),
            ("http://127.0.0.1:8123/?next=x", false),
            ("http://127.0.0.1:0/", false),
        ] {
            assert_eq!(is_of_own_machine(url), expected, "{url}");
        }
    }
}
