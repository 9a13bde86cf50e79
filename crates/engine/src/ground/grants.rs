//! What the operator lets tools have, and what of it one tool gets. Must not know where the values
//! come from, nor who runs the tool.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use charter_contract::catalogue::tool::VariableName;
use charter_contract::text::Text;
use charter_effects::{BuiltinGrants, HostPattern, HostPatternError};

/// What the operator lets tools have. A tool gets a thing only if it asks and it is here.
#[derive(Debug, Clone, Default)]
pub struct ToolGrants {
    /// Environment variables with their values.
    pub environment: BTreeMap<String, String>,
    /// Hosts that every tool with network access may reach beside its own list, e.g.
    /// `127.0.0.1:5005`.
    pub egress: Vec<String>,
    /// Files that a tool granted the named variable may read, e.g. `AWS_PROFILE` and `~/.aws`.
    pub readable: BTreeMap<String, Vec<PathBuf>>,
    /// What the built-in tools may touch, for every tenant.
    pub builtin: Arc<BuiltinGrants>,
}

/// A text that is no host pattern.
#[derive(Debug, thiserror::Error)]
#[error("the host pattern `{pattern}`")]
pub struct HostFault {
    /// The text.
    pub pattern: String,
    source: HostPatternError,
}

impl ToolGrants {
    /// The granted ones of the variables that a tool asks for, with their values.
    #[must_use]
    pub fn variables(&self, asked: &[VariableName]) -> Vec<(String, String)> {
        asked
            .iter()
            .filter_map(|name| {
                Some((
                    name.to_string(),
                    self.environment.get(name.as_ref())?.clone(),
                ))
            })
            .collect()
    }

    /// All granted variables with their values, for what the operator brings.
    #[must_use]
    pub fn all_variables(&self) -> Vec<(String, String)> {
        self.environment.clone().into_iter().collect()
    }

    /// The operator's hosts alone, for what the operator brings.
    ///
    /// # Errors
    /// [`HostFault`] for the first text that is no pattern.
    pub fn all_hosts(&self) -> Result<Vec<HostPattern>, HostFault> {
        self.egress.iter().map(|granted| parse(granted)).collect()
    }

    /// The files that come with granted variables.
    #[must_use]
    pub fn files(&self, granted: &[(String, String)]) -> Vec<PathBuf> {
        let files = granted
            .iter()
            .filter_map(|(name, _)| self.readable.get(name));
        files.flatten().cloned().collect()
    }

    /// The tool's own hosts, as far as they are on the public internet, and the operator's for every tool that
    /// has any: what a package says opens nothing of the network that the server stands in.
    ///
    /// # Errors
    /// [`HostFault`] for the first text that is no pattern.
    pub fn hosts(&self, own: &[Text]) -> Result<Vec<HostPattern>, HostFault> {
        if own.is_empty() {
            return Ok(Vec::new());
        }
        let own = own.iter().map(|own| Ok(parse(own.as_str())?.public_only()));
        let granted = self.egress.iter().map(|granted| parse(granted));
        own.chain(granted).collect()
    }
}

fn parse(pattern: &str) -> Result<HostPattern, HostFault> {
    pattern.parse().map_err(|source| HostFault {
        pattern: pattern.to_owned(),
        source,
    })
}
