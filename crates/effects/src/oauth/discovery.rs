//! The addresses of an authorization server: as configured, or from its discovery document (RFC 8414, OpenID Connect
//! Discovery 1.0). Each is checked before it is used. Must not know tokens.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use charter_contract::json::{self, Profile};
use reqwest::{Method, StatusCode, Url};
use serde::Deserialize;

use super::exchange::{OAuthRequest, host_of};
use super::{
    DiscoveryKey, HttpAuthorizationServers, OAuthClient, OAuthFailure, OAuthFault, ServerLocation,
};
use crate::http::{OPENID_CONFIGURATION, PlainHttp, base, openid_configuration};

/// How long a discovery document is used.
const MAX_AGE: Duration = Duration::from_secs(600);
/// The part before an issuer's path (RFC 8414, section 3).
const OAUTH: &str = "/.well-known/oauth-authorization-server";

/// The checked addresses of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoints {
    pub(super) issuer: Option<String>,
    pub(super) authorization_url: Option<Url>,
    pub(super) token_url: Url,
    pub(super) revocation_url: Option<Url>,
    pub(super) sign_out_url: Option<Url>,
    pub(super) registration_url: Option<Url>,
    /// How clients may send their secrets; as the standard says if the server states nothing.
    pub(super) auth_methods: Option<Vec<String>>,
    /// The resource that named the server, and the scopes that it asks for.
    pub(super) resource: Option<String>,
    pub(super) scopes: Vec<String>,
    /// Whether authorization responses name their issuer.
    names_issuer: bool,
}

/// The part of a discovery document that is read.
#[derive(Deserialize)]
struct DiscoveryDocument {
    issuer: String,
    authorization_endpoint: Option<String>,
    token_endpoint: String,
    revocation_endpoint: Option<String>,
    end_session_endpoint: Option<String>,
    registration_endpoint: Option<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

impl Endpoints {
    /// The scopes to request: those of the client, or else of the resource.
    pub(super) fn scopes_for<'e>(&'e self, client: &'e OAuthClient) -> &'e [String] {
        match client.scopes.as_slice() {
            [] => &self.scopes,
            own => own,
        }
    }

    /// The service that tokens are for: by the name that it gives itself, or as configured.
    pub(super) fn resource_for<'e>(&'e self, client: &'e OAuthClient) -> Option<&'e str> {
        self.resource.as_deref().or(client.resource.as_deref())
    }

    /// Checks `iss` of an authorization response (RFC 9207, section 2.4).
    pub(super) fn check_issuer(&self, given: Option<&str>) -> Result<(), OAuthFailure> {
        let refused = |message: String| Err(OAuthFailure::new(OAuthFault::Forbidden, message));
        match (given, &self.issuer) {
            (Some(given), Some(issuer)) if given == issuer => Ok(()),
            (Some(_), Some(issuer)) => refused(format!(
                "the authorization response comes from another issuer than {issuer:?}"
            )),
            (Some(_), None) => refused(
                "the authorization response names its issuer, but the client has no `issuer` to compare it with"
                    .to_owned(),
            ),
            (None, _) if self.names_issuer => refused(
                "the authorization response does not name its issuer, although its server always does".to_owned(),
            ),
            (None, _) => Ok(()),
        }
    }
}

impl DiscoveryDocument {
    /// Refuses a server that does not say that it checks challenges of codes, as MCP requires of clients.
    fn must_take_challenges(&self) -> Result<(), OAuthFailure> {
        let mut methods = self.code_challenge_methods_supported.iter();
        if methods.any(|method| method == "S256") {
            return Ok(());
        }
        let message = format!(
            "the authorization server {:?} does not support challenges of codes (PKCE with S256)",
            self.issuer
        );
        Err(OAuthFailure::new(OAuthFault::Misconfigured, message))
    }

    /// Checks the addresses.
    fn endpoints(self, plain: PlainHttp) -> Result<Endpoints, OAuthFailure> {
        Ok(Endpoints {
            authorization_url: optional(self.authorization_endpoint.as_deref(), plain)?,
            token_url: checked(&self.token_endpoint, plain)?,
            revocation_url: optional(self.revocation_endpoint.as_deref(), plain)?,
            sign_out_url: optional(self.end_session_endpoint.as_deref(), plain)?,
            registration_url: optional(self.registration_endpoint.as_deref(), plain)?,
            auth_methods: self.token_endpoint_auth_methods_supported,
            resource: None,
            scopes: Vec::new(),
            names_issuer: self.authorization_response_iss_parameter_supported,
            issuer: Some(self.issuer),
        })
    }
}

fn optional(url: Option<&str>, plain: PlainHttp) -> Result<Option<Url>, OAuthFailure> {
    url.map(|url| checked(url, plain)).transpose()
}

/// Checks the address of an endpoint; a query is allowed (RFC 6749, section 3.1).
pub(super) fn checked(text: &str, plain_http: PlainHttp) -> Result<Url, OAuthFailure> {
    let wrong = |what: &str| {
        let message = format!("the address {text:?} of the authorization server is {what}");
        OAuthFailure::new(OAuthFault::Forbidden, message)
    };
    let url = Url::parse(text).map_err(|_| wrong("not a URL"))?;
    let mut without_query = url.clone();
    without_query.set_query(None);
    base(without_query.as_str(), plain_http).map_err(wrong)?;
    Ok(url)
}

impl HttpAuthorizationServers {
    /// Returns the addresses of a server.
    pub(super) async fn endpoints(
        &self,
        client: &OAuthClient,
    ) -> Result<Arc<Endpoints>, OAuthFailure> {
        let plain = client.plain_http;
        let optional = |url: &Option<String>| optional(url.as_deref(), plain);
        match &client.server {
            ServerLocation::Given {
                issuer,
                authorization_url,
                token_url,
                revocation_url,
            } => Ok(Arc::new(Endpoints {
                issuer: issuer.clone(),
                authorization_url: optional(authorization_url)?,
                token_url: checked(token_url, plain)?,
                revocation_url: optional(revocation_url)?,
                sign_out_url: None,
                registration_url: None,
                auth_methods: None,
                resource: None,
                scopes: Vec::new(),
                names_issuer: false,
            })),
            ServerLocation::Discovered { issuer } => {
                let key = (issuer.clone(), plain);
                if let Some(known) = self.known(&key) {
                    return Ok(known);
                }
                let document = self.discover(client, issuer).await?;
                Ok(self.keep(key, document.endpoints(plain)?))
            }
            ServerLocation::OfResource { resource } => {
                let key = (format!("resource {resource}"), plain);
                if let Some(known) = self.known(&key) {
                    return Ok(known);
                }
                let of = self.protected_resource(client, resource).await?;
                let document = self.discover(client, &of.issuer).await?;
                document.must_take_challenges()?;
                let found = Endpoints {
                    resource: Some(of.resource),
                    scopes: of.scopes,
                    ..document.endpoints(plain)?
                };
                Ok(self.keep(key, found))
            }
        }
    }

    fn keep(&self, key: DiscoveryKey, found: Endpoints) -> Arc<Endpoints> {
        let found = Arc::new(found);
        let all = self.discovered.lock();
        let mut all = all.unwrap_or_else(PoisonError::into_inner);
        all.insert(key, (Instant::now(), Arc::clone(&found)));
        found
    }

    fn known(&self, key: &DiscoveryKey) -> Option<Arc<Endpoints>> {
        let all = self.discovered.lock();
        let all = all.unwrap_or_else(PoisonError::into_inner);
        let (at, found) = all.get(key)?;
        (at.elapsed() < MAX_AGE).then(|| Arc::clone(found))
    }

    /// Fetches the discovery document: that of OpenID Connect, or else that of OAuth. For an issuer with a path, the
    /// document of OpenID Connect may also be where that of OAuth is (RFC 8414, section 5).
    async fn discover(
        &self,
        client: &OAuthClient,
        issuer: &str,
    ) -> Result<DiscoveryDocument, OAuthFailure> {
        let root = checked(issuer, client.plain_http)?;
        let openid = checked(&openid_configuration(issuer), client.plain_http)?;
        let before_path = |well_known: &str| {
            let mut url = root.clone();
            url.set_path(&format!(
                "{well_known}{}",
                root.path().trim_end_matches('/')
            ));
            url
        };
        let mut places = vec![openid, before_path(OAUTH)];
        if root.path() != "/" {
            places.push(before_path(OPENID_CONFIGURATION));
        }
        let mut absent = None;
        for url in places {
            let request = OAuthRequest::new(Method::GET, url.clone());
            let (status, body) = self.exchange(client, request).await?;
            if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS {
                absent = Some(url);
                continue;
            }
            if !status.is_success() {
                let message = format!("{url} answered {status}");
                return Err(OAuthFailure::new(OAuthFault::Unavailable, message));
            }
            let document: DiscoveryDocument =
                json::decode(&body, Profile::NOTICE).map_err(|error| {
                    let message = format!("the discovery document {url}: {error}");
                    OAuthFailure::new(OAuthFault::Misconfigured, message)
                })?;
            if document.issuer != issuer {
                let message = format!("{url} is about another issuer than {issuer:?}");
                return Err(OAuthFailure::new(OAuthFault::Forbidden, message));
            }
            return Ok(document);
        }
        let host = absent.as_ref().map(host_of).unwrap_or_default();
        let message = format!("{host} has no discovery document for the issuer {issuer:?}");
        Err(OAuthFailure::new(OAuthFault::Misconfigured, message))
    }
}
