//! The index of agent skills on a search node, as an operator writes it.

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
    /// The node's address, e.g. `https://search.example.com:9200`. Without it skills are found in this
    /// process's memory.
    pub(crate) url: Option<String>,
    /// The name that the index is found by: an alias, which Charter makes.
    pub(crate) index: String,
    /// Whom to ask as, with `password`.
    pub(crate) user: Option<String>,
    /// Where the password is.
    pub(crate) password: Option<SecretConfig>,
    /// Where an API key of Elasticsearch is, in place of user and password.
    pub(crate) api_key: Option<SecretConfig>,
    /// The certificates (PEM) that vouch for the node; those of the platform when absent.
    #[schemars(with = "Option<FilePath>")]
    pub(crate) certificates: Option<PathBuf>,
    /// Where it may be spoken to without TLS.
    pub(crate) plain_http: PlainHttpConfig,
    /// Time limit of a search, in milliseconds; writing may take ten times as long.
    pub(crate) timeout_ms: u64,
    /// Whether this process keeps the vectors too, and searches them itself while the node does not
    /// answer. Without them discovery is `unavailable` then, and they take no memory.
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
