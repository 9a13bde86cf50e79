//! The addresses of an authorization server: as configured, or from its discovery document (RFC 8414, OpenID Connect
//! Discovery 1.0). Each is checked before it is used. Must not know tokens.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use charter_contract::json::{self, Profile};
use reqwest::{Method, StatusCode, Url};
use serde::Deserialize;

use super::exchange::{OAuthRequest, host_of};
use super::{HttpAuthorizationServers, OAuthClient, OAuthFailure, OAuthFault, ServerLocation};
use crate::http::{PlainHttp, base};

/// How long a discovery document is used.
const MAX_AGE: Duration = Duration::from_secs(600);
/// The suffix of an issuer for its discovery document (OpenID Connect Discovery 1.0, section 4).
const OPENID: &str = "/.well-known/openid-configuration";
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
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

impl Endpoints {
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
        let optional = |url: &Option<String>| {
            let url = url.as_deref().map(|url| checked(url, plain));
            url.transpose()
        };
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
                names_issuer: false,
            })),
            ServerLocation::Discovered { issuer } => {
                if let Some(known) = self.known(issuer) {
                    return Ok(known);
                }
                let document = self.discover(client, issuer).await?;
                let found = Arc::new(Endpoints {
                    authorization_url: optional(&document.authorization_endpoint)?,
                    token_url: checked(&document.token_endpoint, plain)?,
                    revocation_url: optional(&document.revocation_endpoint)?,
                    sign_out_url: optional(&document.end_session_endpoint)?,
                    names_issuer: document.authorization_response_iss_parameter_supported,
                    issuer: Some(document.issuer),
                });
                let kept = (Instant::now(), Arc::clone(&found));
                let mut all = self
                    .discovered
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                all.insert(issuer.clone(), kept);
                Ok(found)
            }
        }
    }

    fn known(&self, issuer: &str) -> Option<Arc<Endpoints>> {
        let all = self.discovered.lock();
        let all = all.unwrap_or_else(PoisonError::into_inner);
        let (at, found) = all.get(issuer)?;
        (at.elapsed() < MAX_AGE).then(|| Arc::clone(found))
    }

    /// Fetches the discovery document: that of OpenID Connect, or else that of OAuth.
    async fn discover(
        &self,
        client: &OAuthClient,
        issuer: &str,
    ) -> Result<DiscoveryDocument, OAuthFailure> {
        let root = checked(issuer, client.plain_http)?;
        let openid = format!("{}{OPENID}", issuer.trim_end_matches('/'));
        let openid = checked(&openid, client.plain_http)?;
        let mut oauth = root.clone();
        oauth.set_path(&format!("{OAUTH}{}", root.path().trim_end_matches('/')));
        let mut absent = None;
        for url in [openid, oauth] {
            let request = OAuthRequest::new(Method::GET, url.clone());
            let (status, body) = self.exchange(client, request).await?;
            if status == StatusCode::NOT_FOUND {
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
