//! The registered MCP servers, from the configuration. Invalid configuration stops the start; an unreachable server
//! does not.

mod listing;
mod program;
mod registry;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::config::{Config, McpCredentialConfig, McpServerConfig};
use crate::{platform, telemetry};
use anyhow::{Context, bail, ensure};
use charter_contract::catalogue::pin::PinSubject;
use charter_contract::catalogue::tool::{IMPORTED_PREFIX, VariableName};
use charter_contract::ids::Label;
use charter_domain::glob;
use charter_effects::{
    HostPattern, McpServerOptions, McpServers, McpTransport, Sandbox, SecretHeader,
    ServerCredential, ServerHome, ToolSelection,
};
use program::Program;
use registry::RegistryAccess;

pub(crate) use listing::LateCredentials;
pub(crate) use program::find_on_path;

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
    credentials: &LateCredentials,
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
        options.push(server_options(config, server, credentials).with_context(|| key)?);
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

fn server_options(
    config: &Config,
    server: &McpServerConfig,
    credentials: &LateCredentials,
) -> anyhow::Result<McpServerOptions> {
    ensure!(
        server.start_timeout_ms > 0,
        "`start_timeout_ms` must be more than 0"
    );
    ensure!(server.timeout_ms > 0, "`timeout_ms` must be more than 0");
    ensure!(server.refresh_s > 0, "`refresh_s` must be more than 0");
    Ok(McpServerOptions {
        name: name(&server.name)?,
        transport: transport(config, server)?,
        selection: ToolSelection {
            only: server
                .tools
                .as_ref()
                .map(|tools| tools.iter().cloned().collect()),
            denied: server.deny.iter().cloned().collect(),
        },
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
        listing: server
            .credential
            .as_ref()
            .and_then(|credential| listing::secret(credential, credentials)),
        asks: may_be_pinned(config, &server.name),
        offers: may_be_offered(config, &server.name),
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
            ensure!(
                is_known,
                "mcp: `resources_of` names {name}, but no MCP server has this name"
            );
        }
    }
    Ok(())
}

/// Whether clients may call tools of a server as pinned tools, in any tenant.
fn may_be_pinned(config: &Config, server: &str) -> bool {
    let own = format!("{IMPORTED_PREFIX}{server}");
    let within =
        |inner: &str, outer: &str| inner == outer || inner.starts_with(&format!("{outer}."));
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
            stdio(config, server, command, egress)
        }
        (None, Some(url)) => {
            let of_a_program = server.args.is_empty()
                && server.environment.is_empty()
                && server.registry.is_none()
                && server.docker.is_none()
                && server.readable.is_empty()
                && server.writable.is_empty();
            ensure!(
                of_a_program,
                "`args`, `environment`, `registry`, `docker`, `readable` and `writable` need a `command`"
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

/// The transport of a program of this machine: the program, the files of its interpreter, and its grants.
fn stdio(
    config: &Config,
    server: &McpServerConfig,
    command: &Path,
    mut egress: Vec<HostPattern>,
) -> anyhow::Result<McpTransport> {
    let Program {
        path,
        runtime,
        search_path,
    } = Program::find(command).context("`command`")?;
    let mut environment = Vec::new();
    let mut settings = Vec::new();
    let mut readable = granted(config, "readable", &server.readable, PathKind::Any)?;
    if let Some(registry) = server.registry {
        let access = RegistryAccess::read(registry)
            .with_context(|| format!("`registry` = {:?}", registry.as_str()))?;
        egress.extend(access.egress);
        environment.extend(access.secrets);
        settings.extend(access.settings);
        readable.extend(granted(config, "registry", &access.files, PathKind::Any)?);
    }
    for entry in &server.environment {
        match entry.split_once('=') {
            Some((name, value)) => settings.push((name.to_owned(), value.to_owned())),
            None => environment.push((entry.clone(), value_of(entry)?)),
        }
    }
    Ok(McpTransport::Stdio {
        home: ServerHome::Kept,
        command: path,
        arguments: server.args.clone(),
        environment,
        settings,
        runtime: granted(config, "command", &runtime, PathKind::Any)?,
        search_path,
        readable,
        writable: granted(config, "writable", &server.writable, PathKind::Folder)?,
        egress,
        daemon: server.docker.as_deref().map(socket).transpose()?,
    })
}

/// The Unix socket of a daemon, which may start later than Charter.
fn socket(path: &Path) -> anyhow::Result<PathBuf> {
    let is_socket = path.metadata().map(|file| platform::is_socket(&file));
    ensure!(
        is_socket.unwrap_or(true),
        "`docker`: {} is not a socket",
        path.display()
    );
    Ok(path.to_owned())
}

fn value_of(variable: &str) -> anyhow::Result<String> {
    std::env::var(variable).with_context(|| format!("reading the environment variable {variable}"))
}

/// The paths that a grant may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathKind {
    /// Files and folders.
    Any,
    /// Folders.
    Folder,
}

/// Resolves granted paths. They lie outside the server's own data, and none is a key of the server.
fn granted(
    config: &Config,
    key: &str,
    given: &[PathBuf],
    kind: PathKind,
) -> anyhow::Result<Vec<PathBuf>> {
    given
        .iter()
        .map(|path| granted_path(config, path, kind).with_context(|| format!("`{key}`: {path:?}")))
        .collect()
}

fn granted_path(config: &Config, path: &Path, kind: PathKind) -> anyhow::Result<PathBuf> {
    let real = path.canonicalize()?;
    ensure!(
        real.is_dir() || kind == PathKind::Any,
        "it is not a directory"
    );
    // If the data directory does not exist yet, no path lies in it.
    let real_or_named = |path: PathBuf| path.canonicalize().unwrap_or(path);
    let data = real_or_named(config.data_dir.clone());
    ensure!(
        !real.starts_with(&data) && !data.starts_with(&real),
        "it overlaps the data directory {}",
        config.data_dir.display()
    );
    for key in [
        config.evidence_key_file(),
        config.card_key_file(),
        config.credentials_key_file(),
    ] {
        ensure!(real_or_named(key) != real, "it is a key of this server");
    }
    Ok(real)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(folder: &Path) -> Config {
        let mut config = Config {
            data_dir: folder.join("data"),
            ..Config::default()
        };
        config.evidence.key_file = Some(folder.join("evidence.key"));
        config
    }

    #[test]
    fn a_single_file_can_be_readable_but_no_key_and_nothing_of_the_data() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let config = config(&folder);
        std::fs::create_dir(&config.data_dir).unwrap();
        for file in ["ca.pem", "evidence.key", "data/charter.db"] {
            std::fs::write(folder.join(file), "x").unwrap();
        }
        let granted = |path: &str, kind| {
            granted_path(&config, &folder.join(path), kind).map_err(|error| error.to_string())
        };
        assert_eq!(granted("ca.pem", PathKind::Any), Ok(folder.join("ca.pem")));
        let refused = |path, kind| granted(path, kind).unwrap_err();
        assert_eq!(refused("ca.pem", PathKind::Folder), "it is not a directory");
        assert_eq!(
            refused("evidence.key", PathKind::Any),
            "it is a key of this server"
        );
        let overlaps = format!(
            "it overlaps the data directory {}",
            config.data_dir.display()
        );
        assert_eq!(refused("data/charter.db", PathKind::Any), overlaps);
        assert_eq!(refused("", PathKind::Any), overlaps);
    }
}
