//! Content that the outputs of a run refer to, such as images of MCP servers' tools.
//!
//! The bytes and their media type are a stranger's: a browser shows only kinds that it cannot execute, and everything else
//! is a download.

use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};
use charter_contract::ids::RunId;

use crate::error::ApiError;
use crate::extract::{Authenticated, Path, parsed};
use crate::state::AppState;

/// Media types that are shown as they are; pictures that can contain scripts are not among them.
const SHOWN: [&str; 11] = [
    "audio/flac",
    "audio/mp4",
    "audio/mpeg",
    "audio/ogg",
    "audio/wav",
    "image/avif",
    "image/bmp",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/webp",
];

/// The media type of everything else.
const BYTES: &str = "application/octet-stream";

/// Content of a run never changes, and depends on the caller's key, so no shared cache may store it.
const PRIVATE: &str = "private, max-age=86400, immutable";

/// Fetch content that an output of a run refers to, byte for byte.
///
/// Outputs of MCP servers' tools refer to images, audio and the bytes of resources by digest, in `mcp_content`. Content is
/// kept as long as finished runs. Pictures and audio have their own media type; everything else is
/// `application/octet-stream`.
#[utoipa::path(get, path = "/v1/runs/{id}/contents/{digest}", tag = "runs", operation_id = "get_run_content",
    params(("id" = String, Path, description = "`run-…`"), ("digest" = String, Path, description = "`sha256:…`, from the output")),
    responses((status = 200, description = "The content", body = String, content_type = "application/octet-stream")))]
pub(crate) async fn show(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path((id, digest)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let id: RunId = parsed(&id)?;
    let views = state.engine.run_views();
    let content = views.content(&caller, &id, &digest).await?;
    let headers = [
        (CONTENT_TYPE, shown_as(&content.media_type)),
        (CONTENT_DISPOSITION, disposition(&content.media_type)),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (
            CONTENT_SECURITY_POLICY,
            "sandbox; default-src 'none'; frame-ancestors 'none'",
        ),
        (CACHE_CONTROL, PRIVATE),
    ];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    Ok((headers, content.bytes).into_response())
}

/// The media type with which content is served.
fn shown_as(media_type: &str) -> &'static str {
    let shown = SHOWN.into_iter();
    let mut shown = shown.filter(|known| known.eq_ignore_ascii_case(media_type));
    shown.next().unwrap_or(BYTES)
}

fn disposition(media_type: &str) -> &'static str {
    match shown_as(media_type) {
        BYTES => "attachment",
        _ => "inline",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_could_execute_is_a_download() {
        for (named, served, placed) in [
            ("image/png", "image/png", "inline"),
            ("Image/JPEG", "image/jpeg", "inline"),
            ("image/svg+xml", BYTES, "attachment"),
            ("text/html", BYTES, "attachment"),
            ("", BYTES, "attachment"),
        ] {
            assert_eq!((shown_as(named), disposition(named)), (served, placed));
        }
    }
}
