//! The metadata of a protected resource (RFC 9728): which authorization server issues tokens for it, as the
//! authorization of the Model Context Protocol uses it. Nothing in it is trusted: the addresses are checked before
//! they are used, and pass the egress wall. Must not know tokens.

use charter_contract::json::{self, Profile};
use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};
use reqwest::{Method, StatusCode, Url};
use serde::Deserialize;

use super::discovery::checked;
use super::exchange::OAuthRequest;
use super::{HttpAuthorizationServers, OAuthClient, OAuthFailure, OAuthFault};

/// The part before a resource's path (RFC 9728, section 3).
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
/// Most scopes that a resource may ask for, and the longest of them, in bytes.
const MAX_SCOPES: usize = 64;
const MAX_SCOPE_BYTES: usize = 256;

/// What a resource says about its tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProtectedResource {
    /// The resource, by its own name.
    pub(super) resource: String,
    /// The issuer of its tokens.
    pub(super) issuer: String,
    pub(super) scopes: Vec<String>,
}

/// The part of the metadata that is read.
#[derive(Deserialize)]
struct ResourceMetadata {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

/// The part of a challenge that is read (RFC 9728, section 5.1; RFC 6750, section 3).
#[derive(Debug, Default, PartialEq, Eq)]
struct Challenge {
    resource_metadata: Option<String>,
    scope: Option<String>,
}

impl HttpAuthorizationServers {
    /// Finds the authorization server of a resource: by the metadata that its challenge names, or by the metadata at
    /// the standard's places. A resource without metadata is its own authorization server (MCP 2025-03-26).
    pub(super) async fn protected_resource(
        &self,
        client: &OAuthClient,
        resource: &str,
    ) -> Result<ProtectedResource, OAuthFailure> {
        let url = checked(resource, client.plain_http)?;
        let challenge = self.challenge(client, &url).await?;
        let asked: Vec<String> = challenge
            .scope
            .iter()
            .flat_map(|text| words(text))
            .collect();
        let places = match &challenge.resource_metadata {
            Some(named) => vec![checked(named, client.plain_http)?],
            None => well_known(&url),
        };
        for place in places {
            let request = OAuthRequest::new(Method::GET, place.clone());
            let (status, body) = self.exchange(client, request).await?;
            if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS {
                continue;
            }
            if !status.is_success() {
                let message = format!("{place} answered {status}");
                return Err(OAuthFailure::new(OAuthFault::Unavailable, message));
            }
            let metadata: ResourceMetadata =
                json::decode(&body, Profile::NOTICE).map_err(|error| {
                    let message = format!("the metadata {place}: {error}");
                    OAuthFailure::new(OAuthFault::Misconfigured, message)
                })?;
            return read(&url, &place, metadata, asked);
        }
        Ok(ProtectedResource {
            issuer: url.origin().ascii_serialization(),
            resource: resource.to_owned(),
            scopes: asked,
        })
    }

    /// Asks the resource without a token. An answer that is no challenge has nothing to say.
    async fn challenge(&self, client: &OAuthClient, url: &Url) -> Result<Challenge, OAuthFailure> {
        let request = OAuthRequest::new(Method::GET, url.clone());
        match self.exchange_whole(client, request).await {
            Ok((StatusCode::UNAUTHORIZED, headers, _)) => Ok(challenge_of(&headers)),
            Ok(_) => Ok(Challenge::default()),
            Err(failure) if failure.fault == OAuthFault::Forbidden => Err(failure),
            // It may stream events to anybody, and have its metadata nevertheless.
            Err(_) => Ok(Challenge::default()),
        }
    }
}

/// Returns the places of a resource's metadata: with its path, and of its whole host.
fn well_known(resource: &Url) -> Vec<Url> {
    let place = |path: &str| {
        let mut url = resource.clone();
        url.set_query(None);
        url.set_path(&format!("{WELL_KNOWN}{path}"));
        url
    };
    match resource.path().trim_end_matches('/') {
        "" => vec![place("")],
        path => vec![place(path), place("")],
    }
}

/// Reads metadata. It must be about the resource, or about a part of its host that the resource is in: otherwise a
/// token for another resource could be asked for in its name.
fn read(
    url: &Url,
    place: &Url,
    metadata: ResourceMetadata,
    asked: Vec<String>,
) -> Result<ProtectedResource, OAuthFailure> {
    let about = Url::parse(&metadata.resource).ok();
    if !about.is_some_and(|about| contains(&about, url)) {
        let message = format!("{place} is about another resource than {url}");
        return Err(OAuthFailure::new(OAuthFault::Forbidden, message));
    }
    let Some(issuer) = metadata.authorization_servers.into_iter().next() else {
        let message = format!("{place} names no authorization server");
        return Err(OAuthFailure::new(OAuthFault::Misconfigured, message));
    };
    let scopes = match asked.is_empty() {
        true => bounded(metadata.scopes_supported.into_iter()),
        false => asked,
    };
    Ok(ProtectedResource {
        resource: metadata.resource,
        issuer,
        scopes,
    })
}

/// Whether a resource has this address, or contains it.
fn contains(resource: &Url, url: &Url) -> bool {
    let (outer, inner) = (resource.path().trim_end_matches('/'), url.path());
    let below = inner.strip_prefix(outer);
    resource.origin() == url.origin()
        && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn words(text: &str) -> Vec<String> {
    bounded(text.split_ascii_whitespace().map(str::to_owned))
}

fn bounded(scopes: impl Iterator<Item = String>) -> Vec<String> {
    let fits = |scope: &String| {
        (1..=MAX_SCOPE_BYTES).contains(&scope.len()) && scope.bytes().all(|b| b.is_ascii_graphic())
    };
    scopes.filter(fits).take(MAX_SCOPES).collect()
}

fn challenge_of(headers: &HeaderMap) -> Challenge {
    let mut found = Challenge::default();
    let values = headers.get_all(WWW_AUTHENTICATE).iter();
    for value in values.filter_map(|value| value.to_str().ok()) {
        found.resource_metadata = found
            .resource_metadata
            .or_else(|| parameter(value, "resource_metadata"));
        found.scope = found.scope.or_else(|| parameter(value, "scope"));
    }
    found
}

/// Returns the value of a parameter of a challenge (RFC 9110, section 11.2).
fn parameter(value: &str, name: &str) -> Option<String> {
    let mut rest = value;
    while let Some(at) = rest.find(name) {
        let begins = rest[..at].chars().next_back();
        let after = rest[at + name.len()..].trim_start();
        rest = &rest[at + name.len()..];
        if begins.is_some_and(|before| !matches!(before, ' ' | ',' | '\t')) {
            continue;
        }
        let Some(text) = after.strip_prefix('=').map(str::trim_start) else {
            continue;
        };
        let found = match text.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next(),
            None => text.split([',', ' ']).next(),
        };
        return found.map(str::to_owned);
    }
    None
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn a_challenge_names_its_metadata_and_scopes() {
        for (value, metadata, scope) in [
            (
                "Bearer resource_metadata=\"https://a.example/meta\", scope=\"read write\"",
                Some("https://a.example/meta"),
                Some("read write"),
            ),
            ("Bearer scope=read,realm=\"x\"", None, Some("read")),
            ("Bearer error_scope=\"no\"", None, None),
            ("Basic realm=\"x\"", None, None),
        ] {
            let headers =
                HeaderMap::from_iter([(WWW_AUTHENTICATE, HeaderValue::from_static(value))]);
            let expected = Challenge {
                resource_metadata: metadata.map(str::to_owned),
                scope: scope.map(str::to_owned),
            };
            assert_eq!(challenge_of(&headers), expected, "{value}");
        }
    }

    #[test]
    fn metadata_is_about_the_resource_or_what_contains_it() {
        let url = Url::parse("https://a.example/tools/mcp").unwrap();
        for (resource, expected) in [
            ("https://a.example/tools/mcp", true),
            ("https://a.example/tools/", true),
            ("https://a.example", true),
            ("https://a.example/tool", false),
            ("https://a.example/tools/mcp/more", false),
            ("http://a.example/tools/mcp", false),
            ("https://b.example/tools/mcp", false),
        ] {
            let resource = Url::parse(resource).unwrap();
            assert_eq!(contains(&resource, &url), expected, "{resource}");
        }
        let places: Vec<String> = well_known(&url).iter().map(ToString::to_string).collect();
        assert_eq!(
            places,
            [
                "https://a.example/.well-known/oauth-protected-resource/tools/mcp",
                "https://a.example/.well-known/oauth-protected-resource",
            ]
        );
    }
}
