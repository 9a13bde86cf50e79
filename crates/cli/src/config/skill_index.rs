//! The index of agent skills on a search node, in the configuration.

use std::path::PathBuf;

use charter_store_es::EsOptions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::paths::FilePath;
use super::remote::{PlainHttpConfig, SecretConfig};

/// An index of agent skills on Elasticsearch or OpenSearch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SkillIndexConfig {
    /// The node's URL, e.g. `https://search.example.com:9200`. If absent, this process searches skills in its own
    /// memory.
    pub(crate) url: Option<String>,
    /// The name of the index: an alias, which Charter creates.
    pub(crate) index: String,
    /// The user name, with `password`.
    pub(crate) user: Option<String>,
    /// Where the password is.
    pub(crate) password: Option<SecretConfig>,
    /// Where an API key of Elasticsearch is, in place of user and password.
    pub(crate) api_key: Option<SecretConfig>,
    /// The trusted root certificates (PEM); the platform's if absent.
    #[schemars(with = "Option<FilePath>")]
    pub(crate) certificates: Option<PathBuf>,
    /// The hosts to which plain HTTP is allowed.
    pub(crate) plain_http: PlainHttpConfig,
    /// Timeout of a search, in milliseconds; a write may take ten times as long.
    pub(crate) timeout_ms: u64,
    /// Whether this process also keeps the vectors, to search them itself while the node does not answer. Without them,
    /// discovery is then `unavailable`, and they use no memory.
    pub(crate) vectors_in_memory: bool,
}

impl Default for SkillIndexConfig {
    fn default() -> Self {
        let options = EsOptions::new("");
        Self {
            url: None,
            index: options.index,
            user: None,
            password: None,
            api_key: None,
            certificates: None,
            plain_http: PlainHttpConfig::default(),
            timeout_ms: u64::try_from(options.timeout.as_millis()).unwrap_or(u64::MAX),
            vectors_in_memory: true,
        }
    }
}
