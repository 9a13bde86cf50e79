//! The search provider, in the configuration. Startup checks that the settings fit together.

use charter_effects::SearchOptions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::remote::{PlainHttpConfig, SecretConfig};

/// The provider of web searches for `charter.web.search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SearchConfig {
    /// The provider; if absent, every search is refused.
    pub(crate) provider: Option<SearchProviderConfig>,
    /// The base URL; Brave's own if absent.
    pub(crate) url: Option<String>,
    /// Where its key is.
    pub(crate) key: Option<SecretConfig>,
    /// The hosts to which plain HTTP is allowed.
    pub(crate) plain_http: PlainHttpConfig,
    /// Timeout of one attempt, in milliseconds.
    pub(crate) timeout_ms: u64,
}

/// A search provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SearchProviderConfig {
    /// The Brave Search API.
    Brave,
    /// An instance of SearxNG.
    SearxNg,
}

impl Default for SearchConfig {
    fn default() -> Self {
        let timeout = SearchOptions::ATTEMPT_TIMEOUT.as_millis();
        Self {
            provider: None,
            url: None,
            key: None,
            plain_http: PlainHttpConfig::default(),
            timeout_ms: u64::try_from(timeout).unwrap_or(u64::MAX),
        }
    }
}
