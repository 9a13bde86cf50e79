//! Who is asked, with what, and within which bounds: what an operator sets, checked before anybody is
//! asked.

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
    /// Its name, as answers have it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Brave => "brave",
            Self::SearxNg => "searxng",
        }
    }
}

/// What an operator sets.
#[derive(Debug, Clone)]
pub struct SearchOptions {
    /// Who is asked.
    pub provider: SearchProvider,
    /// The base of its address; Brave's own when absent.
    pub url: Option<String>,
    /// The key, which Brave wants and SearxNG does not have.
    pub key: Option<Secret>,
    /// Where it may be spoken to without TLS.
    pub plain_http: PlainHttp,
    /// Longest time of one attempt.
    pub attempt_timeout: Duration,
    /// Largest answer, in bytes.
    pub answer_bytes: usize,
    /// How failures that may pass are waited for.
    pub patience: RetryPolicy,
}

impl SearchOptions {
    /// Default time of one attempt.
    pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);
    /// Default largest answer: 2 MiB.
    pub const ANSWER_BYTES: usize = 2 << 20;

    /// The defaults for a provider: one retry.
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

/// Why a search provider cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SearchSetupError {
    /// There is no default address.
    #[error("SearxNG needs a `url`: the address of an instance")]
    NoUrl,
    /// The address is none.
    #[error("`url` is {why}")]
    Url {
        /// What it is instead.
        why: &'static str,
    },
    /// A key is wanted.
    #[error("Brave needs a `key`")]
    NoKey,
    /// A key would go nowhere.
    #[error("SearxNG has no `key`")]
    NeedlessKey,
    /// A key cannot be sent.
    #[error("the `key` is empty or has a character that is invalid in headers")]
    Key,
    /// TLS cannot be set up.
    #[error("setting up TLS")]
    Tls {
        /// Why.
        source: rustls::Error,
    },
    /// The HTTP client cannot be set up.
    #[error("setting up the HTTP client")]
    Client {
        /// Why.
        source: reqwest::Error,
    },
}

/// A search provider that can be asked.
#[derive(Debug)]
pub struct WebSearch {
    pub(super) options: SearchOptions,
    /// Where requests go.
    pub(super) url: Url,
    pub(super) client: Client,
}

impl WebSearch {
    /// Sets a provider up. Asks nobody.
    ///
    /// # Errors
    /// [`SearchSetupError`] when what is configured cannot work.
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

    /// Who is asked.
    #[must_use]
    pub const fn provider(&self) -> SearchProvider {
        self.options.provider
    }

    /// Where requests go.
    #[must_use]
    pub fn address(&self) -> &str {
        self.url.as_str()
    }

    /// Where the key comes from, where there is one.
    #[must_use]
    pub fn key_source(&self) -> Option<&SecretSource> {
        self.options.key.as_ref().map(Secret::source)
    }

    /// What takes the key out of texts.
    pub(crate) fn redactor(&self) -> Redactor {
        redactor(&self.options.key)
    }
}
