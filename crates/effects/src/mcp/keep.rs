//! Keeps the connection to one server: connects, lists its tools, lists them again when they may have
//! changed, and connects again with growing pauses when the connection is lost.
//! Must not know how a call is made.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerPeerInfo, ServerResult,
    SubscriptionFilter, Tool,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::connect::{self, Connection, Handshake, Traces};
use super::{ImportedTool, Imports, LeftOut, McpServerState, Server, import};
use crate::Sandbox;
use crate::cause::chain;
use crate::text::clean;

/// How long connecting and the handshake may take; a server that does not know `server/discover` and
/// stays silent takes ten seconds of it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a list of tools may take.
pub(super) const LIST_TIMEOUT: Duration = Duration::from_secs(10);
/// Pages of a list of tools.
const MAX_PAGES: usize = 64;
/// Tools of one server.
const MAX_TOOLS: usize = 1_000;
/// All definitions of a server's tools, in bytes of JSON.
const MAX_LISTED_BYTES: usize = 8 << 20;
/// The shortest and the longest pause before a lost connection is made again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// A connection that lasted so long begins with the shortest pause again.
const STEADY: Duration = Duration::from_secs(30);
/// The shortest time between two lists that a server asks for.
const LOOK_GAP: Duration = Duration::from_millis(500);
/// Most characters of a reason.
const MAX_REASON: usize = 400;

/// The connection as calls see it.
#[derive(Debug, Clone)]
pub(super) enum Link {
    /// It is being made.
    Connecting,
    /// It stands.
    Up(Up),
    /// It is lost, and made again after a pause.
    Down {
        /// Why.
        reason: String,
    },
}

/// A standing connection.
#[derive(Debug, Clone)]
pub(super) struct Up {
    pub(super) peer: Peer<RoleClient>,
    pub(super) traces: Traces,
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

    /// Until it is dropped.
    pub(super) async fn keep(self) {
        let mut pause = PAUSES.0;
        let mut handshake = Handshake::Newest;
        loop {
            let began = Instant::now();
            self.server.link.send_replace(Link::Connecting);
            let (reason, reached) = self.connect_and_serve(handshake).await;
            let reason = self.say(&reason);
            tracing::warn!(
                mcp.server = %self.server.options.name, %reason,
                "an MCP server cannot be used; it is tried again"
            );
            self.server.link.send_replace(Link::Down {
                reason: reason.clone(),
            });
            self.tell(|imports| imports.state = McpServerState::Failed { reason });
            if !reached {
                handshake = match handshake {
                    Handshake::Newest => Handshake::Older,
                    Handshake::Older => Handshake::Newest,
                };
            }
            if began.elapsed() >= STEADY + pause {
                pause = PAUSES.0;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Returns why the connection ended, and whether it was ever made.
    async fn connect_and_serve(&self, handshake: Handshake) -> (String, bool) {
        let options = &self.server.options;
        let changed = Arc::clone(&self.server.look_again);
        let opening = connect::open(options, &self.sandbox, handshake, changed);
        let connection = match tokio::time::timeout(CONNECT_TIMEOUT, opening).await {
            Ok(Ok(connection)) => connection,
            Ok(Err(reason)) => return (reason, false),
            Err(_) => {
                let seconds = CONNECT_TIMEOUT.as_secs();
                return (format!("no handshake within {seconds} s"), false);
            }
        };
        (self.serve(connection).await, true)
    }

    /// Lists the tools whenever they may have changed, until the connection ends; returns why.
    pub(super) async fn serve(&self, connection: Connection) -> String {
        let Connection {
            peer,
            service,
            traces,
            process,
        } = connection;
        let ended = service.waiting();
        let listening = listen(&peer, &self.server);
        let looking = async {
            loop {
                if let Err(reason) = self.look(&peer, &traces).await {
                    return reason;
                }
                tokio::time::sleep(LOOK_GAP).await;
                let wait = self.server.look_again.notified();
                // Also when nobody tells of a change.
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

    /// Lists the tools and tells of them.
    async fn look(&self, peer: &Peer<RoleClient>, traces: &Traces) -> Result<(), String> {
        let listed = list(peer).await?;
        let server = Arc::clone(&self.server);
        let importing = spawn_blocking(move || import::import_tools(&server.options, &listed));
        let imported = importing.await;
        let (tools, left_out) =
            imported.map_err(|error| format!("its tools could not be imported: {error}"))?;
        self.tell_tools(tools, left_out);
        self.server.link.send_if_modified(|link| {
            let new = !matches!(link, Link::Up(_));
            if new {
                *link = Link::Up(Up {
                    peer: peer.clone(),
                    traces: traces.clone(),
                });
            }
            new
        });
        Ok(())
    }

    pub(super) fn tell_tools(&self, tools: Vec<ImportedTool>, left_out: Vec<LeftOut>) {
        let server = &self.server.options.name;
        let before = self.imports.borrow().servers.get(server).cloned();
        if before.is_none_or(|before| before.left_out != left_out) {
            for LeftOut { tool, reason } in &left_out {
                tracing::warn!(mcp.server = %server, mcp.tool = %tool, %reason, "a tool is not imported");
            }
        }
        self.tell(|imports| {
            imports.state = McpServerState::Connected;
            imports.tools = tools;
            imports.left_out = left_out;
        });
    }

    /// Changes what is told of this server.
    fn tell(&self, change: impl FnOnce(&mut super::ServerImports)) {
        self.imports.send_modify(|imports| {
            let all = Arc::make_mut(imports);
            if let Some(own) = all.servers.get_mut(&self.server.options.name) {
                change(own);
            }
        });
    }

    /// A reason that may be shown.
    fn say(&self, reason: &str) -> String {
        clean(&self.server.redactor.apply(reason), MAX_REASON)
    }
}

/// Asks to be told of changes, where that has to be asked for (revision 2026-07-28). Where it cannot
/// be, or no longer, the tools are listed again in their time.
async fn listen(peer: &Peer<RoleClient>, server: &Server) {
    let asked_for = |info: Arc<ServerPeerInfo>| !info.protocol_version.has_initialize();
    if peer.peer_info().is_some_and(asked_for) {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        match peer.listen(filter).await {
            Err(error) => tracing::debug!(%error, "an MCP server takes no subscription"),
            Ok(mut subscription) => {
                while let Ok(Some(_)) = subscription.next().await {
                    server.look_again.notify_one();
                }
            }
        }
    }
    std::future::pending::<()>().await;
}

/// All tools that a server lists now, within bounds. Not from the SDK's cache.
pub(super) async fn list(peer: &Peer<RoleClient>) -> Result<Vec<Tool>, String> {
    let listing = async {
        let mut tools = Vec::new();
        let mut bytes = 0;
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let mut params = PaginatedRequestParams::default();
            params.cursor = cursor.take();
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
                ServerResult::ListToolsResult(page) => {
                    bytes += json!(page.tools).to_string().len();
                    tools.extend(page.tools);
                    cursor = page.next_cursor;
                }
                _ => return Err("it answers `tools/list` with something else".to_owned()),
            }
            if tools.len() > MAX_TOOLS {
                return Err(format!("it lists more than {MAX_TOOLS} tools"));
            }
            if bytes > MAX_LISTED_BYTES {
                return Err(format!(
                    "the definitions of its tools are larger than {MAX_LISTED_BYTES} bytes"
                ));
            }
            if cursor.is_none() {
                return Ok(tools);
            }
        }
        Err(format!("it lists its tools on more than {MAX_PAGES} pages"))
    };
    let bounded = tokio::time::timeout(LIST_TIMEOUT, listing).await;
    bounded.unwrap_or_else(|_| {
        let seconds = LIST_TIMEOUT.as_secs();
        Err(format!("it did not list its tools within {seconds} s"))
    })
}
