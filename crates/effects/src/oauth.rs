//! Client of OAuth 2.0 authorization servers: discovery (RFC 8414), authorization code with PKCE (RFC 7636), client
//! credentials, refresh, token exchange (RFC 8693) and revocation (RFC 7009). Every request passes the egress wall.
//!
//! Must not know users, tenants or the use of a token. Tokens and secrets never appear in a message or in `Debug`.

mod discovery;
mod exchange;
mod grant;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;

use crate::egress::HostPattern;
use crate::http::{HttpRunner, PlainHttp};
use crate::secret::Secret;
use discovery::Endpoints;

/// Port to authorization servers.
#[async_trait]
pub trait AuthorizationServers: Send + Sync {
    /// Returns the address at which a user grants access.
    ///
    /// # Errors
    /// [`OAuthFailure`] if the server's addresses cannot be found.
    async fn authorization_url(
        &self,
        client: &OAuthClient,
        request: &AuthorizationRequest,
    ) -> Result<String, OAuthFailure>;

    /// Obtains tokens for a grant. Never retried: codes and some refresh tokens can be used once.
    ///
    /// # Errors
    /// [`OAuthFailure`].
    async fn request_token(
        &self,
        client: &OAuthClient,
        grant: &TokenGrant,
    ) -> Result<TokenSet, OAuthFailure>;

    /// Revokes a token at its server; does nothing if the server has no endpoint for that.
    ///
    /// # Errors
    /// [`OAuthFailure`].
    async fn revoke_token(&self, client: &OAuthClient, token: &str) -> Result<(), OAuthFailure>;

    /// Returns the address at which a user ends the session at the server itself, which then sends the browser to
    /// `back_to` (OpenID Connect RP-Initiated Logout 1.0); `None` if the server has no such address.
    ///
    /// # Errors
    /// [`OAuthFailure`] if the server's addresses cannot be found.
    async fn sign_out_url(
        &self,
        client: &OAuthClient,
        back_to: &str,
    ) -> Result<Option<String>, OAuthFailure>;
}

/// Charter's registration with an authorization server.
#[derive(Debug, Clone)]
pub struct OAuthClient {
    /// Where the server is.
    pub server: ServerLocation,
    /// The registered id.
    pub client_id: String,
    /// The registered secret; a public client has none.
    pub client_secret: Option<Secret>,
    /// How the secret is sent.
    pub client_auth: ClientAuth,
    /// The requested scopes.
    pub scopes: Vec<String>,
    /// Further parameters: of the authorization request, or of the token request of kinds without one.
    pub parameters: BTreeMap<String, String>,
    /// Private addresses, and ports other than 80 and 443, at which the server may be.
    pub egress: Vec<HostPattern>,
    /// Hosts to which connections without TLS are allowed.
    pub plain_http: PlainHttp,
    /// Timeout of one request.
    pub timeout: Duration,
}

impl OAuthClient {
    /// Default timeout of one request.
    pub const TIMEOUT: Duration = Duration::from_secs(10);
}

/// Where an authorization server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerLocation {
    /// At the addresses in the discovery document of this issuer.
    Discovered {
        /// The issuer, exactly as in the document.
        issuer: String,
    },
    /// At these addresses.
    Given {
        /// The issuer, which `iss` of an authorization response must be.
        issuer: Option<String>,
        /// Where users grant access.
        authorization_url: Option<String>,
        /// Where tokens are issued.
        token_url: String,
        /// Where tokens are revoked.
        revocation_url: Option<String>,
    },
}

/// How a client authenticates to the token endpoint (RFC 6749, section 2.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientAuth {
    /// HTTP Basic.
    #[default]
    Basic,
    /// In the body.
    Post,
}

/// A request for a user's consent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationRequest {
    /// Where the server sends the user's browser back.
    pub redirect_uri: String,
    /// The value that the server returns with the code.
    pub state: String,
    /// The S256 challenge of the code's verifier.
    pub code_challenge: String,
    /// The value that an ID token of the server repeats; absent where none is requested.
    pub nonce: Option<String>,
}

/// The grant for which tokens are issued.
#[derive(Clone)]
pub enum TokenGrant {
    /// The client's own rights.
    ClientCredentials,
    /// The code of an authorization response.
    AuthorizationCode {
        /// The code.
        code: String,
        /// The verifier of its challenge.
        verifier: String,
        /// The address of the authorization request.
        redirect_uri: String,
        /// `iss` of the response (RFC 9207).
        issuer: Option<String>,
    },
    /// A refresh token.
    Refresh {
        /// The token.
        refresh_token: String,
    },
    /// A token of the user from another issuer.
    Exchange {
        /// That token.
        subject_token: String,
        /// The service that the new token is for, by its name.
        audience: Option<String>,
        /// The service that the new token is for, by its address.
        resource: Option<String>,
    },
}

impl fmt::Debug for TokenGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClientCredentials => "ClientCredentials",
            Self::AuthorizationCode { .. } => "AuthorizationCode(…)",
            Self::Refresh { .. } => "Refresh(…)",
            Self::Exchange { .. } => "Exchange(…)",
        })
    }
}

/// Issued tokens.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSet {
    /// The access token.
    pub access_token: String,
    /// How long it is valid; absent if the server does not state it.
    pub expires_in: Option<Duration>,
    /// The refresh token, if there is a new one.
    pub refresh_token: Option<String>,
    /// The granted scopes, if they differ from the requested ones.
    pub scope: Option<String>,
    /// The ID token, if the server issued one. It is not verified yet.
    pub id_token: Option<String>,
}

impl fmt::Debug for TokenSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenSet")
            .field("expires_in", &self.expires_in)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

/// Kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OAuthFault {
    /// The server refuses the grant: only the user can give a new one.
    Refused,
    /// The server refuses the client, or the configuration of the client is wrong.
    Misconfigured,
    /// The egress wall, or a rule about addresses, forbids the request.
    Forbidden,
    /// The server is unreachable or failed; a later attempt may succeed.
    Unavailable,
}

/// A failed request to an authorization server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OAuthFailure {
    /// Its kind.
    pub fault: OAuthFault,
    /// The failed request and the reason, without tokens and secrets.
    pub message: String,
}

impl OAuthFailure {
    /// Creates a failure.
    #[must_use]
    pub fn new(fault: OAuthFault, message: impl Into<String>) -> Self {
        Self {
            fault,
            message: message.into(),
        }
    }
}

/// Reaches no authorization server: for programs without such credentials.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAuthorizationServers;

impl NoAuthorizationServers {
    fn refusal() -> OAuthFailure {
        let message = "this program has no client for authorization servers";
        OAuthFailure::new(OAuthFault::Misconfigured, message)
    }
}

#[async_trait]
impl AuthorizationServers for NoAuthorizationServers {
    async fn authorization_url(
        &self,
        _: &OAuthClient,
        _: &AuthorizationRequest,
    ) -> Result<String, OAuthFailure> {
        Err(Self::refusal())
    }

    async fn request_token(
        &self,
        _: &OAuthClient,
        _: &TokenGrant,
    ) -> Result<TokenSet, OAuthFailure> {
        Err(Self::refusal())
    }

    async fn revoke_token(&self, _: &OAuthClient, _: &str) -> Result<(), OAuthFailure> {
        Err(Self::refusal())
    }

    async fn sign_out_url(&self, _: &OAuthClient, _: &str) -> Result<Option<String>, OAuthFailure> {
        Err(Self::refusal())
    }
}

/// Authorization servers that are reached over HTTP.
#[derive(Debug)]
pub struct HttpAuthorizationServers {
    http: HttpRunner,
    /// Discovered addresses by issuer, with the time of the discovery.
    discovered: Mutex<HashMap<String, (Instant, Arc<Endpoints>)>>,
}

impl HttpAuthorizationServers {
    /// Prepares the client. Sends nothing.
    ///
    /// # Errors
    /// If TLS cannot be set up.
    pub fn new() -> Result<Self, rustls::Error> {
        Ok(Self {
            http: HttpRunner::new()?,
            discovered: Mutex::default(),
        })
    }
}

#[async_trait]
impl AuthorizationServers for HttpAuthorizationServers {
    async fn authorization_url(
        &self,
        client: &OAuthClient,
        request: &AuthorizationRequest,
    ) -> Result<String, OAuthFailure> {
        let endpoints = self.endpoints(client).await?;
        grant::authorization_url(client, &endpoints, request)
    }

    async fn request_token(
        &self,
        client: &OAuthClient,
        grant: &TokenGrant,
    ) -> Result<TokenSet, OAuthFailure> {
        let endpoints = self.endpoints(client).await?;
        if let TokenGrant::AuthorizationCode { issuer, .. } = grant {
            endpoints.check_issuer(issuer.as_deref())?;
        }
        let fields = grant::token_fields(client, grant);
        self.token(client, &endpoints.token_url, fields).await
    }

    async fn revoke_token(&self, client: &OAuthClient, token: &str) -> Result<(), OAuthFailure> {
        let endpoints = self.endpoints(client).await?;
        match &endpoints.revocation_url {
            Some(url) => self.revocation(client, url, token).await,
            None => Ok(()),
        }
    }

    async fn sign_out_url(
        &self,
        client: &OAuthClient,
        back_to: &str,
    ) -> Result<Option<String>, OAuthFailure> {
        let endpoints = self.endpoints(client).await?;
        Ok(grant::sign_out_url(client, &endpoints, back_to))
    }
}

#[cfg(test)]
mod tests;
