//! Client of the Model Context Protocol (revisions up to 2026-07-28): keeps one connection to each
//! registered server, imports the server's tools as catalogue documents, and runs calls of them.
//!
//! Servers are not trusted. A server's descriptions of its tools grant no permission; its texts are bounded and kept as
//! data, and its messages are bounded. Must not know the catalogue, tenants, or the approvers of a call.

mod call;
mod connect;
mod content;
mod exchange;
#[cfg(test)]
mod fake;
mod handshake;
mod http;
mod import;
mod interactions;
mod keep;
mod lines;
mod offers;
mod order;
mod personal;
mod questions;
mod secret_options;

mod selection;

#[cfg(test)]
mod tests;

mod upstream_task;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use charter_contract::catalogue::tool::Tool;
use charter_contract::ids::Label;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::call::{McpTool, ToolCall, ToolImplementation, ToolRunner};
use crate::outcome::{Failure, Success, ToolOutcome};
use crate::redact::Redactor;
use crate::telemetry::TraceContext;
use crate::{HostPattern, Sandbox, ServerHome};
use interactions::Interactions;
use keep::{Keeper, Link};

use personal::PersonalConnections;

pub use import::import_tools;
pub use offers::{ServerOffers, prompt_tool, resource_tool};
pub use selection::ToolSelection;

/// A registered server.
#[derive(Debug, Clone)]
pub struct McpServerOptions {
    /// The server's part of its tools' ids: a short id without dots.
    pub name: Label,
    /// How to connect to it.
    pub transport: McpTransport,
    /// The tools that are offered.
    pub selection: ToolSelection,
    /// The tools that the operator declares read-only; all others write.
    pub readonly: BTreeSet<String>,
    /// Timeout of the start: the answer to the first message, and then the list of tools.
    pub start_timeout: Duration,
    /// Timeout of one call.
    pub timeout: Duration,
    /// Interval at which its tools are listed again.
    pub refresh: Duration,
    /// Trace context to send with each call.
    pub trace: TraceContext,
    /// The credential that each call needs; without one, all calls share the server's own connection.
    pub credential: Option<ServerCredential>,
    /// The secret with which the server's own connection lists its tools, if that needs one.
    pub listing: Option<Arc<dyn ListingSecret>>,
    /// Whether clients take part in calls of its tools, so that the server may ask their users questions.
    pub asks: bool,
    /// Whether its resources and prompts are offered to clients.
    pub offers: bool,
}

/// Source of the secret with which a server's own connection lists its tools. It is read before each connection,
/// because tokens expire.
#[async_trait]
pub trait ListingSecret: fmt::Debug + Send + Sync {
    /// Returns the present secret with the hosts that it is for, which are all hosts if there are none.
    ///
    /// # Errors
    /// Why there is none, in words for the operator.
    async fn secret(&self) -> Result<(String, Vec<HostPattern>), String>;
}

/// The credential that calls of a server's tools use, each over a connection of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCredential {
    /// Name of the credential in the configuration.
    pub name: Label,
    /// The variable that has its secret: of the program, and of the call.
    pub variable: String,
    /// The header that has its secret, for a link. `authorization` has it as a bearer token.
    pub header: String,
}

/// How to connect to a server.
#[derive(Debug, Clone)]
pub enum McpTransport {
    /// A process of this machine, over its standard input and output.
    Stdio {
        /// Its folder.
        home: ServerHome,
        /// The program, as an absolute path.
        command: PathBuf,
        /// Its arguments.
        arguments: Vec<String>,
        /// Its environment variables; their values count as secret.
        environment: Vec<(String, String)>,
        /// Environment variables whose values are not secret, such as literal values of the configuration.
        settings: Vec<(String, String)>,
        /// Files and folders of its interpreter, which it may read and execute.
        runtime: Vec<PathBuf>,
        /// Folders in which it finds other programs, before those of the system.
        search_path: Vec<PathBuf>,
        /// Paths that it may read beside the system's programs and libraries.
        readable: Vec<PathBuf>,
        /// Paths that it may write beside its own folder.
        writable: Vec<PathBuf>,
        /// The hosts that it may reach.
        egress: Vec<HostPattern>,
        /// The Unix socket of the Docker daemon, if it may reach it. The daemon can do everything on this machine.
        daemon: Option<PathBuf>,
    },
    /// A URL, by streamable HTTP.
    Http {
        /// The `http` or `https` link.
        url: String,
        /// Headers to send.
        headers: Vec<SecretHeader>,
        /// Hosts that may be reached beside the public web.
        egress: Vec<HostPattern>,
    },
}

/// A header whose value counts as secret.
#[derive(Clone)]
pub struct SecretHeader {
    /// Its name.
    pub name: String,
    /// The name that replaces the value where it is redacted.
    pub variable: String,
    /// Its value.
    pub value: String,
}

impl fmt::Debug for SecretHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: [redacted:{}]", self.name, self.variable)
    }
}

/// Current imports, by server.
#[derive(Debug, Clone, Default)]
pub struct Imports {
    /// Each registered server.
    pub servers: BTreeMap<Label, ServerImports>,
}

/// Imports from one server.
#[derive(Debug, Clone)]
pub struct ServerImports {
    /// State of the connection.
    pub state: McpServerState,
    /// Its tools, by id.
    pub tools: Vec<ImportedTool>,
    /// Tools that the catalogue does not contain.
    pub left_out: Vec<SkippedTool>,
    /// Its resources and prompts.
    pub offers: ServerOffers,
    /// How long the server took to answer the first message of the current connection.
    pub started_in: Option<Duration>,
}

/// State of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpServerState {
    /// The first connection attempt is not complete.
    Connecting,
    /// The server answers.
    Connected,
    /// The last attempt failed; retrying.
    Failed {
        /// Why.
        reason: String,
    },
}

/// A tool as it is in the catalogue.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedTool {
    /// Its document.
    pub document: Tool,
    /// `sha256:…` of the document's canonical JSON.
    pub content_hash: String,
}

/// A tool, or part of one, that cannot be imported, or a tool that the operator names and the server does not offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedTool {
    /// The tool's name on the server or in the configuration.
    pub tool: String,
    /// Description of the part that is not imported; absent for the whole tool.
    pub part: Option<String>,
    /// Why.
    pub reason: String,
}

impl fmt::Display for SkippedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, part, reason } = self;
        match part {
            None => write!(f, "{tool}: {reason}"),
            Some(part) => write!(f, "{tool}: {part}: {reason}"),
        }
    }
}

/// The connections to all registered servers. A [`ToolRunner`] that runs calls of their tools and forwards all other
/// calls to the sandbox. Dropping it closes the connections.
pub struct McpServers {
    sandbox: Arc<Sandbox>,
    servers: BTreeMap<Label, Arc<Server>>,
    imports: watch::Receiver<Arc<Imports>>,
    personal: Arc<PersonalConnections>,
    _keepers: AbortOnDropHandle<()>,
    _closer: AbortOnDropHandle<()>,
}

/// State that calls share with the task that keeps the connection.
#[derive(Debug)]
struct Server {
    options: McpServerOptions,
    redactor: Redactor,
    /// Redacts the output of its tools.
    output_redactor: Redactor,
    link: watch::Sender<Link>,
    /// Signals that the list of tools may have changed, or the connection may be broken.
    look_again: Arc<Notify>,
}

impl McpServers {
    /// Starts connecting to the servers.
    ///
    /// # Panics
    /// Outside a runtime.
    #[must_use]
    pub fn start(sandbox: Arc<Sandbox>, options: Vec<McpServerOptions>) -> Self {
        let servers: BTreeMap<Label, Arc<Server>> = options
            .into_iter()
            .map(|options| {
                (
                    options.name.clone(),
                    Arc::new(Server::new(options, &sandbox)),
                )
            })
            .collect();
        let first = Imports::connecting(servers.keys().cloned());
        let (told, imports) = watch::channel(Arc::new(first));
        let told = Arc::new(told);
        let mut kept: JoinSet<()> = servers
            .values()
            .map(|server| Keeper::new(Arc::clone(server), Arc::clone(&sandbox), Arc::clone(&told)))
            .map(Keeper::keep)
            .collect();
        let keepers = tokio::spawn(async move {
            while let Some(ended) = kept.join_next().await {
                if let Err(error) = ended {
                    tracing::error!(%error, "the connection to an MCP server broke off");
                }
            }
        });
        let personal = PersonalConnections::new(Arc::clone(&sandbox));
        let closer = tokio::spawn(personal::close_idle_forever(Arc::downgrade(&personal)));
        Self {
            sandbox,
            servers,
            imports,
            personal,
            _keepers: AbortOnDropHandle::new(keepers),
            _closer: AbortOnDropHandle::new(closer),
        }
    }

    /// Returns a channel of the current imports.
    #[must_use]
    pub fn imports(&self) -> watch::Receiver<Arc<Imports>> {
        self.imports.clone()
    }

    /// Waits at most `at_most` until each server was connected or found unreachable once; returns the names of the
    /// servers that were neither.
    pub async fn settled(&self, at_most: Duration) -> Vec<Label> {
        let mut imports = self.imports.clone();
        let settled = imports.wait_for(|imports| {
            let mut servers = imports.servers.values();
            servers.all(|server| server.state != McpServerState::Connecting)
        });
        drop(tokio::time::timeout(at_most, settled).await);
        let imports = Arc::clone(&self.imports.borrow());
        let starting = imports
            .servers
            .iter()
            .filter(|(_, server)| server.state == McpServerState::Connecting);
        starting.map(|(name, _)| name.clone()).collect()
    }

    async fn call(
        &self,
        call: &ToolCall,
        tool: &McpTool,
        cancel: &CancellationToken,
    ) -> Result<Success, Failure> {
        match self.servers.get(&tool.server) {
            Some(server) => match &server.options.credential {
                None => server.call(call, tool, cancel).await,
                Some(credential) => {
                    let own = self.personal.for_call(&server.options, credential, call)?;
                    own.server.call(call, tool, cancel).await
                }
            },
            None => {
                let message = format!("no MCP server `{}` is configured", tool.server);
                Err(Failure::system(message))
            }
        }
    }
}

#[async_trait]
impl ToolRunner for McpServers {
    async fn run(&self, call: ToolCall, cancel: CancellationToken) -> ToolOutcome {
        let ToolImplementation::Mcp(tool) = &call.implementation else {
            return self.sandbox.run(call, cancel).await;
        };
        let started = Instant::now();
        ToolOutcome::since(started, self.call(&call, tool, &cancel).await)
    }
}

impl Imports {
    /// Returns the imports of servers that have not answered yet.
    fn connecting(names: impl Iterator<Item = Label>) -> Self {
        let unknown = ServerImports {
            state: McpServerState::Connecting,
            tools: Vec::new(),
            left_out: Vec::new(),
            offers: ServerOffers::default(),
            started_in: None,
        };
        Self {
            servers: names.map(|name| (name, unknown.clone())).collect(),
        }
    }

    /// Returns a channel that never changes, for a configuration without servers.
    #[must_use]
    pub fn none() -> watch::Receiver<Arc<Self>> {
        watch::channel(Arc::default()).1
    }

    /// Returns all imported tools.
    pub fn tools(&self) -> impl Iterator<Item = &ImportedTool> {
        self.servers.values().flat_map(|server| &server.tools)
    }
}

impl Server {
    fn new(options: McpServerOptions, sandbox: &Sandbox) -> Self {
        let secrets: Vec<(String, String)> = match &options.transport {
            McpTransport::Stdio { environment, .. } => environment.clone(),
            McpTransport::Http { headers, .. } => headers
                .iter()
                .flat_map(|header| {
                    // A scheme such as `Bearer` before the value is not part of the secret.
                    let bare = header.value.rsplit(' ').next().unwrap_or_default();
                    let named = |value: &str| (header.variable.clone(), value.to_owned());
                    [named(&header.value), named(bare)]
                })
                .collect(),
        };
        Self {
            redactor: Redactor::new(&secrets),
            output_redactor: sandbox.output_redactor(&secrets),
            link: watch::channel(Link::Connecting).0,
            look_again: Arc::default(),
            options,
        }
    }
    /// Creates the table of calls of a new connection.
    fn interactions(&self) -> Interactions {
        Interactions::new(self.options.name.clone(), self.redactor.clone())
    }
}
