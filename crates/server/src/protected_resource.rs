//! OAuth 2.0 protected-resource metadata (RFC 9728), by which clients of the Model Context Protocol find the identity
//! provider for their token, and the challenges that refer to it (RFC 6750, section 3). Without a provider there is no
//! metadata. URLs come from the configuration: a request only selects among the names of this machine.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, HOST, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};

use crate::error::InsufficientScope;
use crate::json::Json;
use crate::operations::MCP_PATH;
use crate::public_url::{path_of, public_url};
use crate::routes;
use crate::state::AppState;

/// The path of the metadata of the whole server; that of a part is below it, at the part's path.
const METADATA: &str = "/.well-known/oauth-protected-resource";

/// How long readers may cache the metadata.
const KEPT: &str = "public, max-age=300";

/// The routes of the metadata.
pub(crate) fn routes() -> Router<AppState> {
    Router::new()
        .route(METADATA, get(show))
        .route(&format!("{METADATA}/{{*resource}}"), get(show))
}

async fn show(State(state): State<AppState>, uri: Uri, headers: HeaderMap) -> Response {
    let configured = state.publisher.base();
    let place = uri.path().strip_prefix(METADATA).unwrap_or_default();
    let resource = resource_at(place, &path_of(configured));
    let (false, Some(resource)) = (state.engine.providers().is_empty(), resource) else {
        return routes::unknown(uri).await.into_response();
    };
    let base = public_url(configured, headers.get(HOST));
    let document = document(&state, &format!("{base}{resource}"));
    ([(CACHE_CONTROL, KEPT)], Json(document)).into_response()
}

fn document(state: &AppState, resource: &str) -> Value {
    let providers = state.engine.providers();
    let mut document = json!({
        "resource": resource,
        "authorization_servers": providers.names(),
        "bearer_methods_supported": ["header"],
        "resource_name": state.publisher.name(),
    });
    // A list without entries is omitted (RFC 9728, section 3.2).
    if !providers.scopes().is_empty() {
        document["scopes_supported"] = json!(providers.scopes());
    }
    document
}

/// The path of the resource whose metadata is at `place` below [`METADATA`]: the server's, or that of the Model Context
/// Protocol, also below the path of the public URL (RFC 9728, section 3.1).
fn resource_at(place: &str, public_path: &str) -> Option<&'static str> {
    let place = place.trim_end_matches('/');
    match place.strip_prefix(public_path).unwrap_or(place) {
        "" => Some(""),
        MCP_PATH => Some(MCP_PATH),
        _ => None,
    }
}

/// The facts of a request that its challenge depends on.
pub(crate) struct ChallengeContext {
    resource: &'static str,
    host: Option<HeaderValue>,
    has_credential: bool,
}

impl ChallengeContext {
    pub(crate) fn new(request: &Request) -> Self {
        let headers = request.headers();
        Self {
            resource: match request.uri().path() {
                MCP_PATH => MCP_PATH,
                _ => "",
            },
            host: headers.get(HOST).cloned(),
            has_credential: headers.contains_key(AUTHORIZATION),
        }
    }

    /// Adds a challenge to a response that refuses a caller because of the credential or its rights.
    pub(crate) fn challenge(&self, state: &AppState, mut response: Response) -> Response {
        let has_providers = !state.engine.providers().is_empty();
        let lacks_rights = response.extensions().get::<InsufficientScope>().is_some();
        let error = match response.status() {
            StatusCode::UNAUTHORIZED => self.has_credential.then_some("invalid_token"),
            StatusCode::FORBIDDEN if has_providers && lacks_rights => Some("insufficient_scope"),
            _ => return response,
        };
        let metadata = has_providers.then(|| {
            let base = public_url(state.publisher.base(), self.host.as_ref());
            format!("{base}{METADATA}{}", self.resource)
        });
        if let Ok(challenge) = HeaderValue::try_from(challenge_header(error, metadata.as_deref())) {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

fn challenge_header(error: Option<&str>, metadata: Option<&str>) -> String {
    let parameters = [("error", error), ("resource_metadata", metadata)];
    let given = parameters
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}=\"{}\"", value?)));
    let given: Vec<String> = given.collect();
    format!("Bearer {}", given.join(", ")).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_at_the_paths_of_the_server_and_of_the_protocol() {
        for (place, public_path, resource) in [
            ("", "", Some("")),
            ("/", "", Some("")),
            ("/mcp", "", Some("/mcp")),
            ("/mcp/", "", Some("/mcp")),
            ("/v1/runs", "", None),
            ("/other/mcp", "", None),
            ("/team", "/team", Some("")),
            ("/team/mcp", "/team", Some("/mcp")),
            ("/mcp", "/team", Some("/mcp")),
        ] {
            assert_eq!(resource_at(place, public_path), resource, "{place}");
        }
    }

    #[test]
    fn a_challenge_names_the_error_and_the_metadata_address() {
        for (error, metadata, expected) in [
            (None, None, "Bearer"),
            (
                Some("invalid_token"),
                None,
                "Bearer error=\"invalid_token\"",
            ),
            (
                None,
                Some("https://a/m"),
                "Bearer resource_metadata=\"https://a/m\"",
            ),
            (
                Some("insufficient_scope"),
                Some("https://a/m"),
                "Bearer error=\"insufficient_scope\", resource_metadata=\"https://a/m\"",
            ),
        ] {
            assert_eq!(challenge_header(error, metadata), expected);
        }
    }
}
