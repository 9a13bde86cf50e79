//! The registered MCP servers, from the configuration. Invalid configuration stops the start; an unreachable server
//! does not.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use charter_contract::catalogue::tool::VariableName;
use charter_contract::ids::Label;
use charter_effects::{
    HostPattern, McpServerOptions, McpServers, McpTransport, Sandbox, SecretHeader,
    ServerCredential,
};

use super::builtin::root_path;
use crate::config::{Config, McpCredentialConfig, McpServerConfig};
use crate::telemetry;

/// How long a server waits for the first answers of MCP servers. Slower servers add their tools later.
const FIRST_ANSWERS: Duration = Duration::from_secs(15);
/// The additional time for a list of tools, for consumers that wait for both the start and the list.
const LISTING: Duration = Duration::from_secs(10);
/// Longest name of a server, in bytes.
const MAX_NAME: usize = 32;

/// The consumer that waits for MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum McpConsumer {
    /// A process that keeps running: it receives tools that arrive later.
    Server,
    /// One command: it receives nothing that arrives later.
    Command,
    /// A check of the servers themselves.
    Doctor,
}

impl McpConsumer {
    /// The longest wait. A server may be connected to a second time if its first answer requires it.
    fn at_most(self, config: &Config) -> Duration {
        let servers = config.mcp.servers.iter();
        let longest = servers.map(|server| server.start_timeout_ms).max();
        let start = Duration::from_millis(longest.unwrap_or(0));
        match self {
            Self::Server => FIRST_ANSWERS,
            Self::Command => FIRST_ANSWERS.max(start + LISTING),
            Self::Doctor => start.saturating_mul(2) + LISTING,
        }
    }
}

/// Connects to the registered servers and waits for their first answers; `None` if no server is registered.
pub(crate) async fn connect(
    config: &Config,
    sandbox: &Arc<Sandbox>,
    waiting: McpConsumer,
) -> anyhow::Result<Option<McpServers>> {
    if config.mcp.servers.is_empty() {
        return Ok(None);
    }
    let mut names = BTreeSet::new();
    let mut options = Vec::new();
    for server in &config.mcp.servers {
        let key = format!("mcp.servers: {:?}", server.name);
        ensure!(names.insert(&server.name), "{key} is duplicated");
        options.push(server_options(config, server).with_context(|| key)?);
    }
    let servers = McpServers::start(Arc::clone(sandbox), options);
    let at_most = waiting.at_most(config);
    let mut starting = servers.settled(at_most.min(FIRST_ANSWERS)).await;
    if !starting.is_empty() && at_most > FIRST_ANSWERS {
        tracing::warn!(mcp.servers = ?starting, "waiting for MCP servers that are still starting");
        starting = servers.settled(at_most.saturating_sub(FIRST_ANSWERS)).await;
    }
    if !starting.is_empty() {
        tracing::warn!(
            mcp.servers = ?starting,
            "some MCP servers have not answered yet; their tools follow when they do"
        );
    }
    Ok(Some(servers))
}

fn server_options(config: &Config, server: &McpServerConfig) -> anyhow::Result<McpServerOptions> {
    ensure!(
        server.start_timeout_ms > 0,
        "`start_timeout_ms` must be more than 0"
    );
    ensure!(server.timeout_ms > 0, "`timeout_ms` must be more than 0");
    ensure!(server.refresh_s > 0, "`refresh_s` must be more than 0");
    Ok(McpServerOptions {
        name: name(&server.name)?,
        transport: transport(config, server)?,
        readonly: server.readonly.iter().cloned().collect(),
        start_timeout: Duration::from_millis(server.start_timeout_ms),
        timeout: Duration::from_millis(server.timeout_ms),
        refresh: Duration::from_secs(server.refresh_s),
        trace: telemetry::trace_context(config),
        credential: match &server.credential {
            Some(credential) => {
                Some(server_credential(server, credential).context("`credential`")?)
            }
            None => None,
        },
    })
}

/// The variable of a link's credential, for redaction alone.
const LINK_VARIABLE: &str = "MCP_CREDENTIAL";

fn server_credential(
    server: &McpServerConfig,
    credential: &McpCredentialConfig,
) -> anyhow::Result<ServerCredential> {
    let variable = match (&server.command, &credential.variable, &credential.header) {
        (Some(_), Some(variable), None) => VariableName::parse(variable)?.to_string(),
        (Some(_), _, _) => bail!("a program needs a `variable`, and no `header`"),
        (None, None, _) => LINK_VARIABLE.to_owned(),
        (None, Some(_), _) => bail!("a link has a `header`, and no `variable`"),
    };
    let header = credential.header.as_deref().unwrap_or("authorization");
    ensure!(
        !header.is_empty()
            && header
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-'),
        "`header` is not the name of a header"
    );
    Ok(ServerCredential {
        name: credential.name.clone(),
        variable,
        header: header.to_owned(),
    })
}

/// A name without dots, so that no two servers' tools can have one id.
fn name(text: &str) -> anyhow::Result<Label> {
    let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    ensure!(
        text.len() <= MAX_NAME && text.chars().all(known),
        "`name` must be 1 to {MAX_NAME} lower-case letters, digits, `-` or `_`"
    );
    Label::parse(text).context("`name`")
}

fn transport(config: &Config, server: &McpServerConfig) -> anyhow::Result<McpTransport> {
    let egress = server.egress.iter().map(|entry| {
        let pattern: Result<HostPattern, _> = entry.parse();
        pattern.with_context(|| format!("`egress`: {entry:?}"))
    });
    let egress = egress.collect::<anyhow::Result<Vec<_>>>()?;
    match (&server.command, &server.url) {
        (Some(command), None) => {
            ensure!(server.headers.is_empty(), "`headers` need a `url`");
            ensure!(command.is_absolute(), "`command` must be an absolute path");
            let environment = server.environment.iter();
            Ok(McpTransport::Stdio {
                command: command.clone(),
                arguments: server.args.clone(),
                environment: environment
                    .map(|variable| Ok((variable.clone(), value_of(variable)?)))
                    .collect::<anyhow::Result<_>>()?,
                readable: paths(config, "readable", &server.readable)?,
                writable: paths(config, "writable", &server.writable)?,
                egress,
            })
        }
        (None, Some(url)) => {
            let of_a_program = server.args.is_empty()
                && server.environment.is_empty()
                && server.readable.is_empty()
                && server.writable.is_empty();
            ensure!(
                of_a_program,
                "`args`, `environment`, `readable` and `writable` need a `command`"
            );
            let headers = server.headers.iter().map(|(name, variable)| {
                Ok(SecretHeader {
                    name: name.clone(),
                    variable: variable.clone(),
                    value: value_of(variable)?,
                })
            });
            Ok(McpTransport::Http {
                url: url.clone(),
                headers: headers.collect::<anyhow::Result<_>>()?,
                egress,
            })
        }
        (Some(_), Some(_)) | (None, None) => bail!("either `command` or `url` must be given"),
    }
}

fn value_of(variable: &str) -> anyhow::Result<String> {
    std::env::var(variable).with_context(|| format!("reading the environment variable {variable}"))
}

/// Files and directories outside the server's own data.
fn paths(config: &Config, key: &str, given: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let paths = given.iter();
    paths
        .map(|path| root_path(&format!("`{key}`"), path, &config.data_dir))
        .collect()
}
