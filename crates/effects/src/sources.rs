//! Sources of knowledge: fetching what a lens refers to, and taking its text out.
//!
//! The port, its values and its errors. Must not know lenses, indexes, or whether a source was
//! fetched before.

mod fetch;
mod media;

use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::HostPattern;
use crate::extract::Extracted;

pub use media::{Media, SourceEncoding};

/// Fetches sources and reads them.
#[async_trait]
pub trait Sources: Send + Sync {
    /// Fetches a link. Every name is resolved once and connected to by the address that was
    /// checked, for each redirect anew. Repeating it does no harm.
    ///
    /// # Errors
    /// [`SourceError`] with what was wrong; nothing of the answer is kept.
    async fn fetch(
        &self,
        request: &SourceRequest,
        cancel: &CancellationToken,
    ) -> Result<Fetched, SourceError>;

    /// Takes the text out of a source, in a process of its own that is bounded in time and memory.
    ///
    /// # Errors
    /// [`SourceError`] when it cannot be read; whatever happens, only that process ends.
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

/// What to fetch, within which bounds.
#[derive(Debug, Clone)]
pub struct SourceRequest {
    /// An `http` or `https` link.
    pub url: String,
    /// Private addresses, and ports other than 80 and 443, that may be reached. Public addresses
    /// may be reached in any case.
    pub egress: Vec<HostPattern>,
    /// Most bytes of the answer, once decompressed.
    pub max_bytes: usize,
    /// Longest time for everything, redirects included.
    pub timeout: Duration,
    /// What the last answer said about itself, so that the same one is not sent again.
    pub known: Validators,
}

/// What an answer says about its version (RFC 9110, section 8.8).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Validators {
    /// `ETag`.
    pub etag: Option<String>,
    /// `Last-Modified`.
    pub last_modified: Option<String>,
}

/// What came of fetching.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    /// The server says that nothing changed (304).
    NotModified,
    /// The source, and what to ask with next time.
    Source(RawSource, Validators),
}

/// A source before its text is taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawSource {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What it is written in, as far as whoever gave it says.
    pub media: Media,
}

/// Why a source cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SourceError {
    /// What kind of failure.
    pub kind: SourceFault,
    /// What was tried, what was wrong and what to do; safe to show.
    pub message: String,
}

/// Kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceFault {
    /// An address that may not be reached.
    Refused,
    /// No answer, or one that may be better later.
    Unreachable,
    /// An answer that is no source: an error, something too large, an unknown type.
    Unusable,
    /// Bytes that are not what they should be.
    Unreadable,
    /// The fault is here.
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
