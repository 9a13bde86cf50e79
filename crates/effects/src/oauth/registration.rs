//! Registers a client with an authorization server (RFC 7591): for one redirect address, without a token of its own.
//! Must not know accounts.

use charter_contract::bounds::CREDENTIAL_BYTES;
use charter_contract::json::{self, Profile};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::discovery::Endpoints;
use super::exchange::{OAuthRequest, host_of, plain_refusal};
use super::{
    ClientAuth, HttpAuthorizationServers, OAuthClient, OAuthFailure, OAuthFault, RegisteredClient,
};

/// The name under which users see the client.
const NAME: &str = "Charter";
/// The methods by which a client authenticates, the preferred one first: a public client has no secret to keep.
const METHODS: [(&str, ClientAuth); 3] = [
    ("none", ClientAuth::Basic),
    ("client_secret_basic", ClientAuth::Basic),
    ("client_secret_post", ClientAuth::Post),
];
/// The method of a server that states none (RFC 8414, section 2).
const DEFAULT_METHOD: &str = "client_secret_basic";

/// The part of an answer that is read (RFC 7591, section 3.2.1).
#[derive(Deserialize)]
struct RegistrationAnswer {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

impl HttpAuthorizationServers {
    /// Registers a client.
    pub(super) async fn register(
        &self,
        client: &OAuthClient,
        endpoints: &Endpoints,
        redirect_uri: &str,
    ) -> Result<RegisteredClient, OAuthFailure> {
        let wrong = |message: String| OAuthFailure::new(OAuthFault::Misconfigured, message);
        let url = endpoints.registration_url.as_ref().ok_or_else(|| {
            let host = host_of(&endpoints.token_url);
            wrong(format!(
                "{host} registers no clients: register one there, and set `client_id` of the credential"
            ))
        })?;
        let method = method_for(endpoints.auth_methods.as_deref());
        let order = order(client, endpoints, redirect_uri, method);
        let request = OAuthRequest::new(Method::POST, url.clone()).with_json(&order);
        let (status, body) = self.exchange(client, request).await?;
        if !status.is_success() {
            return Err(plain_refusal(url, status, &body));
        }
        let answer: RegistrationAnswer = json::decode(&body, Profile::NOTICE)
            .map_err(|error| wrong(format!("the registration at {}: {error}", host_of(url))))?;
        let secret = answer.client_secret.filter(|secret| !secret.is_empty());
        let longest = answer
            .client_id
            .len()
            .max(secret.as_ref().map_or(0, String::len));
        if answer.client_id.is_empty() || longest > CREDENTIAL_BYTES {
            let message = format!(
                "{} registered a client with an id or secret of {longest} bytes, not 1 to {CREDENTIAL_BYTES}",
                host_of(url)
            );
            return Err(wrong(message));
        }
        let registered = answer.token_endpoint_auth_method;
        let registered = registered.as_deref().unwrap_or(method);
        let known = METHODS.iter().find(|(name, _)| *name == registered);
        let Some((name, client_auth)) = known else {
            let host = host_of(url);
            return Err(wrong(format!(
                "{host} registered a client that authenticates by {registered:?}, which is not supported"
            )));
        };
        Ok(RegisteredClient {
            client_id: answer.client_id,
            client_secret: secret.filter(|_| *name != "none"),
            client_auth: *client_auth,
        })
    }
}

fn method_for(supported: Option<&[String]>) -> &'static str {
    let Some(supported) = supported else {
        return DEFAULT_METHOD;
    };
    let known = METHODS.iter().map(|(name, _)| *name);
    let mut usable = known.filter(|name| supported.iter().any(|method| method == name));
    usable.next().unwrap_or(DEFAULT_METHOD)
}

/// Builds the order of a registration.
fn order(client: &OAuthClient, endpoints: &Endpoints, redirect_uri: &str, method: &str) -> Value {
    // A client with a redirect address of its own machine is a native one (OpenID Connect Registration 1.0, section 2).
    let kind = match redirect_uri.starts_with("http://") {
        true => "native",
        false => "web",
    };
    let mut order = json!({
        "client_name": NAME,
        "application_type": kind,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
    });
    let scopes = endpoints.scopes_for(client);
    if !scopes.is_empty() {
        order["scope"] = json!(scopes.join(" "));
    }
    order
}
