//! Connects accounts of users by authorization code with PKCE, and disconnects them.
//!
//! The state of a connection is sealed and not stored: it names the user who started it, and only that user can
//! complete it. So a user who follows the link of another user's connection connects nothing.

use std::net::IpAddr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use charter_contract::bounds::CONNECTION_WAIT_MS;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{Label, TenantId, UserId};
use charter_contract::json::{self, Profile};
use charter_contract::time::Timestamp;
use charter_effects::{AuthorizationRequest, BoundClient, OAuthClient, OAuthFault, TokenGrant};
use charter_store::connected_account::{AccountKey, ConnectedAccount};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::form::{ConnectionCode, ConnectionOrder, ConnectionStart, CredentialView};
use super::shared_token::{PreparedCredential, failed};
use super::stored_tokens::{StoredTokens, end_of};
use super::{CredentialService, about, account_key};
use crate::ground::credentials::CredentialKind;
use crate::ground::moments;
use crate::{Caller, EngineError, Role};

/// The context of a sealed connection.
const CONNECTION: &str = "connection";
/// The path of the console to which an authorization server sends a browser back.
const RETURN_PATH: &str = "/console/connected";

/// A started connection, as its state holds it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PendingConnection {
    tenant: TenantId,
    user: UserId,
    credential: Label,
    verifier: String,
    redirect_uri: String,
    expires_at: Timestamp,
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
        let verifier = verifier()?;
        let wait = Duration::from_millis(u64::try_from(CONNECTION_WAIT_MS).unwrap_or(u64::MAX));
        let expires_at = moments::after(self.now(), wait);
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier));
        let pending = PendingConnection {
            tenant: caller.tenant.clone(),
            user: caller.user.clone(),
            credential: name.clone(),
            verifier,
            redirect_uri: redirect_uri.clone(),
            expires_at,
            client: bound,
        };
        let pending = serde_json::to_vec(&pending)
            .map_err(|error| EngineError::internal("writing the state of a connection", error))?;
        let request = AuthorizationRequest {
            redirect_uri: redirect_uri.clone(),
            state: self.keys()?.seal_text(CONNECTION, &pending)?,
            code_challenge: challenge,
        };
        let url = self
            .ports
            .servers
            .authorization_url(&client, &request)
            .await;
        Ok(ConnectionStart {
            authorization_url: url.map_err(|failure| failed(&failure))?,
            redirect_uri,
            expires_at,
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
            client: pending.client,
            ..StoredTokens::default()
        };
        let client = before.client(client);
        let grant = TokenGrant::AuthorizationCode {
            code: code.code,
            verifier: pending.verifier,
            redirect_uri: pending.redirect_uri,
            issuer: code.iss,
        };
        let issued = self.ports.servers.request_token(&client, &grant).await;
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

    /// Opens the state of a connection that the caller started.
    fn pending(
        &self,
        caller: &Caller,
        name: &Label,
        state: &str,
    ) -> Result<PendingConnection, EngineError> {
        let refused = |why: &str| {
            let message = format!("the connection of the account `{name}` {why}; start it again");
            Err(EngineError::new(ErrorCode::InvalidRequest, message))
        };
        let Some(opened) = self.keys()?.open_text(CONNECTION, state) else {
            return refused("was not started here");
        };
        let Ok(pending) = json::decode::<PendingConnection>(&opened, Profile::NOTICE) else {
            return refused("was started by another version of Charter");
        };
        if pending.tenant != caller.tenant || pending.user != caller.user {
            return refused("was started by another user");
        }
        if pending.credential != *name {
            return refused("was started for another account");
        }
        if pending.expires_at <= self.now() {
            return refused("was not completed in time");
        }
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

/// Makes the verifier of a code: 256 random bits in the alphabet of RFC 7636, section 4.1.
fn verifier() -> Result<String, EngineError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| EngineError::internal("starting a connection", error))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
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
