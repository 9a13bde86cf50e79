//! Ignores slashes at the end of addresses, for every method and without a redirect, which would lose the body. Must
//! not know the routes.

use axum::Router;
use axum::extract::Request;
use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use axum::middleware::map_request;

/// The folder of the console's pages. Their addresses are relative to it, so its slash is significant.
const PAGES: &str = "/console/";

/// The routes, which also match addresses with slashes at the end.
pub(crate) fn with_end_slashes(routes: Router) -> Router {
    // A layer of the router itself would run only after route matching.
    Router::new()
        .fallback_service(routes)
        .layer(map_request(without_end_slashes))
}

async fn without_end_slashes(mut request: Request) -> Request {
    if let Some(uri) = shortened(request.uri()) {
        *request.uri_mut() = uri;
    }
    request
}

/// The address without the slashes at its end; `None` if there are none to remove.
fn shortened(uri: &Uri) -> Option<Uri> {
    let path = uri.path();
    if path == "/" || !path.ends_with('/') || path.starts_with(PAGES) {
        return None;
    }
    let path = match path.trim_end_matches('/') {
        "" => "/",
        path => path,
    };
    let path = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(path).ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trailing_slashes_are_removed() {
        for (given, expected) in [
            ("/a2a/", Some("/a2a")),
            ("/a2a", None),
            (
                "/v1/memories//?after=x/&limit=1",
                Some("/v1/memories?after=x/&limit=1"),
            ),
            ("/v1/runs?after=/", None),
            ("/v1/packages/a%2F", None),
            ("/v1/packages/a%20b/", Some("/v1/packages/a%20b")),
            ("/", None),
            ("//", Some("/")),
            ("/console/", None),
            ("/console/runs/", None),
            ("*", None),
            (
                "http://localhost/v1/keys/?x",
                Some("http://localhost/v1/keys?x"),
            ),
        ] {
            let shown = shortened(&given.parse().unwrap()).map(|uri| uri.to_string());
            assert_eq!(shown.as_deref(), expected, "{given}");
        }
    }
}
