//! Sign-in to the console by OpenID Connect: authorization code with PKCE, and the sessions that it opens.
//!
//! A session has the rights that the user's claims grant, by the same mapping as for tokens. They are mapped at each
//! request, so a changed grant counts at once; the claims are renewed by the refresh token. The store has the hash of a
//! session's id and sealed content, so every replica knows the session, and a copy of the database opens none.

mod content;
mod form;
mod renewal;
mod secret;

use std::sync::Arc;
use std::time::Duration;

use charter_contract::bounds::CONSOLE_SESSIONS;
use charter_contract::error_code::ErrorCode;
use charter_contract::time::Timestamp;
use charter_effects::{AuthorizationServers, ExpectedIdToken, OAuthFailure, OAuthFault};
use charter_store::console_session::{ConsoleSession, ConsoleSessionHash};
use serde::{Deserialize, Serialize};

use crate::ground::core_ports::{BackgroundTasks, CorePorts};
use crate::ground::moments;
use crate::ground::settings::ConsoleSessionSettings;
use crate::ground::vault::SealingKeys;
use crate::identity::authorization_code::{
    AuthorizationFlow, ConnectionCode, NewAuthorization, PendingAuthorization, StateFault,
    random_text,
};
use crate::identity::credentials::CredentialService;
use crate::identity::providers::{ConsoleClient, Providers};
use crate::{Caller, EngineError};
use content::{SessionContent, context};
pub use form::{
    ConsoleSessionView, OpenedConsoleSession, SignInOptions, SignInOrder, SignInProvider,
    SignInStart, SignedOut, StartedSignIn,
};
pub use secret::SessionSecret;

/// The context of a sealed sign-in.
const SIGN_IN: &str = "sign-in";
/// The path of the console to which an identity provider sends a browser back.
const RETURN_PATH: &str = "/console/signed-in";
/// The path of the console to which a browser comes back after it ended the session at the provider.
const SIGNED_OUT_PATH: &str = "/console/";
/// Minimum interval between two moves of a session's end.
const END_RESOLUTION: Duration = Duration::from_secs(60);

/// Why a session is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionUse {
    /// For a request, which moves the session's end.
    Request,
    /// To check that it still lasts, for an open stream.
    Check,
}

/// The ports and services of sign-in.
pub(crate) struct SignInParts {
    pub(crate) core: CorePorts,
    pub(crate) background: BackgroundTasks,
    pub(crate) servers: Arc<dyn AuthorizationServers>,
    pub(crate) providers: Arc<Providers>,
    pub(crate) credentials: Arc<CredentialService>,
    pub(crate) keys: Option<SealingKeys>,
    pub(crate) settings: ConsoleSessionSettings,
}

/// Sign-in to the console, and its sessions.
pub struct SignInService {
    parts: SignInParts,
}

impl std::fmt::Debug for SignInService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignInService").finish_non_exhaustive()
    }
}

/// The browser and the request that a started sign-in is for.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SignInSubject {
    issuer: String,
    nonce: String,
    /// The hash of the secret in the browser that started it.
    browser: String,
}

/// A session with its opened content.
#[derive(Clone)]
struct LiveSession {
    record: ConsoleSession,
    content: SessionContent,
}

impl SignInService {
    pub(crate) fn new(parts: SignInParts) -> Self {
        Self { parts }
    }

    /// Returns the identity providers at which users sign in, in the order of the configuration.
    #[must_use]
    pub fn options(&self) -> SignInOptions {
        let clients = self.parts.providers.console_clients();
        let providers = clients.map(|(issuer, client)| SignInProvider {
            issuer: issuer.to_owned(),
            label: client.label.clone(),
        });
        SignInOptions {
            providers: providers.collect(),
        }
    }

    /// Returns whether users can sign in.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        self.parts.providers.console_clients().next().is_some()
    }

    /// Starts a sign-in for a browser at the address `base` of this server. The browser keeps the returned secret:
    /// without it, nothing completes the sign-in.
    ///
    /// # Errors
    /// `invalid_request` if users cannot sign in, or `order` does not name one of several providers; `not_found` for an
    /// unknown provider; `unavailable` if the provider is unreachable or misconfigured.
    pub async fn start(
        &self,
        base: &str,
        order: SignInOrder,
    ) -> Result<StartedSignIn, EngineError> {
        let (issuer, client) = self.chosen(order.issuer.as_deref())?;
        let browser = SessionSecret::draw()?;
        let nonce = random_text()?;
        let new = NewAuthorization {
            client: &client.client,
            redirect_uri: format!("{}{RETURN_PATH}", base.trim_end_matches('/')),
            nonce: Some(nonce.clone()),
            subject: SignInSubject {
                issuer: issuer.to_owned(),
                nonce,
                browser: browser.digest(),
            },
        };
        let started = self.flow()?.start(new, self.now()).await?;
        let started = started.map_err(|failure| unreachable_provider(issuer, &failure))?;
        Ok(StartedSignIn {
            start: SignInStart {
                authorization_url: started.url,
                redirect_uri: started.redirect_uri,
                expires_at: started.expires_at,
            },
            browser,
        })
    }

    /// Completes a sign-in with the parameters of the redirect, in the browser that started it, and opens a session
    /// with a new id. The session that the browser had before ends.
    ///
    /// # Errors
    /// `invalid_request` for a sign-in that expired or that another browser started, and if the provider refuses the
    /// code or another issuer answered (RFC 9207); `unauthenticated` for an invalid ID token; `permission_denied` for a
    /// user whose claims grant no access; `unavailable` if the provider does not answer.
    pub async fn complete(
        &self,
        browser: &SessionSecret,
        before: Option<&SessionSecret>,
        code: ConnectionCode,
    ) -> Result<OpenedConsoleSession, EngineError> {
        let flow = self.flow()?;
        let pending = self.pending(&flow, browser, &code.state)?;
        let issuer = &pending.subject.issuer;
        let (_, client) = self.chosen(Some(issuer.as_str()))?;
        let issued = flow.redeem(&client.client, &pending, code).await;
        let issued = issued.map_err(|failure| match failure.fault {
            OAuthFault::Refused | OAuthFault::Forbidden => refusal(&format!("failed: {failure}")),
            OAuthFault::Unavailable | OAuthFault::Misconfigured => {
                unreachable_provider(issuer, &failure)
            }
        })?;
        let id_token = issued.id_token.as_deref().ok_or_else(|| {
            refusal("brought no ID token: `scopes` of `auth.oidc.console` must have `openid`")
        })?;
        let expected = ExpectedIdToken {
            issuer,
            client_id: &client.client.client_id,
            nonce: Some(&pending.subject.nonce),
        };
        let providers = &self.parts.providers;
        let claims = providers.claims_of_id_token(id_token, &expected).await?;
        let caller = providers.caller_of_claims(issuer, &claims)?;
        let recheck = self.parts.settings.recheck;
        let content = SessionContent::new(issuer, claims, issued.refresh_token, self.now(), recheck);
        let opened = self.open_session(&caller, &content?).await?;
        let credentials = &self.parts.credentials;
        credentials.remember_token(&caller, &issued.access_token).await;
        if let Some(before) = before {
            self.delete(before).await?;
        }
        Ok(opened)
    }

    /// Returns the caller of a session.
    ///
    /// # Errors
    /// `unauthenticated` for a session that is unknown or has ended, also because the provider ended it;
    /// `permission_denied` if the user's claims grant no access any more; `unavailable` if claims have expired and the
    /// provider does not answer; errors of storage.
    pub async fn caller_of_session(
        self: &Arc<Self>,
        id: &SessionSecret,
        purpose: SessionUse,
    ) -> Result<Caller, EngineError> {
        let session = self.current(id.hash()).await?;
        let caller = self.caller(&session)?;
        match purpose {
            SessionUse::Request => self.move_end(&session.record).await,
            SessionUse::Check => {}
        }
        Ok(caller)
    }

    /// Returns a session for its own console.
    ///
    /// # Errors
    /// As [`SignInService::caller_of_session`].
    pub async fn show(
        self: &Arc<Self>,
        id: &SessionSecret,
    ) -> Result<ConsoleSessionView, EngineError> {
        let session = self.current(id.hash()).await?;
        Ok(ConsoleSessionView::new(id, &session.record, session.content.issuer()))
    }

    /// Ends a session, and revokes its tokens at the provider as far as it can. Without a session, does nothing.
    /// Returns where the user can end the session at the provider, which then leads back to `base`, the address of this
    /// server.
    ///
    /// # Errors
    /// If storage fails.
    pub async fn end(&self, id: &SessionSecret, base: &str) -> Result<SignedOut, EngineError> {
        let nothing = SignedOut { sign_out_url: None };
        let Some(record) = self.delete(id).await? else {
            return Ok(nothing);
        };
        let Ok(content) = SessionContent::open(self.keys()?, &record) else {
            return Ok(nothing);
        };
        let Some(client) = self.parts.providers.console_client(content.issuer()) else {
            return Ok(nothing);
        };
        let (servers, client) = (&self.parts.servers, &client.client);
        if let Some(token) = content.refresh_token()
            && let Err(failure) = servers.revoke_token(client, token).await
        {
            tracing::warn!(reason = %failure, "the tokens of an ended console session could not be revoked");
        }
        let back_to = format!("{}{SIGNED_OUT_PATH}", base.trim_end_matches('/'));
        let url = servers.sign_out_url(client, &back_to).await;
        let url = url.inspect_err(|failure| {
            tracing::warn!(reason = %failure, "the address at which users sign out of a provider is unknown");
        });
        Ok(SignedOut {
            sign_out_url: url.unwrap_or_default(),
        })
    }

    /// Deletes a session; returns it if there was one.
    async fn delete(&self, id: &SessionSecret) -> Result<Option<ConsoleSession>, EngineError> {
        let store = &self.parts.core.store;
        let Some(record) = store.console_session(&id.hash()).await? else {
            return Ok(None);
        };
        let was_there = store.end_console_session(&record).await?;
        if was_there {
            noted(&record, "ended");
        }
        Ok(was_there.then_some(record))
    }

    /// Stores a new session of a caller.
    async fn open_session(
        &self,
        caller: &Caller,
        content: &SessionContent,
    ) -> Result<OpenedConsoleSession, EngineError> {
        let id = SessionSecret::draw()?;
        let now = self.now();
        let longest = moments::after(now, self.parts.settings.lifetime);
        let expires_at = content.last_end().map_or(longest, |end| end.min(longest));
        let (keys, hash) = (self.keys()?, id.hash());
        let record = ConsoleSession {
            hash,
            tenant_id: caller.tenant.clone(),
            user_id: caller.user.clone(),
            secret: content.seal(keys, &context(&caller.tenant, &caller.user, &hash))?,
            created_at: now,
            ends_at: moments::after(now, self.parts.settings.idle).min(expires_at),
            expires_at,
            version: 1,
        };
        // Content beyond the bounds of its reader would open no session.
        SessionContent::open(keys, &record)?;
        let store = &self.parts.core.store;
        store.open_console_session(&record, CONSOLE_SESSIONS).await?;
        noted(&record, "opened");
        let view = ConsoleSessionView::new(&id, &record, content.issuer());
        Ok(OpenedConsoleSession { id, view })
    }

    /// Returns the caller of a session. One whose claims name another user or tenant than when it began is over.
    fn caller(&self, session: &LiveSession) -> Result<Caller, EngineError> {
        let content = &session.content;
        let providers = &self.parts.providers;
        let caller = providers.caller_of_claims(content.issuer(), content.claims())?;
        let record = &session.record;
        match caller.tenant == record.tenant_id && caller.user == record.user_id {
            true => Ok(caller),
            false => Err(over()),
        }
    }

    /// Moves the end of a used session, at most once in an interval. A failure does not refuse the request.
    async fn move_end(&self, record: &ConsoleSession) {
        let idle = moments::after(self.now(), self.parts.settings.idle);
        let ends_at = idle.min(record.expires_at);
        if moments::span(record.ends_at, ends_at) < END_RESOLUTION {
            return;
        }
        let store = &self.parts.core.store;
        if let Err(error) = store.extend_console_session(record, ends_at).await {
            tracing::warn!(error = %error, "the end of a console session could not be moved");
        }
    }

    /// Reads a session that has not ended.
    async fn read(&self, hash: ConsoleSessionHash) -> Result<LiveSession, EngineError> {
        let found = self.parts.core.store.console_session(&hash).await?;
        let now = self.now();
        let record = found.filter(|record| record.is_live(now)).ok_or_else(over)?;
        let content = SessionContent::open(self.keys()?, &record).map_err(|error| {
            tracing::warn!(error = %error, "a console session cannot be opened");
            over()
        })?;
        Ok(LiveSession { record, content })
    }

    /// Opens the state of a sign-in that the browser started.
    fn pending(
        &self,
        flow: &AuthorizationFlow<'_>,
        browser: &SessionSecret,
        state: &str,
    ) -> Result<PendingAuthorization<SignInSubject>, EngineError> {
        let unusable = |fault: StateFault| refusal(&fault.to_string());
        let pending = flow.open::<SignInSubject>(state).map_err(unusable)?;
        if pending.subject.browser != browser.digest() {
            return Err(refusal("was started by another browser"));
        }
        pending.must_be_current(self.now()).map_err(unusable)?;
        Ok(pending)
    }

    /// Returns the provider with this issuer; without one, the only provider.
    fn chosen(&self, issuer: Option<&str>) -> Result<(&str, &ConsoleClient), EngineError> {
        let providers = &self.parts.providers;
        let known: Vec<(&str, &ConsoleClient)> = providers.console_clients().collect();
        let refused = |message: &str| Err(EngineError::new(ErrorCode::InvalidRequest, message));
        match (issuer, known.as_slice()) {
            (_, []) => refused(
                "users cannot sign in here: no identity provider in `auth.oidc` has a section `console`; use an API key",
            ),
            (None, [only]) => Ok(*only),
            (None, _) => refused("`issuer` is needed: this server has several identity providers"),
            (Some(issuer), known) => {
                let found = known.iter().find(|(name, _)| *name == issuer);
                found.copied().ok_or_else(|| {
                    EngineError::not_found("identity provider", issuer)
                        .knowing(known.iter().map(|(name, _)| *name))
                })
            }
        }
    }

    fn flow(&self) -> Result<AuthorizationFlow<'_>, EngineError> {
        Ok(AuthorizationFlow {
            servers: self.parts.servers.as_ref(),
            keys: self.keys()?,
            purpose: SIGN_IN,
        })
    }

    fn keys(&self) -> Result<&SealingKeys, EngineError> {
        let missing = || {
            let message = "this process has no key for console sessions";
            EngineError::new(ErrorCode::Unavailable, message)
        };
        self.parts.keys.as_ref().ok_or_else(missing)
    }

    fn now(&self) -> Timestamp {
        self.parts.core.clock.now()
    }
}

/// The error for a session that does not admit its user any more.
fn over() -> EngineError {
    let message = "the console session has ended: sign in again";
    EngineError::new(ErrorCode::Unauthenticated, message)
}

fn refusal(why: &str) -> EngineError {
    let message = format!("the sign-in {why}; start it again");
    EngineError::new(ErrorCode::InvalidRequest, message)
}

/// Converts a failure of a provider at which no user signs in at the moment. The log names the cause, for the operator.
fn unreachable_provider(issuer: &str, failure: &OAuthFailure) -> EngineError {
    tracing::error!(issuer, reason = %failure, "users cannot sign in at an identity provider");
    let message = format!("the identity provider {issuer:?} cannot be used now; the log has the cause");
    EngineError::new(ErrorCode::Unavailable, message)
}

fn noted(record: &ConsoleSession, what: &str) {
    tracing::info!(tenant.id = %record.tenant_id, user.id = %record.user_id, "console session {what}");
}

#[cfg(test)]
mod tests;
