//! The options of a server with the secret of one connection, and the rule for which servers a secret is. Must not know
//! whose a secret is.

use reqwest::Url;
use serde_json::{Value, json};

use super::{McpServerOptions, McpTransport, SecretHeader, ServerCredential};
use crate::egress::EgressPolicy;
use crate::{HostPattern, ServerHome};

impl McpServerOptions {
    /// Names the credential of the server in the document of a tool.
    pub(super) fn add_credential(&self, document: &mut Value) {
        if let Some(credential) = &self.credential {
            let named = json!({"name": credential.name, "variable": credential.variable});
            document["credentials"] = json!([named]);
        }
    }
}

/// Checks that a secret may be sent to a server; returns the reason for the refusal.
pub(super) fn check_hosts(
    options: &McpServerOptions,
    credential: &ServerCredential,
    hosts: &[HostPattern],
) -> Result<(), String> {
    if is_for_server(options, hosts) {
        return Ok(());
    }
    Err(format!(
        "the credential `{}` is not for the host of the MCP server `{}`, which its `hosts` do not list",
        credential.name, options.name
    ))
}

/// Whether a secret may be sent to a server: its credential lists the host, or no hosts at all. The secret of a program
/// stays on this machine.
fn is_for_server(options: &McpServerOptions, hosts: &[HostPattern]) -> bool {
    let McpTransport::Http { url, .. } = &options.transport else {
        return true;
    };
    let url = Url::parse(url).ok();
    let host = url.as_ref().and_then(Url::host_str);
    let port = url.as_ref().and_then(Url::port_or_known_default);
    let is_listed = match (host, port) {
        (Some(host), Some(port)) => {
            let hosts = EgressPolicy::new(hosts.to_vec());
            hosts.lists(host.trim_matches(['[', ']']), port)
        }
        (_, _) => false,
    };
    hosts.is_empty() || is_listed
}

/// Returns the options of a server with a secret, for one connection.
pub(super) fn with_secret(
    options: &McpServerOptions,
    credential: &ServerCredential,
    secret: &str,
) -> McpServerOptions {
    let mut own = options.clone();
    own.listing = None;
    let variable = &credential.variable;
    match &mut own.transport {
        McpTransport::Stdio {
            home, environment, ..
        } => {
            // What the program keeps of one user is not for the next one.
            *home = ServerHome::OfProcess;
            environment.retain(|(name, _)| name != variable);
            environment.push((variable.clone(), secret.to_owned()));
        }
        McpTransport::Http { headers, .. } => {
            let name = &credential.header;
            headers.retain(|header| !header.name.eq_ignore_ascii_case(name));
            let value = match name.eq_ignore_ascii_case("authorization") {
                true => format!("Bearer {secret}"),
                false => secret.to_owned(),
            };
            headers.push(SecretHeader {
                name: name.clone(),
                variable: variable.clone(),
                value,
            });
        }
    }
    own
}
