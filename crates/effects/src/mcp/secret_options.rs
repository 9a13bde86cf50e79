//! The options of a server with the secret of one connection. Must not know whose a secret is.

use super::{McpServerOptions, McpTransport, SecretHeader, ServerCredential};

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
        McpTransport::Stdio { environment, .. } => {
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
