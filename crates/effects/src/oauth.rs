//! Client of OAuth 2.0 authorization servers: discovery (RFC 8414), also from a protected resource (RFC 9728),
//! registration (RFC 7591), authorization code with PKCE (RFC 7636), client credentials, refresh, token exchange
//! (RFC 8693) and revocation (RFC 7009). Every request passes the egress wall.
//!
//! Must not know users, tenants or the use of a token. Tokens and secrets never appear in a message or in `Debug`.

mod discovery;
mod exchange;
mod grant;
mod registration;
mod resource;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::egress::HostPattern;
use crate::http::{HttpRunner, PlainHttp};
use crate::secret::{Secret, SecretSource};
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

    /// Binds a client to the server that a resource names, and registers it for one redirect address (RFC 7591) unless
    /// it is registered.
    ///
    /// # Errors
    /// [`OAuthFailure`], also if the server registers no clients.
    async fn bind_client(
        &self,
        client: &OAuthClient,
        redirect_uri: &str,
    ) -> Result<BoundClient, OAuthFailure>;

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
    /// How it is registered.
    pub registration: ClientRegistration,
    /// The registered id; empty before a registration of its own.
    pub client_id: String,
    /// The registered secret; a public client has none.
    pub client_secret: Option<Secret>,
    /// How the secret is sent.
    pub client_auth: ClientAuth,
    /// The requested scopes; without any, those that a protected resource names.
    pub scopes: Vec<String>,
    /// The address of the service that tokens are for (RFC 8707).
    pub resource: Option<String>,
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

    /// Whether it has to be bound before an account is connected.
    #[must_use]
    pub fn is_unbound(&self) -> bool {
        let is_named_elsewhere = match &self.server {
            ServerLocation::OfResource { .. } => true,
            ServerLocation::Discovered { .. } | ServerLocation::Given { .. } => false,
        };
        is_named_elsewhere || self.registration == ClientRegistration::Dynamic
    }

    /// Returns the client as it was bound.
    #[must_use]
    pub fn bound_as(&self, bound: &BoundClient) -> Self {
        let mut own = self.clone();
        if let Some(registered) = &bound.registered {
            let secret = registered.client_secret.as_ref();
            own.client_id.clone_from(&registered.client_id);
            own.client_secret =
                secret.map(|secret| Secret::new(secret.clone(), SecretSource::Registration));
            own.client_auth = registered.client_auth;
        }
        if let Some(issuer) = &bound.issuer {
            own.server = ServerLocation::Discovered {
                issuer: issuer.clone(),
            };
        }
        own.resource = bound.resource.clone().or(own.resource);
        if own.scopes.is_empty() {
            own.scopes.clone_from(&bound.scopes);
        }
        own
    }
}

/// How a client is registered with its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientRegistration {
    /// By the operator: its id is configured.
    Configured,
    /// By itself, for each connected account.
    Dynamic,
}

/// The authorization server and the registration that an account was connected with. The account stays with them: a
/// resource that names another server later does not get the account's tokens sent there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoundClient {
    /// The issuer, if a resource named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The resource, by its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The registration, if the client registered itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registered: Option<RegisteredClient>,
    /// The scopes that the resource asks for, until the user has granted them.
    #[serde(skip)]
    pub scopes: Vec<String>,
}

/// A client that registered itself.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegisteredClient {
    /// Its id.
    pub client_id: String,
    /// Its secret; a public client has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// How the secret is sent.
    #[serde(default)]
    pub client_auth: ClientAuth,
}

impl fmt::Debug for RegisteredClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegisteredClient")
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}

/// Where an authorization server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerLocation {
    /// At the addresses in the discovery document of this issuer.
    Discovered {
        /// The issuer, exactly as in the document.
        issuer: String,
    },
    /// At the addresses of the issuer that a protected resource names in its metadata.
    OfResource {
        /// The address of the resource, such as an MCP server.
        resource: String,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

    async fn bind_client(&self, _: &OAuthClient, _: &str) -> Result<BoundClient, OAuthFailure> {
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
    /// Discovered addresses, with the time of the discovery.
    discovered: Mutex<HashMap<DiscoveryKey, (Instant, Arc<Endpoints>)>>,
}

/// An issuer or a resource, and the rule by which its addresses were checked.
type DiscoveryKey = (String, PlainHttp);

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

    async fn bind_client(
        &self,
        client: &OAuthClient,
        redirect_uri: &str,
    ) -> Result<BoundClient, OAuthFailure> {
        let endpoints = self.endpoints(client).await?;
        let registered = match client.registration {
            ClientRegistration::Configured => None,
            ClientRegistration::Dynamic => {
                Some(self.register(client, &endpoints, redirect_uri).await?)
            }
        };
        let is_named = endpoints.resource.is_some();
        Ok(BoundClient {
            issuer: endpoints.issuer.clone().filter(|_| is_named),
            resource: endpoints.resource.clone(),
            scopes: endpoints.scopes.clone(),
            registered,
        })
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
        let fields = grant::token_fields(client, &endpoints, grant);
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
