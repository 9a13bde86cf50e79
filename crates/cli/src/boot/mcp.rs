//! The registered MCP servers, from the configuration. Invalid configuration stops the start; an unreachable server
//! does not.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use charter_contract::catalogue::pin::PinSubject;
use charter_contract::catalogue::tool::IMPORTED_PREFIX;
use charter_contract::ids::Label;
use charter_domain::glob;
use charter_effects::{
    HostPattern, McpServerOptions, McpServers, McpTransport, Sandbox, SecretHeader,
};

use super::builtin::root_path;
use crate::config::{Config, McpServerConfig};
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
    check_offers(config)?;
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
        asks: may_be_pinned(config, &server.name),
        offers: may_be_offered(config, &server.name),
    })
}

/// Checks what clients are offered.
fn check_offers(config: &Config) -> anyhow::Result<()> {
    let pins = config.mcp.pins();
    for offer in pins.all() {
        for pin in &offer.pinned {
            if let Some(fault) = pin.fault() {
                bail!("mcp: a pinned entry is not valid: {fault}");
            }
        }
        for name in &offer.offered {
            let mut servers = config.mcp.servers.iter();
            let is_known = servers.any(|server| server.name == name.as_str());
            ensure!(is_known, "mcp: `resources_of` names {name}, but no MCP server has this name");
        }
    }
    Ok(())
}

/// Whether clients may call tools of a server as pinned tools, in any tenant.
fn may_be_pinned(config: &Config, server: &str) -> bool {
    let own = format!("{IMPORTED_PREFIX}{server}");
    let within = |inner: &str, outer: &str| inner == outer || inner.starts_with(&format!("{outer}."));
    let pins = config.mcp.pins();
    pins.all().any(|offer| {
        let mut pinned = offer.pinned.iter();
        offer.of_agents
            || pinned.any(|pin| match pin.subject() {
                Some(PinSubject::Tool(id)) => {
                    let stem = glob::stem(id);
                    stem.is_empty() || within(stem, &own) || within(&own, stem)
                }
                Some(PinSubject::Skill(_) | PinSubject::Playbook(_)) | None => false,
            })
    })
}

/// Whether clients are offered the resources and prompts of a server, in any tenant.
fn may_be_offered(config: &Config, server: &str) -> bool {
    let pins = config.mcp.pins();
    pins.all()
        .any(|offer| offer.offered.iter().any(|name| name.as_str() == server))
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
