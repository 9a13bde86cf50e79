//! Sources of knowledge: fetches the sources of a lens, and extracts their text.
//!
//! The port, its values and its errors. Must not know lenses, indexes, or whether a source was fetched before.

mod fetch;
mod media;

use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::HostPattern;
use crate::extract::Extracted;
use crate::http::HttpRunner;

pub use media::{Media, SourceEncoding};

/// Fetches sources and reads them.
#[async_trait]
pub trait Sources: Send + Sync {
    /// Fetches a link. Each name, also in a redirect, is resolved once, and the connection goes to the address that was
    /// checked. Repeats are safe.
    ///
    /// # Errors
    /// [`SourceError`] with the cause; nothing of the answer is kept.
    async fn fetch(
        &self,
        request: &SourceRequest,
        cancel: &CancellationToken,
    ) -> Result<Fetched, SourceError>;

    /// Extracts the text of a source in a separate process that is bounded in time and memory.
    ///
    /// # Errors
    /// [`SourceError`] when the source cannot be read; a crash ends only that process.
    async fn extract(
        &self,
        source: RawSource,
        cancel: &CancellationToken,
    ) -> Result<Extracted, SourceError>;
}

/// Fetches nothing and reads nothing: for programs without lenses.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSources;

impl NoSources {
    fn refusal() -> SourceError {
        SourceError::new(SourceFault::System, "this program does not fetch sources")
    }
}

#[async_trait]
impl Sources for NoSources {
    async fn fetch(
        &self,
        _: &SourceRequest,
        _: &CancellationToken,
    ) -> Result<Fetched, SourceError> {
        Err(Self::refusal())
    }

    async fn extract(&self, _: RawSource, _: &CancellationToken) -> Result<Extracted, SourceError> {
        Err(Self::refusal())
    }
}

/// Fetches links through the wall of [`Sources`], and extracts nothing: for programs without a sandbox.
#[derive(Debug)]
pub struct LinkFetcher {
    http: HttpRunner,
}

impl LinkFetcher {
    /// Prepares TLS.
    ///
    /// # Errors
    /// [`SourceFault::System`] if the platform's certificates cannot be used.
    pub fn new() -> Result<Self, SourceError> {
        let http = HttpRunner::new();
        let http = http.map_err(|error| {
            SourceError::new(SourceFault::System, format!("preparing TLS: {error}"))
        })?;
        Ok(Self { http })
    }

    /// Fetches a link, as [`Sources::fetch`].
    ///
    /// # Errors
    /// [`SourceError`] with the cause.
    pub async fn fetch(
        &self,
        request: &SourceRequest,
        cancel: &CancellationToken,
    ) -> Result<Fetched, SourceError> {
        self.http.fetch_source(request, cancel).await
    }
}

/// A link to fetch, with its bounds.
#[derive(Debug, Clone)]
pub struct SourceRequest {
    /// An `http` or `https` link.
    pub url: String,
    /// Private addresses, and ports other than 80 and 443, that may be reached. Public addresses
    /// may be reached in any case.
    pub egress: Vec<HostPattern>,
    /// Largest answer in bytes, after decompression.
    pub max_bytes: usize,
    /// Timeout of the whole fetch, redirects included.
    pub timeout: Duration,
    /// Validators of the last answer, so that an unchanged source is not sent again.
    pub known: Validators,
}

/// An answer's version (RFC 9110, section 8.8).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Validators {
    /// `ETag`.
    pub etag: Option<String>,
    /// `Last-Modified`.
    pub last_modified: Option<String>,
}

/// The result of a fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    /// The source is unchanged (304).
    NotModified,
    /// The source, and the validators for the next fetch.
    Source(RawSource, Validators),
}

/// A source before its text is extracted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawSource {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its format, as far as the sender declares it.
    pub media: Media,
}

/// Why a source is unavailable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SourceError {
    /// Kind of failure.
    pub kind: SourceFault,
    /// The attempt, the cause and the remedy; safe to show.
    pub message: String,
}

/// Kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceFault {
    /// An address that may not be reached.
    Refused,
    /// No answer, or a failure that may pass.
    Unreachable,
    /// An unusable answer: an error, too large, or of an unknown type.
    Unusable,
    /// Bytes that do not match their format.
    Unreadable,
    /// An internal error.
    System,
}

impl SourceError {
    pub(crate) fn new(kind: SourceFault, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}
