//! The operator's grants to tools, and the part of them for one tool. Must not know the origin of the values, nor the
//! runner of the tool.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use charter_contract::catalogue::tool::VariableName;
use charter_contract::ids::TenantId;
use charter_contract::text::Text;
use charter_effects::{BuiltinGrants, HostPattern, HostPatternError};

use super::servers::ToolServer;

/// The operator's grants to tools. A tool gets a resource only if it requests it and it is granted here.
#[derive(Debug, Clone, Default)]
pub struct ToolGrants {
    /// Environment variables with their values.
    pub environment: BTreeMap<String, String>,
    /// Hosts that every tool with network access may reach besides its own list, e.g. `127.0.0.1:5005`.
    pub egress: Vec<String>,
    /// Files that a tool with the named variable may read, e.g. `AWS_PROFILE` and `~/.aws`.
    pub readable: BTreeMap<String, Vec<PathBuf>>,
    /// Addresses in place of those that packages name in the URLs of HTTP tools.
    pub servers: Vec<ToolServer>,
    /// Resources of the built-in tools, for every tenant.
    pub builtin: Arc<BuiltinGrants>,
}

/// The grants of all tenants.
#[derive(Debug, Clone, Default)]
pub(crate) struct TenantGrants {
    /// Of each tenant that has none of its own.
    pub(crate) shared: ToolGrants,
    /// Of these.
    pub(crate) tenants: BTreeMap<TenantId, ToolGrants>,
}

impl TenantGrants {
    /// Returns the grants of a tenant.
    pub(crate) fn for_tenant(&self, tenant: &TenantId) -> &ToolGrants {
        self.tenants.get(tenant).unwrap_or(&self.shared)
    }
}

/// A text that is not a host pattern.
#[derive(Debug, thiserror::Error)]
#[error("the host pattern `{pattern}`")]
pub struct HostFault {
    /// The text.
    pub pattern: String,
    source: HostPatternError,
}

impl ToolGrants {
    /// Returns the granted variables of those that a tool requests, with their values.
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

    /// Returns all granted variables with their values, for the operator's own programs.
    #[must_use]
    pub fn all_variables(&self) -> Vec<(String, String)> {
        self.environment.clone().into_iter().collect()
    }

    /// Returns only the operator's hosts, for the operator's own programs.
    ///
    /// # Errors
    /// [`HostFault`] for the first text that is no pattern.
    pub fn all_hosts(&self) -> Result<Vec<HostPattern>, HostFault> {
        self.egress.iter().map(|granted| parse(granted)).collect()
    }

    /// Returns the files that come with granted variables.
    #[must_use]
    pub fn files(&self, granted: &[(String, String)]) -> Vec<PathBuf> {
        let files = granted
            .iter()
            .filter_map(|(name, _)| self.readable.get(name));
        files.flatten().cloned().collect()
    }

    /// Returns the URL with the address of the server that the operator names for it, and the server. Of several that
    /// fit, the one for the longest beginning counts.
    pub(crate) fn server(&self, url: &str) -> Option<(String, &ToolServer)> {
        let servers = self.servers.iter();
        let fitting = servers.filter_map(|server| Some((server.replaced(url)?, server)));
        fitting.max_by_key(|(_, server)| server.length())
    }

    /// Returns the tool's own hosts on the public internet, and the operator's hosts for every tool that has any: a
    /// package cannot open the server's private network.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_with_grants_of_its_own_has_none_of_the_others() {
        let with = |value: &str| ToolGrants {
            environment: BTreeMap::from([("TOKEN".to_owned(), value.to_owned())]),
            ..ToolGrants::default()
        };
        let acme = TenantId::parse("acme").unwrap();
        let grants = TenantGrants {
            shared: with("of-all"),
            tenants: BTreeMap::from([(acme.clone(), with("of-acme"))]),
        };
        let other = TenantId::parse("other").unwrap();
        for (tenant, value) in [(acme, "of-acme"), (other, "of-all")] {
            let asked = [VariableName::parse("TOKEN").unwrap()];
            let granted = grants.for_tenant(&tenant).variables(&asked);
            assert_eq!(granted, [("TOKEN".to_owned(), value.to_owned())]);
        }
    }

    #[test]
    fn the_server_for_the_longest_beginning_of_a_url_counts() {
        let server = |url: &str, address: &str| ToolServer::new(url, address).unwrap();
        let grants = ToolGrants {
            servers: vec![
                server("https://api.example/v1", "https://one.example"),
                server("https://api.example", "https://all.example"),
            ],
            ..ToolGrants::default()
        };
        let replaced = |url: &str| Some(grants.server(url)?.0);
        for (url, expected) in [
            ("https://api.example/v1/pets", "https://one.example/pets"),
            (
                "https://api.example/v12/pets",
                "https://all.example/v12/pets",
            ),
        ] {
            assert_eq!(replaced(url).as_deref(), Some(expected));
        }
        assert_eq!(replaced("https://other.example/v1"), None);
    }
}
