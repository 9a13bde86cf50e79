//! The search provider, as an operator writes it. What fits together is checked where it is set up.

use charter_effects::SearchOptions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::remote::{PlainHttpConfig, SecretConfig};

/// Who searches the web for `charter.web.search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SearchConfig {
    /// Who is asked; without it every search is refused.
    pub(crate) provider: Option<SearchProviderConfig>,
    /// The base of its address; Brave's own when absent.
    pub(crate) url: Option<String>,
    /// Where its key is.
    pub(crate) key: Option<SecretConfig>,
    /// Where it may be spoken to without TLS.
    pub(crate) plain_http: PlainHttpConfig,
    /// Time limit of one attempt, in milliseconds.
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
