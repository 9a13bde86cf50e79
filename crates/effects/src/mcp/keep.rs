//! Keeps the connection to one server: connects, lists its tools, lists them again when they may have changed, and
//! reconnects with backoff after the connection is lost. Must not know how a call is made.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use charter_contract::cause::chain;
use charter_contract::visible::clean;
use rmcp::model::{
    ClientRequest, CustomResult, ListToolsRequest, PaginatedRequestParams, ServerPeerInfo,
    ServerResult, SubscriptionFilter, Tool,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::connect::{self, Connection, Handshake, Traces};
use super::interactions::Interactions;
use super::secret_options::{check_hosts, with_secret};
use super::{
    ImportedTool, Imports, McpServerOptions, McpServerState, Server, SkippedTool, import, offers,
};
use crate::Sandbox;
use crate::redact::Redactor;

/// Timeout of a list of tools; the first one has the server's start timeout.
pub(super) const LIST_TIMEOUT: Duration = Duration::from_secs(10);
/// Most pages of a list of tools.
const MAX_PAGES: usize = 64;
/// Most tools of one server.
const MAX_TOOLS: usize = 1_000;
/// Largest total size of a server's tool definitions, in bytes of JSON.
const MAX_LISTED_BYTES: usize = 8 << 20;
/// The shortest and the longest pause before a reconnect.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// After a connection of this duration, backoff restarts with the shortest pause.
const STABLE_AFTER: Duration = Duration::from_secs(30);
/// The shortest time between two lists that a server triggers.
const MIN_RELIST_INTERVAL: Duration = Duration::from_millis(500);
/// Most characters of the reason for an unreadable entry.
const MAX_REASON: usize = 400;
/// Most characters of the reason why a server cannot be used: room for the last words of its program.
const MAX_FAILURE: usize = 1_600;
/// Message for an answer that is not a list.
const NO_LIST: &str = "it answered `tools/list` with something else";

/// State of the connection for calls.
#[derive(Debug, Clone)]
pub(super) enum Link {
    /// It is being opened.
    Connecting,
    /// It is open.
    Up(LiveConnection),
    /// It is lost; the keeper reconnects after a pause.
    Down {
        /// Why.
        reason: String,
    },
}

/// An open connection.
#[derive(Debug, Clone)]
pub(super) struct LiveConnection {
    pub(super) peer: Peer<RoleClient>,
    pub(super) traces: Traces,
    pub(super) interactions: Interactions,
}

/// Keeps one connection.
pub(super) struct Keeper {
    server: Arc<Server>,
    sandbox: Arc<Sandbox>,
    imports: Arc<watch::Sender<Arc<Imports>>>,
}

impl Keeper {
    pub(super) fn new(
        server: Arc<Server>,
        sandbox: Arc<Sandbox>,
        imports: Arc<watch::Sender<Arc<Imports>>>,
    ) -> Self {
        Self {
            server,
            sandbox,
            imports,
        }
    }

    /// Runs until it is dropped.
    pub(super) async fn keep(self) {
        let mut pause = PAUSES.0;
        let mut handshake = Handshake::Newest;
        loop {
            let began = Instant::now();
            self.server.link.send_replace(Link::Connecting);
            let (reason, reached) = self.connect_and_serve(handshake).await;
            let reason = self.printable(&reason);
            tracing::warn!(
                mcp.server = %self.server.options.name, %reason,
                "an MCP server cannot be used; retrying"
            );
            self.server.link.send_replace(Link::Down {
                reason: reason.clone(),
            });
            self.update_imports(|imports| imports.state = McpServerState::Failed { reason });
            if !reached {
                handshake = match handshake {
                    Handshake::Newest => Handshake::Older,
                    Handshake::Older | Handshake::NewestAlone => Handshake::Newest,
                };
            }
            if began.elapsed() >= STABLE_AFTER + pause {
                pause = PAUSES.0;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Returns why the connection ended, and whether it was ever open.
    async fn connect_and_serve(&self, handshake: Handshake) -> (String, bool) {
        let began = Instant::now();
        let (options, redactor) = match self.options_for_listing().await {
            Ok(found) => found,
            Err(reason) => return (reason, false),
        };
        let changed = &self.server.look_again;
        let interactions = self.server.interactions();
        let opening = connect::open(&options, &self.sandbox, handshake, changed, &interactions);
        let (reason, reached) = match opening.await {
            Ok(connection) => {
                self.update_imports(|imports| imports.started_in = Some(began.elapsed()));
                (self.serve(connection).await, true)
            }
            Err(reason) => (reason, false),
        };
        (redactor.apply(&reason), reached)
    }

    /// Returns the options of the server's own connection, with the present secret if it lists its tools with one, and
    /// what removes that secret from texts.
    async fn options_for_listing(&self) -> Result<(Cow<'_, McpServerOptions>, Redactor), String> {
        let options = &self.server.options;
        let (Some(listing), Some(credential)) = (&options.listing, &options.credential) else {
            return Ok((Cow::Borrowed(options), Redactor::new(&[])));
        };
        let (secret, hosts) = listing.secret().await?;
        check_hosts(options, credential, &hosts)?;
        let own = with_secret(options, credential, &secret);
        let redactor = Redactor::new(&[(credential.variable.clone(), secret)]);
        Ok((Cow::Owned(own), redactor))
    }

    /// Lists the tools whenever they may have changed, until the connection ends; returns the reason.
    pub(super) async fn serve(&self, connection: Connection) -> String {
        let Connection {
            peer,
            service,
            traces,
            process,
            interactions,
        } = connection;
        let open = LiveConnection {
            peer: peer.clone(),
            traces: traces.clone(),
            interactions,
        };
        let ended = service.waiting();
        let listening = listen(&peer, &self.server);
        let looking = async {
            let mut limit = self.server.options.start_timeout.max(LIST_TIMEOUT);
            loop {
                if let Err(reason) = self.look(&open, limit).await {
                    return reason;
                }
                limit = LIST_TIMEOUT;
                tokio::time::sleep(MIN_RELIST_INTERVAL).await;
                let wait = self.server.look_again.notified();
                // Also refreshes without a notification.
                drop(tokio::time::timeout(self.server.options.refresh, wait).await);
            }
        };
        let reason = tokio::select! {
            _ = ended => "the server ended the connection".to_owned(),
            reason = looking => reason,
            () = listening => "the server ended the connection".to_owned(),
        };
        if let Some(process) = process {
            process.end().await;
        }
        match traces.reason() {
            Some(trace) => format!("{reason}; {trace}"),
            None => reason,
        }
    }

    /// Lists the tools and publishes them.
    async fn look(&self, open: &LiveConnection, limit: Duration) -> Result<(), String> {
        let ToolListing { tools, unreadable } = list_within(&open.peer, limit).await?;
        let offers = offers::list(&open.peer, &self.server).await;
        let server = Arc::clone(&self.server);
        let importing = spawn_blocking(move || {
            let (imported, mut left_out) = import::import_tools(&server.options, &tools);
            left_out.extend(unreadable);
            (imported, left_out)
        });
        let imported = importing.await;
        let (tools, left_out) =
            imported.map_err(|error| format!("its tools could not be imported: {error}"))?;
        self.update_tools(tools, left_out);
        self.update_imports(|imports| imports.offers = offers);
        self.server.link.send_if_modified(|link| {
            let new = !matches!(link, Link::Up(_));
            if new {
                *link = Link::Up(open.clone());
            }
            new
        });
        Ok(())
    }

    pub(super) fn update_tools(&self, tools: Vec<ImportedTool>, left_out: Vec<SkippedTool>) {
        let server = &self.server.options.name;
        let before = self.imports.borrow().servers.get(server).cloned();
        if before.is_none_or(|before| before.left_out != left_out) {
            for left in &left_out {
                tracing::warn!(mcp.server = %server, mcp.tool = %left.tool, "not imported: {left}");
            }
        }
        self.update_imports(|imports| {
            imports.state = McpServerState::Connected;
            imports.tools = tools;
            imports.left_out = left_out;
        });
    }

    /// Updates the published state of this server.
    fn update_imports(&self, change: impl FnOnce(&mut super::ServerImports)) {
        self.imports.send_modify(|imports| {
            let all = Arc::make_mut(imports);
            if let Some(own) = all.servers.get_mut(&self.server.options.name) {
                change(own);
            }
        });
    }

    /// Returns a reason that is safe to show.
    fn printable(&self, reason: &str) -> String {
        clean(&self.server.redactor.apply(reason), MAX_FAILURE)
    }
}

/// Subscribes to changes, if the protocol requires it (revision 2026-07-28). Without a subscription, the tools are
/// listed at intervals.
async fn listen(peer: &Peer<RoleClient>, server: &Server) {
    let asked_for = |info: Arc<ServerPeerInfo>| !info.protocol_version.has_initialize();
    if peer.peer_info().is_some_and(asked_for) {
        let filter = SubscriptionFilter::builder()
            .tools_list_changed()
            .prompts_list_changed()
            .resources_list_changed()
            .build();
        match peer.listen(filter).await {
            Err(error) => tracing::debug!(%error, "an MCP server does not accept subscriptions"),
            Ok(mut subscription) => {
                while let Ok(Some(_)) = subscription.next().await {
                    server.look_again.notify_one();
                }
            }
        }
    }
    std::future::pending::<()>().await;
}

/// A server's list: tools, and entries that cannot be read.
#[derive(Debug, Default)]
pub(super) struct ToolListing {
    pub(super) tools: Vec<Tool>,
    pub(super) unreadable: Vec<SkippedTool>,
}

/// Returns all tools of a server, within bounds. Bypasses the SDK's cache.
pub(super) async fn list(peer: &Peer<RoleClient>) -> Result<ToolListing, String> {
    list_within(peer, LIST_TIMEOUT).await
}

async fn list_within(peer: &Peer<RoleClient>, limit: Duration) -> Result<ToolListing, String> {
    let bounded = tokio::time::timeout(limit, list_pages(peer)).await;
    bounded.unwrap_or_else(|_| {
        let seconds = limit.as_secs();
        Err(format!("it did not list its tools within {seconds} s"))
    })
}

async fn list_pages(peer: &Peer<RoleClient>) -> Result<ToolListing, String> {
    let mut listed = ToolListing::default();
    let mut bytes = 0;
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let page = page(peer, cursor.take()).await?;
        bytes += page.bytes;
        listed.tools.extend(page.listed.tools);
        listed.unreadable.extend(page.listed.unreadable);
        if listed.tools.len() + listed.unreadable.len() > MAX_TOOLS {
            return Err(format!("it lists more than {MAX_TOOLS} tools"));
        }
        if bytes > MAX_LISTED_BYTES {
            return Err(format!(
                "the definitions of its tools are larger than {MAX_LISTED_BYTES} bytes"
            ));
        }
        match page.next {
            Some(next) => cursor = Some(next),
            None => return Ok(listed),
        }
    }
    Err(format!("it lists its tools on more than {MAX_PAGES} pages"))
}

/// A page of a list.
struct Page {
    listed: ToolListing,
    bytes: usize,
    next: Option<String>,
}

async fn page(peer: &Peer<RoleClient>, cursor: Option<String>) -> Result<Page, String> {
    let mut params = PaginatedRequestParams::default();
    params.cursor = cursor;
    let request = ListToolsRequest {
        method: Default::default(),
        params: Some(params),
        extensions: Default::default(),
    };
    let request = ClientRequest::ListToolsRequest(request);
    let sent = peer.send_request_with_option(request, PeerRequestOptions::no_options());
    let answer = sent.await.map_err(|error| chain(&error))?;
    let answer = answer.await_response().await;
    match answer.map_err(|error| chain(&error))? {
        ServerResult::ListToolsResult(page) => Ok(Page {
            bytes: json!(page.tools).to_string().len(),
            listed: ToolListing {
                tools: page.tools,
                unreadable: Vec::new(),
            },
            next: page.next_cursor,
        }),
        // The SDK refuses a list with an entry that is not a tool.
        ServerResult::CustomResult(CustomResult(answer)) => readable(&answer),
        _ => Err(NO_LIST.to_owned()),
    }
}

/// Reads the tools of a page: an invalid entry does not affect the others.
fn readable(answer: &Value) -> Result<Page, String> {
    let tools = answer.get("tools").and_then(Value::as_array);
    let tools = tools.ok_or_else(|| NO_LIST.to_owned())?;
    let mut listed = ToolListing::default();
    for (at, tool) in tools.iter().enumerate() {
        match Tool::deserialize(tool) {
            Ok(tool) => listed.tools.push(tool),
            Err(error) => listed.unreadable.push(unreadable(at, tool, &error)),
        }
    }
    let next = answer.get("nextCursor").and_then(Value::as_str);
    Ok(Page {
        listed,
        bytes: answer.to_string().len(),
        next: next.map(str::to_owned),
    })
}

/// Describes an invalid entry, by its name if it has one.
fn unreadable(at: usize, tool: &Value, error: &serde_json::Error) -> SkippedTool {
    let name = tool.get("name").and_then(Value::as_str);
    let name = name.map_or_else(|| format!("number {} of its page", at + 1), str::to_owned);
    SkippedTool {
        tool: clean(&name, MAX_REASON),
        part: None,
        reason: clean(&format!("it is not a tool: {error}"), MAX_REASON),
    }
}
