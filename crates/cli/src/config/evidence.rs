//! Evidence, in the configuration: its signature, its retention, and the pages that show its sources.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::bail;
use charter_contract::catalogue::tool::ConsolePage;
use charter_contract::ids::Label;
use charter_domain::console_link;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::paths::FilePath;

/// How evidence is signed, how long its payloads are kept, and which pages show its sources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EvidenceConfig {
    /// How many days after capture payloads are kept; for ever if absent. Records, digests and proofs are always kept.
    pub(crate) retention_days: Option<u64>,
    /// The name of this installation in signed checkpoints, preferably a domain of yours. Logs are named
    /// `<name>/evidence/<tenant>`.
    pub(crate) log_name: String,
    /// The file with the secret seed of the signing key; `evidence.key` in the data directory if absent. It is created
    /// if it is missing.
    #[schemars(with = "Option<FilePath>")]
    pub(crate) key_file: Option<PathBuf>,
    /// The page that shows the source of submitted evidence, by system: a label, and an https URL in which
    /// `${native_id}` is replaced. `aws.…`, `azure.…` and `gcp.…` have built-in links.
    pub(crate) pages: BTreeMap<Label, ConsolePage>,
}

impl Default for EvidenceConfig {
    fn default() -> Self {
        Self {
            retention_days: None,
            log_name: "charter".to_owned(),
            key_file: None,
            pages: BTreeMap::new(),
        }
    }
}

impl EvidenceConfig {
    /// Refuses pages of systems whose links are built in.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        for system in self.pages.keys() {
            let first = system.as_str().split('.').next();
            if console_link::is_known(system.as_str()) || first == Some("charter") {
                bail!(
                    "evidence.pages.\"{system}\": the links of this system are built in; remove the page"
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(system: &str) -> EvidenceConfig {
        let page = ConsolePage {
            label: "View it".parse().unwrap(),
            href: "https://github.com/${native_id}".parse().unwrap(),
        };
        EvidenceConfig {
            pages: BTreeMap::from([(system.parse().unwrap(), page)]),
            ..EvidenceConfig::default()
        }
    }

    #[test]
    fn systems_with_built_in_links_take_no_page() {
        assert!(config("github").check().is_ok());
        for system in ["aws.ec2", "azure.compute", "gcp", "charter.notes"] {
            assert!(config(system).check().is_err(), "{system}");
        }
    }
}
