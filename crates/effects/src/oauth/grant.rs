//! The parameters of authorization and token requests. Sends nothing.

use reqwest::Url;

use super::discovery::Endpoints;
use super::exchange::Fields;
use super::{AuthorizationRequest, OAuthClient, OAuthFailure, OAuthFault, TokenGrant};

/// The type of a token in a token exchange (RFC 8693, section 3).
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
/// The grant type of a token exchange.
const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";

/// Builds the address at which a user grants access.
pub(super) fn authorization_url(
    client: &OAuthClient,
    endpoints: &Endpoints,
    request: &AuthorizationRequest,
) -> Result<String, OAuthFailure> {
    let url = endpoints.authorization_url.clone().ok_or_else(|| {
        let message = "the authorization server has no address at which users grant access";
        OAuthFailure::new(OAuthFault::Misconfigured, message)
    })?;
    Ok(with_query(url, client, endpoints, request))
}

fn with_query(
    mut url: Url,
    client: &OAuthClient,
    endpoints: &Endpoints,
    request: &AuthorizationRequest,
) -> String {
    let own = [
        ("response_type", "code"),
        ("client_id", client.client_id.as_str()),
        ("redirect_uri", request.redirect_uri.as_str()),
        ("state", request.state.as_str()),
        ("code_challenge", request.code_challenge.as_str()),
        ("code_challenge_method", "S256"),
    ];
    let nonce = request.nonce.as_deref().map(|nonce| ("nonce", nonce));
    let own = own.into_iter().chain(nonce).collect::<Vec<_>>();
    let further = client.parameters.iter();
    let further = further.filter(|(name, _)| own.iter().all(|(taken, _)| name != taken));
    let mut pairs = url.query_pairs_mut();
    pairs.extend_pairs(own.iter().copied());
    let scopes = endpoints.scopes_for(client);
    if !scopes.is_empty() {
        pairs.append_pair("scope", &scopes.join(" "));
    }
    if let Some(resource) = endpoints.resource_for(client) {
        pairs.append_pair("resource", resource);
    }
    pairs.extend_pairs(further);
    drop(pairs);
    url.into()
}

/// Builds the address at which a user ends the session at the server, if it has one.
pub(super) fn sign_out_url(
    client: &OAuthClient,
    endpoints: &Endpoints,
    back_to: &str,
) -> Option<String> {
    let mut url = endpoints.sign_out_url.clone()?;
    url.query_pairs_mut()
        .append_pair("client_id", &client.client_id)
        .append_pair("post_logout_redirect_uri", back_to);
    Some(url.into())
}

/// Returns the fields of a token request, without those that authenticate the client.
pub(super) fn token_fields(
    client: &OAuthClient,
    endpoints: &Endpoints,
    grant: &TokenGrant,
) -> Fields {
    let mut fields = Fields::new();
    let mut add = |name: &str, value: &str| fields.push((name.to_owned(), value.to_owned()));
    match grant {
        TokenGrant::ClientCredentials => add("grant_type", "client_credentials"),
        TokenGrant::AuthorizationCode {
            code,
            verifier,
            redirect_uri,
            issuer: _,
        } => {
            add("grant_type", "authorization_code");
            add("code", code);
            add("code_verifier", verifier);
            add("redirect_uri", redirect_uri);
        }
        TokenGrant::Refresh { refresh_token } => {
            add("grant_type", "refresh_token");
            add("refresh_token", refresh_token);
        }
        TokenGrant::Exchange {
            subject_token,
            audience,
            resource,
        } => {
            add("grant_type", EXCHANGE);
            add("subject_token", subject_token);
            add("subject_token_type", ACCESS_TOKEN);
            add("requested_token_type", ACCESS_TOKEN);
            for (name, value) in [("audience", audience), ("resource", resource)] {
                if let Some(value) = value {
                    add(name, value);
                }
            }
        }
    }
    let asks = match grant {
        TokenGrant::ClientCredentials | TokenGrant::Exchange { .. } => true,
        // The scopes were granted with the code.
        TokenGrant::AuthorizationCode { .. } | TokenGrant::Refresh { .. } => false,
    };
    let own_resource = match grant {
        TokenGrant::Exchange { .. } => None,
        TokenGrant::ClientCredentials
        | TokenGrant::AuthorizationCode { .. }
        | TokenGrant::Refresh { .. } => endpoints.resource_for(client),
    };
    if let Some(resource) = own_resource {
        add("resource", resource);
    }
    if asks {
        let scopes = endpoints.scopes_for(client);
        if !scopes.is_empty() {
            add("scope", &scopes.join(" "));
        }
        for (name, value) in &client.parameters {
            add(name, value);
        }
    }
    fields
}
