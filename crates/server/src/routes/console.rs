//! The web console: the files that `console/` is built into, as part of the binary. In a debug build they are read
//! from that folder. A binary that was built without them works as well; it has no console.

use axum::extract::{Path, State};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use charter_contract::error_code::ErrorCode;
use charter_engine::EngineError;
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::error::ApiError;
use crate::state::AppState;

#[derive(RustEmbed)]
#[folder = "../../console/dist"]
struct Built;

/// The one page; what it shows follows from the address.
const PAGE: &str = "index.html";

/// Files whose name has a digest of their content.
const ASSETS: &str = "assets/";

/// Scripts and data come from this server alone; the component library writes styles into the page.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
     connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; object-src 'none'";

/// Where somebody begins who only knows the address of the server.
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

pub(crate) async fn page(
    State(state): State<AppState>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    file(&state, PAGE, &headers)
}

/// A file of the console. What has no ending is a place within the page.
pub(crate) async fn show(
    State(state): State<AppState>,
    Path(path): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    if Built::get(&path).is_some() {
        return file(&state, &path, &headers);
    }
    if path.starts_with(ASSETS) {
        return Err(super::unknown(State(state), uri).await);
    }
    file(&state, PAGE, &headers)
}

fn file(state: &AppState, path: &str, asked: &HeaderMap) -> Result<Response, ApiError> {
    let plain = Built::get(path).ok_or_else(|| {
        let message =
            "this binary was built without the web console; run `make console` and build it again";
        ApiError::new(state, EngineError::new(ErrorCode::NotFound, message))
    })?;
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
        return Ok(reply(headers, StatusCode::NOT_MODIFIED, "".into()));
    }
    let packed = takes_brotli(asked).then(|| Built::get(&format!("{path}.br")));
    let body = match packed.flatten() {
        Some(packed) => {
            headers.push((CONTENT_ENCODING, HeaderValue::from_static("br")));
            packed.data
        }
        None => plain.data,
    };
    Ok(reply(headers, StatusCode::OK, body.into_owned().into()))
}

fn tag(file: &EmbeddedFile) -> HeaderValue {
    let digest = file.metadata.sha256_hash();
    let hex: String = digest[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    HeaderValue::try_from(format!("\"{hex}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

/// Whether the client takes what is packed with brotli.
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
