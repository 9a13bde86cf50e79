//! How an installation presents itself to other agents, in the configuration.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::paths::FilePath;

/// How this installation presents itself to other agents: its agent card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct A2aConfig {
    /// The URL at which others reach this server, e.g. `https://charter.example.com`; `http://` and the listening
    /// address if absent. Cards contain no other URL, and clients of the Model Context Protocol find the identity
    /// provider by it. If it is an https URL, evidence that no other console shows links to its run.
    pub(crate) public_url: Option<String>,
    /// The name on the card.
    pub(crate) name: String,
    /// The description of the installation's purpose on the card.
    pub(crate) description: String,
    /// The organization that runs it; needs `organization_url`.
    pub(crate) organization: Option<String>,
    /// A link to the organization.
    pub(crate) organization_url: Option<String>,
    /// The file with the secret seed of the key that signs cards; `agent-card.key` in the data directory if absent. It
    /// is created if it is missing.
    #[schemars(with = "Option<FilePath>")]
    pub(crate) key_file: Option<PathBuf>,
}

impl Default for A2aConfig {
    fn default() -> Self {
        Self {
            public_url: None,
            name: "Charter".to_owned(),
            description: "Answers questions and executes procedures by registered skills and playbooks, with \
                          evidence for its answers."
                .to_owned(),
            organization: None,
            organization_url: None,
            key_file: None,
        }
    }
}
