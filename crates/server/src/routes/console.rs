//! The web console: the files that `console/` is built into, embedded in the binary. A debug build reads them from that
//! folder. A binary that was built without them works too, but has no console.

use axum::extract::Path;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use charter_contract::error_code::ErrorCode;
use charter_contract::hex;
use charter_engine::EngineError;
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::error::ApiError;

#[derive(RustEmbed)]
#[folder = "../../console/dist"]
struct Built;

/// The only page; its content follows from the address.
const PAGE: &str = "index.html";

/// Files whose names contain a digest of their content.
const ASSETS: &str = "assets/";

/// Scripts and data come only from this server; the component library writes styles into the page.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
     connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; object-src 'none'";

/// Redirects from the server's root address.
pub(crate) async fn start() -> Response {
    match Built::get(PAGE) {
        Some(_) => Redirect::temporary("/console/").into_response(),
        None => super::pages::reference().await.into_response(),
    }
}

/// `/console`: addresses within the page are relative to the folder.
pub(crate) async fn folder() -> Redirect {
    Redirect::permanent("/console/")
}

pub(crate) async fn page(headers: HeaderMap) -> Result<Response, ApiError> {
    answer::<Built>(PAGE, &headers).ok_or_else(without_console)
}

/// A file of the console. Any other path, except below `assets/`, is an address within the page.
pub(crate) async fn show(
    Path(path): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    match answer::<Built>(&path, &headers) {
        Some(response) => Ok(response),
        None if path.starts_with(ASSETS) => Err(super::unknown(uri).await),
        None => Err(without_console()),
    }
}

fn without_console() -> ApiError {
    let message =
        "this binary was built without the web console; run `make console` and rebuild it";
    EngineError::new(ErrorCode::NotFound, message).into()
}

/// The file at `path`; the page for an address within it. `None` if neither was built.
fn answer<Files: RustEmbed>(path: &str, asked: &HeaderMap) -> Option<Response> {
    let (path, plain) = match Files::get(path) {
        Some(file) => (path, file),
        None if path.starts_with(ASSETS) => return None,
        None => (PAGE, Files::get(PAGE)?),
    };
    let tag = tag(&plain);
    let cache = match path.starts_with(ASSETS) {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    let mut headers: Vec<(HeaderName, HeaderValue)> = vec![
        (CACHE_CONTROL, HeaderValue::from_static(cache)),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (CONTENT_TYPE, HeaderValue::from_static(content_type(path))),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (VARY, HeaderValue::from_static("accept-encoding")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (ETAG, tag.clone()),
    ];
    let reply = |headers: Vec<_>, status, body| {
        let mut response = Response::new(body);
        *response.status_mut() = status;
        response.headers_mut().extend(headers);
        response
    };
    if asked
        .get_all(IF_NONE_MATCH)
        .iter()
        .any(|known| known == tag)
    {
        return Some(reply(headers, StatusCode::NOT_MODIFIED, "".into()));
    }
    let packed = takes_brotli(asked).then(|| Files::get(&format!("{path}.br")));
    let body = match packed.flatten() {
        Some(packed) => {
            headers.push((CONTENT_ENCODING, HeaderValue::from_static("br")));
            packed.data
        }
        None => plain.data,
    };
    Some(reply(headers, StatusCode::OK, body.into_owned().into()))
}

fn tag(file: &EmbeddedFile) -> HeaderValue {
    let digest = file.metadata.sha256_hash();
    HeaderValue::try_from(format!("\"{}\"", hex::encode(&digest[..16])))
        .unwrap_or(HeaderValue::from_static("\"\""))
}

/// Whether the client accepts brotli compression.
fn takes_brotli(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter();
    let named = values.filter_map(|value| value.to_str().ok());
    named
        .flat_map(|value| value.split(','))
        .any(|coding| coding.trim() == "br")
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page, a script with a compressed twin, and one without.
    #[derive(RustEmbed)]
    #[folder = "tests/console"]
    struct Sample;

    #[derive(RustEmbed)]
    #[folder = "tests/console/none"]
    #[allow_missing = true]
    struct Nothing;

    fn asking(asked: &[(HeaderName, &str)]) -> HeaderMap {
        let pairs = asked.iter();
        pairs
            .map(|(name, value)| (name.clone(), value.parse().unwrap()))
            .collect()
    }

    fn header<'a>(response: &'a Response, name: &HeaderName) -> Option<&'a str> {
        response
            .headers()
            .get(name)
            .map(|value| value.to_str().unwrap())
    }

    async fn body(response: Response) -> Vec<u8> {
        let limit = 1 << 20;
        axum::body::to_bytes(response.into_body(), limit)
            .await
            .unwrap()
            .into()
    }

    async fn plain(path: &str) -> Vec<u8> {
        body(answer::<Sample>(path, &HeaderMap::new()).unwrap()).await
    }

    #[tokio::test]
    async fn a_path_within_the_console_returns_the_page() {
        let page = plain("index.html").await;
        assert!(page.starts_with(b"<!doctype html>"));
        for place in ["", "runs", "runs/run-1", "evidence/ev-1.2"] {
            assert_eq!(plain(place).await, page, "{place}");
        }
    }

    #[test]
    fn files_outside_the_console_are_not_served() {
        for path in ["../console.rs", "../../../Cargo.toml", "/etc/passwd"] {
            let response = answer::<Sample>(path, &HeaderMap::new()).unwrap();
            let kind = header(&response, &CONTENT_TYPE);
            assert_eq!(kind, Some("text/html; charset=utf-8"), "{path}");
        }
    }

    #[test]
    fn a_file_of_another_build_is_not_found() {
        assert!(answer::<Sample>("assets/gone-1a2b3c.js", &HeaderMap::new()).is_none());
    }

    #[test]
    fn without_the_console_no_path_is_served() {
        for path in ["index.html", "runs", "assets/main-4d5e6f.js"] {
            assert!(
                answer::<Nothing>(path, &HeaderMap::new()).is_none(),
                "{path}"
            );
        }
    }

    #[tokio::test]
    async fn compressed_files_are_sent_only_to_clients_that_accept_them() {
        let asset = "assets/main-4d5e6f.js";
        let packed = answer::<Sample>(asset, &asking(&[(ACCEPT_ENCODING, "gzip, br")])).unwrap();
        assert_eq!(header(&packed, &CONTENT_ENCODING), Some("br"));
        assert_eq!(
            header(&packed, &CONTENT_TYPE),
            Some("text/javascript; charset=utf-8")
        );
        assert_ne!(body(packed).await, plain(asset).await);

        let gzip = answer::<Sample>(asset, &asking(&[(ACCEPT_ENCODING, "gzip")])).unwrap();
        assert_eq!(header(&gzip, &CONTENT_ENCODING), None);
        assert_eq!(header(&gzip, &VARY), Some("accept-encoding"));
        assert_eq!(body(gzip).await, plain(asset).await);

        let unpacked = answer::<Sample>("index.html", &asking(&[(ACCEPT_ENCODING, "br")]));
        assert_eq!(header(&unpacked.unwrap(), &CONTENT_ENCODING), None);
    }

    #[tokio::test]
    async fn an_unchanged_file_is_not_sent_again() {
        let first = answer::<Sample>("index.html", &HeaderMap::new()).unwrap();
        let tag = header(&first, &ETAG).unwrap();
        let again = answer::<Sample>("index.html", &asking(&[(IF_NONE_MATCH, tag)])).unwrap();
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        assert!(body(again).await.is_empty());
        let other = asking(&[(IF_NONE_MATCH, "\"of another build\"")]);
        let changed = answer::<Sample>("index.html", &other).unwrap();
        assert_eq!(changed.status(), StatusCode::OK);
    }

    #[test]
    fn the_page_is_revalidated_and_its_files_are_cached() {
        let page = answer::<Sample>("index.html", &HeaderMap::new()).unwrap();
        assert_eq!(header(&page, &CACHE_CONTROL), Some("no-cache"));
        let asset = answer::<Sample>("assets/main-4d5e6f.js", &HeaderMap::new()).unwrap();
        assert!(
            header(&asset, &CACHE_CONTROL)
                .unwrap()
                .contains("immutable")
        );
    }

    #[test]
    fn scripts_of_other_servers_and_within_the_page_are_refused() {
        let page = answer::<Sample>("index.html", &HeaderMap::new()).unwrap();
        let policy = header(&page, &CONTENT_SECURITY_POLICY).unwrap();
        assert!(policy.contains("default-src 'self'") && policy.contains("frame-ancestors 'none'"));
        assert!(!policy.contains("script-src"), "{policy}");
        assert_eq!(header(&page, &X_CONTENT_TYPE_OPTIONS), Some("nosniff"));
    }
}
