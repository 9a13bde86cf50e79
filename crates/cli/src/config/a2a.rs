//! How an installation presents itself to other agents, as an operator writes it.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::paths::FilePath;

/// How this installation presents itself to other agents: its agent card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct A2aConfig {
    /// The URL at which others reach this server, e.g. `https://charter.example.com`; `http://` and the
    /// address that it listens on when absent. Cards name no other URL, and clients of the Model Context Protocol
    /// find the identity provider by it. If it is an https URL, evidence that no other console shows links to its run.
    pub(crate) public_url: Option<String>,
    /// The name on the card.
    pub(crate) name: String,
    /// What the card says that this installation is for.
    pub(crate) description: String,
    /// Who runs it; needs `organization_url`.
    pub(crate) organization: Option<String>,
    /// A link to whoever runs it.
    pub(crate) organization_url: Option<String>,
    /// The file with the secret seed that signs cards; `agent-card.key` in the data directory when
    /// absent. It is made when it is missing.
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
