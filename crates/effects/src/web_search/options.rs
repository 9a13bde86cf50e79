//! The provider, its key and limits: the operator's configuration, checked before the first request.

use std::time::Duration;

use reqwest::{Client, Url};
use serde::Serialize;

use super::{brave, searxng};
use crate::http::{HttpRunner, PlainHttp, Redirects, base};
use crate::patience::RetryPolicy;
use crate::redact::Redactor;
use crate::secret::{Secret, SecretSource, redactor};

/// A search provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchProvider {
    /// The Brave Search API.
    Brave,
    /// An instance of SearxNG.
    SearxNg,
}

impl SearchProvider {
    /// Returns its name, as in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Brave => "brave",
            Self::SearxNg => "searxng",
        }
    }
}

/// Configuration of web searches.
#[derive(Debug, Clone)]
pub struct SearchOptions {
    /// The search provider.
    pub provider: SearchProvider,
    /// Its base URL; Brave's own when absent.
    pub url: Option<String>,
    /// The key, which Brave requires and SearxNG does not have.
    pub key: Option<Secret>,
    /// Hosts to which connections without TLS are allowed.
    pub plain_http: PlainHttp,
    /// Timeout of one attempt.
    pub attempt_timeout: Duration,
    /// Largest answer, in bytes.
    pub answer_bytes: usize,
    /// Retry policy for transient failures.
    pub patience: RetryPolicy,
}

impl SearchOptions {
    /// Default timeout of one attempt.
    pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);
    /// Default largest answer: 2 MiB.
    pub const ANSWER_BYTES: usize = 2 << 20;

    /// Returns the defaults for a provider: one retry.
    #[must_use]
    pub fn new(provider: SearchProvider) -> Self {
        Self {
            provider,
            url: None,
            key: None,
            plain_http: PlainHttp::Loopback,
            attempt_timeout: Self::ATTEMPT_TIMEOUT,
            answer_bytes: Self::ANSWER_BYTES,
            patience: RetryPolicy {
                retries: 1,
                first_pause: Duration::from_secs(1),
                ..RetryPolicy::default()
            },
        }
    }
}

/// Why the configuration of a search provider is invalid.
#[derive(Debug, thiserror::Error)]
pub enum SearchSetupError {
    /// There is no default address.
    #[error("SearxNG needs a `url`: the address of an instance")]
    NoUrl,
    /// The address is invalid.
    #[error("`url` is {why}")]
    Url {
        /// The fault of the address.
        why: &'static str,
    },
    /// A key is required.
    #[error("Brave needs a `key`")]
    NoKey,
    /// The provider has no use for a key.
    #[error("SearxNG has no `key`")]
    NeedlessKey,
    /// The key is not a valid header value.
    #[error("the `key` is empty or has a character that is invalid in headers")]
    Key,
    /// TLS initialisation failed.
    #[error("setting up TLS")]
    Tls {
        /// The cause.
        source: rustls::Error,
    },
    /// Creating the HTTP client failed.
    #[error("setting up the HTTP client")]
    Client {
        /// The cause.
        source: reqwest::Error,
    },
}

/// A configured search provider.
#[derive(Debug)]
pub struct WebSearch {
    pub(super) options: SearchOptions,
    /// The destination of requests.
    pub(super) url: Url,
    pub(super) client: Client,
}

impl WebSearch {
    /// Creates the provider. Sends nothing.
    ///
    /// # Errors
    /// [`SearchSetupError`] when the configuration cannot work.
    pub fn new(options: SearchOptions) -> Result<Self, SearchSetupError> {
        match (options.provider, &options.key) {
            (SearchProvider::Brave, None) => return Err(SearchSetupError::NoKey),
            (SearchProvider::Brave, Some(key)) if !key.fits_header() => {
                return Err(SearchSetupError::Key);
            }
            (SearchProvider::SearxNg, Some(_)) => return Err(SearchSetupError::NeedlessKey),
            (SearchProvider::Brave, Some(_)) | (SearchProvider::SearxNg, None) => {}
        }
        let (default, path) = match options.provider {
            SearchProvider::Brave => (Some(brave::URL), brave::PATH),
            SearchProvider::SearxNg => (None, searxng::PATH),
        };
        let given = options.url.as_deref().or(default);
        let wrong = |why| SearchSetupError::Url { why };
        let mut url =
            base(given.ok_or(SearchSetupError::NoUrl)?, options.plain_http).map_err(wrong)?;
        url.path_segments_mut()
            .map_err(|()| wrong("not a base URL of an API"))?
            .pop_if_empty()
            .extend(path);
        let http = HttpRunner::new().map_err(|source| SearchSetupError::Tls { source })?;
        let client = http
            .pooled_client(Redirects::SameOrigin)
            .map_err(|source| SearchSetupError::Client { source })?;
        Ok(Self {
            options,
            url,
            client,
        })
    }

    /// Returns the search provider.
    #[must_use]
    pub const fn provider(&self) -> SearchProvider {
        self.options.provider
    }

    /// Returns the destination of requests.
    #[must_use]
    pub fn address(&self) -> &str {
        self.url.as_str()
    }

    /// Returns the source of the key, if there is one.
    #[must_use]
    pub fn key_source(&self) -> Option<&SecretSource> {
        self.options.key.as_ref().map(Secret::source)
    }

    /// Returns a redactor of the key.
    pub(crate) fn redactor(&self) -> Redactor {
        redactor(&self.options.key)
    }
}
