//! Sign-in to the console by OpenID Connect: authorization code with PKCE, and the sessions that it opens.
//!
//! A session has the rights that the user's claims grant, by the same mapping as for tokens. They are mapped at each
//! request, so a changed grant counts at once; the claims are renewed by the refresh token. The store has the hash of a
//! session's id and sealed content, so every replica knows the session, and a copy of the database opens none.

mod content;
mod form;
mod renewal;
mod secret;
mod session;

use std::sync::Arc;

use charter_contract::error_code::ErrorCode;
use charter_contract::time::Timestamp;
use charter_effects::{AuthorizationServers, ExpectedIdToken, OAuthFailure, OAuthFault};
use serde::{Deserialize, Serialize};

use crate::EngineError;
use crate::ground::core_ports::{BackgroundTasks, CorePorts};
use crate::ground::settings::ConsoleSessionSettings;
use crate::ground::vault::SealingKeys;
use crate::identity::authorization_code::{
    AuthorizationFlow, ConnectionCode, NewAuthorization, PendingAuthorization, StateFault,
    random_text,
};
use crate::identity::credentials::CredentialService;
use crate::identity::providers::{ConsoleClient, Providers};
use content::SessionContent;
pub use form::{
    ConsoleSessionView, OpenedConsoleSession, SignInOptions, SignInOrder, SignInProvider,
    SignInStart, SignedOut, StartedSignIn,
};
pub use secret::SessionSecret;
pub use session::SessionUse;

/// The context of a sealed sign-in.
const SIGN_IN: &str = "sign-in";
/// The path of the console to which an identity provider sends a browser back.
const RETURN_PATH: &str = "/console/signed-in";

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
    /// with a new id. The session that the browser had before ends, as does the oldest one beyond the limit of
    /// sessions. Their tokens are revoked at the provider as far as possible, except those of the same user in the same
    /// browser: a provider may end its own session with them (Keycloak does), and the new tokens belong to that.
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
        let content =
            SessionContent::new(issuer, claims, issued.refresh_token, self.now(), recheck);
        let opened = self.open_session(&caller, &content?).await?;
        let credentials = &self.parts.credentials;
        credentials
            .remember_token(&caller, &issued.access_token)
            .await;
        if let Some(before) = before
            && let Some(ended) = self.delete(before).await?
            && (&ended.tenant_id, &ended.user_id) != (&caller.tenant, &caller.user)
        {
            self.revoke_later(&ended);
        }
        Ok(opened)
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

fn refusal(why: &str) -> EngineError {
    let message = format!("the sign-in {why}; start it again");
    EngineError::new(ErrorCode::InvalidRequest, message)
}

/// Converts a failure of a provider at which no user signs in at the moment. The log names the cause, for the operator.
fn unreachable_provider(issuer: &str, failure: &OAuthFailure) -> EngineError {
    tracing::error!(issuer, reason = %failure, "users cannot sign in at an identity provider");
    let message =
        format!("the identity provider {issuer:?} cannot be used now; the log has the cause");
    EngineError::new(ErrorCode::Unavailable, message)
}

#[cfg(test)]
mod tests;
