//! Sends one request to an authorization server, through the egress wall and within bounds, and reads the answer.
//! Redirects are not followed: they would carry secrets elsewhere.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use charter_contract::bounds::{CREDENTIAL_BYTES, NOTICE_BYTES};
use charter_contract::cause::chain;
use charter_contract::json::{self, Profile};
use charter_contract::visible::clean;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT as AGENT,
};
use reqwest::{Method, Request, StatusCode, Url};
use serde_json::{Map, Value};

use super::{
    ClientAuth, HttpAuthorizationServers, OAuthClient, OAuthFailure, OAuthFault, TokenSet,
};
use crate::egress::{EgressPolicy, EgressRefusal};
use crate::http::{End, Redirects, USER_AGENT, read_within};
use crate::redact::Redactor;

/// Everything but the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// The field with the token that is exchanged, and the error for one that is not valid (RFC 8693, section 2.2.2).
const SUBJECT_TOKEN: &str = "subject_token";
const OF_SUBJECT: &str = "invalid_request";
/// Characters of a refusal that are quoted.
const QUOTED: usize = 200;
/// Errors that only the user can resolve, by a new consent (RFC 6749, section 5.2; OpenID Connect Core 1.0, 3.1.2.6).
const OF_GRANT: [&str; 6] = [
    "invalid_grant",
    "invalid_token",
    "interaction_required",
    "consent_required",
    "login_required",
    "bad_verification_code",
];

/// Fields of a form, in order.
pub(super) type Fields = Vec<(String, String)>;

/// A request before it is sent.
pub(super) struct OAuthRequest {
    request: Request,
}

impl OAuthRequest {
    pub(super) fn new(method: Method, url: Url) -> Self {
        let mut request = Request::new(method, url);
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(AGENT, HeaderValue::from_static(USER_AGENT));
        Self { request }
    }

    /// Adds a JSON body.
    pub(super) fn with_json(mut self, body: &Value) -> Self {
        let json = HeaderValue::from_static("application/json");
        self.request.headers_mut().insert(CONTENT_TYPE, json);
        *self.request.body_mut() = Some(body.to_string().into());
        self
    }

    /// Adds a form, with what authenticates the client.
    fn with_form(mut self, client: &OAuthClient, mut fields: Fields) -> Result<Self, OAuthFailure> {
        let secret = client.client_secret.as_ref().map(|secret| secret.value());
        match (secret, client.client_auth) {
            (Some(secret), ClientAuth::Basic) => {
                let pair = format!("{}:{}", encoded(&client.client_id), encoded(secret));
                let value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair)));
                let mut value = value.map_err(|_| {
                    let message = "the client's secret cannot be sent in a header";
                    OAuthFailure::new(OAuthFault::Misconfigured, message)
                })?;
                value.set_sensitive(true);
                self.request.headers_mut().insert(AUTHORIZATION, value);
            }
            (Some(secret), ClientAuth::Post) => {
                fields.push(("client_id".to_owned(), client.client_id.clone()));
                fields.push(("client_secret".to_owned(), secret.to_owned()));
            }
            (None, ClientAuth::Basic | ClientAuth::Post) => {
                fields.push(("client_id".to_owned(), client.client_id.clone()));
            }
        }
        let pairs = fields
            .iter()
            .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
        let body = pairs.collect::<Vec<_>>().join("&");
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        self.request.headers_mut().insert(CONTENT_TYPE, form);
        *self.request.body_mut() = Some(body.into());
        Ok(self)
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// The host of an address, for messages.
pub(super) fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

impl HttpAuthorizationServers {
    /// Requests tokens.
    pub(super) async fn token(
        &self,
        client: &OAuthClient,
        url: &Url,
        fields: Fields,
    ) -> Result<TokenSet, OAuthFailure> {
        let redactor = redactor(client, &fields);
        let exchanges = fields.iter().any(|(name, _)| name == SUBJECT_TOKEN);
        let request = OAuthRequest::new(Method::POST, url.clone()).with_form(client, fields)?;
        let (status, body) = self.exchange(client, request).await?;
        let answer = json::decode::<Map<String, Value>>(&body, Profile::NOTICE).unwrap_or_default();
        if !status.is_success() || answer.contains_key("error") {
            let refused = refusal(url, status, &answer, &redactor);
            let of_subject = answer.get("error").and_then(Value::as_str) == Some(OF_SUBJECT);
            return Err(match exchanges && of_subject {
                true => OAuthFailure::new(OAuthFault::Refused, refused.message),
                false => refused,
            });
        }
        tokens(&answer).map_err(|what| {
            let message = format!("{} answered with tokens that {what}", host_of(url));
            OAuthFailure::new(OAuthFault::Misconfigured, message)
        })
    }

    /// Revokes a token. A server answers the same for a token that it does not know.
    pub(super) async fn revocation(
        &self,
        client: &OAuthClient,
        url: &Url,
        token: &str,
    ) -> Result<(), OAuthFailure> {
        let fields = vec![("token".to_owned(), token.to_owned())];
        let redactor = redactor(client, &fields);
        let request = OAuthRequest::new(Method::POST, url.clone()).with_form(client, fields)?;
        let (status, body) = self.exchange(client, request).await?;
        if status.is_success() {
            return Ok(());
        }
        let answer = json::decode::<Map<String, Value>>(&body, Profile::NOTICE).unwrap_or_default();
        Err(refusal(url, status, &answer, &redactor))
    }

    /// Sends a request to one of the checked addresses of its host, and reads the answer.
    pub(super) async fn exchange(
        &self,
        client: &OAuthClient,
        request: OAuthRequest,
    ) -> Result<(StatusCode, Vec<u8>), OAuthFailure> {
        let (status, _, body) = self.exchange_whole(client, request).await?;
        Ok((status, body))
    }

    /// As [`Self::exchange`], with the headers of the answer.
    pub(super) async fn exchange_whole(
        &self,
        client: &OAuthClient,
        request: OAuthRequest,
    ) -> Result<(StatusCode, HeaderMap, Vec<u8>), OAuthFailure> {
        let host = host_of(request.request.url());
        let exchange = self.exchange_once(client, request.request, &host);
        match tokio::time::timeout(client.timeout, exchange).await {
            Ok(answered) => answered,
            Err(_) => Err(late(&host, client.timeout)),
        }
    }

    async fn exchange_once(
        &self,
        client: &OAuthClient,
        request: Request,
        host: &str,
    ) -> Result<(StatusCode, HeaderMap, Vec<u8>), OAuthFailure> {
        let port = request.url().port_or_known_default().unwrap_or_default();
        let bare = host.trim_matches(['[', ']']);
        let wall = EgressPolicy::public_and(client.egress.clone());
        let addresses = wall.addresses(bare, port).await.map_err(|refusal| {
            let fault = match &refusal {
                EgressRefusal::Unresolved { .. } => OAuthFault::Unavailable,
                EgressRefusal::NotListed { .. } | EgressRefusal::PrivateAddress { .. } => {
                    OAuthFault::Forbidden
                }
            };
            let message = format!(
                "{}; `egress` beside its `client_id` lists its hosts",
                chain(&refusal)
            );
            OAuthFailure::new(fault, message)
        })?;
        let sender = self.http.client_to(bare, &addresses, Redirects::None);
        let sender = sender.map_err(|error| {
            let message = format!("preparing the HTTP client: {}", chain(&error));
            OAuthFailure::new(OAuthFault::Misconfigured, message)
        })?;
        let unanswered = |error: reqwest::Error| {
            // Without its URL: that of an endpoint may have a query.
            let message = format!("requesting {host}: {}", chain(&error.without_url()));
            OAuthFailure::new(OAuthFault::Unavailable, message)
        };
        let response = sender.execute(request).await.map_err(unanswered)?;
        let (status, headers) = (response.status(), response.headers().clone());
        match read_within(response, NOTICE_BYTES).await {
            (body, End::Whole) => Ok((status, headers, body)),
            (_, End::TooLong) => {
                let message = format!("{host} answered with more than {NOTICE_BYTES} bytes");
                Err(OAuthFailure::new(OAuthFault::Misconfigured, message))
            }
            (_, End::BrokenOff(error)) => Err(unanswered(error)),
        }
    }
}

fn late(host: &str, limit: Duration) -> OAuthFailure {
    let message = format!("{host} did not answer within {} ms", limit.as_millis());
    OAuthFailure::new(OAuthFault::Unavailable, message)
}

/// A redactor of everything secret in a request.
fn redactor(client: &OAuthClient, fields: &Fields) -> Redactor {
    const SECRET: [&str; 5] = [
        "code",
        "code_verifier",
        "refresh_token",
        SUBJECT_TOKEN,
        "token",
    ];
    let fields = fields.iter();
    let fields = fields.filter(|(name, _)| SECRET.contains(&name.as_str()));
    let own = client.client_secret.iter();
    let own = own.map(|secret| ("client_secret".to_owned(), secret.value().to_owned()));
    Redactor::new(&fields.cloned().chain(own).collect::<Vec<_>>())
}

/// Interprets an answer without tokens in it.
pub(super) fn plain_refusal(url: &Url, status: StatusCode, body: &[u8]) -> OAuthFailure {
    let answer = json::decode::<Map<String, Value>>(body, Profile::NOTICE).unwrap_or_default();
    refusal(url, status, &answer, &Redactor::new(&[]))
}

/// Interprets a refusal (RFC 6749, section 5.2). Its text is the server's: bounded, and data.
fn refusal(
    url: &Url,
    status: StatusCode,
    answer: &Map<String, Value>,
    redactor: &Redactor,
) -> OAuthFailure {
    let text = |field: &str| answer.get(field).and_then(Value::as_str);
    let error = text("error").unwrap_or_default();
    let fault = match error {
        grant if OF_GRANT.contains(&grant) => OAuthFault::Refused,
        "temporarily_unavailable" | "server_error" => OAuthFault::Unavailable,
        _ if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
            OAuthFault::Unavailable
        }
        _ => OAuthFault::Misconfigured,
    };
    let said = [error, text("error_description").unwrap_or_default()];
    let said = said.into_iter().filter(|said| !said.is_empty());
    let said = redactor.apply(&said.collect::<Vec<_>>().join(": "));
    let said = clean(&said, QUOTED);
    let message = match said.as_str() {
        "" => format!("{} answered {status}", host_of(url)),
        said => format!("{} answered {status}: {said:?}", host_of(url)),
    };
    OAuthFailure::new(fault, message)
}

/// Reads issued tokens (RFC 6749, section 5.1).
fn tokens(answer: &Map<String, Value>) -> Result<TokenSet, String> {
    let text = |field: &str| answer.get(field).and_then(Value::as_str);
    let access_token = text("access_token").filter(|token| !token.is_empty());
    let access_token = access_token.ok_or("have no access token")?;
    // `N_A` is that of tokens other than access tokens (RFC 8693, section 2.2.1).
    let known = ["bearer", "n_a"];
    if let Some(kind) = text("token_type")
        && !known.contains(&kind.to_ascii_lowercase().as_str())
    {
        return Err("are not bearer tokens".to_owned());
    }
    let refresh_token = text("refresh_token").filter(|token| !token.is_empty());
    let id_token = text("id_token").filter(|token| !token.is_empty());
    let further = [refresh_token, id_token].into_iter().flatten();
    let longest = further.map(str::len).fold(access_token.len(), usize::max);
    if longest > CREDENTIAL_BYTES {
        return Err(format!("are larger than {CREDENTIAL_BYTES} bytes"));
    }
    let expires_in = answer.get("expires_in").and_then(|seconds| match seconds {
        Value::String(seconds) => seconds.parse().ok(),
        seconds => seconds.as_u64(),
    });
    Ok(TokenSet {
        access_token: access_token.to_owned(),
        expires_in: expires_in.map(Duration::from_secs),
        refresh_token: refresh_token.map(str::to_owned),
        scope: text("scope").map(str::to_owned),
        id_token: id_token.map(str::to_owned),
    })
}
