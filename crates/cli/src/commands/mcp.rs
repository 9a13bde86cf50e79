//! `charter mcp`: the Model Context Protocol over standard input and output, for clients that start a process. A server
//! that holds the data directory answers them. Without one, the first of these processes runs the engine and also
//! answers the clients of the others; when it ends, another takes over. Standard output carries only the protocol.
//! `charter mcp add` registers a server whose tools are imported, and `charter mcp snapshot` writes these tools to a file.

mod add;
mod host;
pub(in crate::commands) mod recipe;
pub(in crate::commands) mod registration;
mod relay;
pub(in crate::commands) mod snapshot;
#[cfg_attr(not(unix), path = "mcp/no_socket.rs")]
mod socket;

use std::time::Duration;

use anyhow::{Context, bail};
use charter_contract::error_code::ErrorCode;
use charter_server::LineTransport;
use clap::{Args, Subcommand};
use rmcp::RoleClient;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use rmcp::transport::{StdioReader, StdioWriter, Transport};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::serve::stop_signal;
use crate::boot::{McpConsumer, OpenStore, Services};
use crate::client::Client;
use crate::config::{Config, Flags};
use crate::failure::{EXIT_OK, ReportedFailure};
use crate::output::Format;
use host::EngineHost;
use relay::{ClientConnection, RelayEnd, SendFailure};
use socket::LocalStream;

/// How long this process waits for a process that holds the data directory and does not answer, because it starts or ends.
const TAKEOVER_TIMEOUT: Duration = Duration::from_secs(20);

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(100);

type Stdio = LineTransport<StdioReader, StdioWriter>;

/// Speak the Model Context Protocol over standard input and output.
///
/// Subcommands are about the servers whose tools Charter imports.
#[derive(Debug, Args)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    action: Option<McpAction>,
}

#[derive(Debug, Subcommand)]
enum McpAction {
    Add(Box<add::Add>),
    Snapshot(snapshot::Snapshot),
}

impl Mcp {
    /// Whether it serves a client.
    pub(super) fn is_service(&self) -> bool {
        self.action.is_none()
    }

    /// Whether it registers a server.
    pub(super) fn is_addition(&self) -> bool {
        matches!(self.action, Some(McpAction::Add(_)))
    }

    /// Registers a server; needs no valid configuration.
    pub(super) fn add(&self, flags: &Flags, format: Format) -> anyhow::Result<u8> {
        match &self.action {
            Some(McpAction::Add(command)) => add::run(command, flags, format),
            Some(McpAction::Snapshot(_)) | None => Ok(EXIT_OK),
        }
    }

    /// The words of a command that uses no server.
    pub(super) fn serverless(&self) -> Option<&'static str> {
        match &self.action {
            Some(McpAction::Add(_)) => Some("mcp add"),
            Some(McpAction::Snapshot(_)) => Some("mcp snapshot"),
            None => None,
        }
    }
}

pub(crate) async fn run(command: &Mcp, config: &Config, format: Format) -> anyhow::Result<u8> {
    match &command.action {
        Some(McpAction::Snapshot(command)) => snapshot::run(command, config, format).await,
        Some(McpAction::Add(_)) => Ok(EXIT_OK),
        None => serve(config).await,
    }
}

async fn serve(config: &Config) -> anyhow::Result<u8> {
    let (input, output) = stdio_pipes();
    let client = ClientConnection::new(Stdio::new(input, output));
    let stop = CancellationToken::new();
    tokio::spawn({
        let stop = stop.clone();
        async move {
            stop_signal().await;
            stop.cancel();
        }
    });
    match &config.server {
        Some(server) => relay_over_http(client, server, config, &stop).await?,
        None => serve_from_data(client, config, &stop).await?,
    }
    Ok(EXIT_OK)
}

/// The process that holds the data directory.
enum DataHolder {
    /// This process.
    Own(EngineHost),
    /// Another process of this command.
    Peer(LocalStream),
    /// A server at this URL.
    Server(String),
}

/// Serves a client from the data directory, also after its holder has ended.
async fn serve_from_data(
    mut client: ClientConnection<Stdio>,
    config: &Config,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    loop {
        let Some(holder) = await_holder(&mut client, config, stop).await? else {
            return Ok(());
        };
        let end = match holder {
            DataHolder::Server(server) => {
                return relay_over_http(client, &server, config, stop).await;
            }
            DataHolder::Peer(stream) => relay_over_stream(&mut client, stream, stop).await?,
            DataHolder::Own(host) => {
                let stream = host.connect().context("connecting to the engine")?;
                let end = relay_over_stream(&mut client, stream, stop).await;
                host.stop().await?;
                if end? == RelayEnd::AnswererLost {
                    bail!("the engine in this process ended the connection");
                }
                return Ok(());
            }
        };
        match end {
            RelayEnd::ClientLeft => return Ok(()),
            RelayEnd::AnswererLost => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Waits for the holder of the data directory, and reads ahead meanwhile. `None` when the client leaves without a request,
/// or this process stops.
async fn await_holder(
    client: &mut ClientConnection<Stdio>,
    config: &Config,
    stop: &CancellationToken,
) -> anyhow::Result<Option<DataHolder>> {
    let finding = find_holder(config);
    tokio::pin!(finding);
    while !client.is_done() {
        tokio::select! {
            holder = &mut finding => return holder.map(Some),
            () = client.read_ahead(), if client.has_room() => {}
            () = stop.cancelled() => break,
        }
    }
    Ok(None)
}

/// Finds the holder of the data directory. Without one, this process becomes the holder.
async fn find_holder(config: &Config) -> anyhow::Result<DataHolder> {
    let until = Instant::now() + TAKEOVER_TIMEOUT;
    let services = Services::read(config, McpConsumer::Server)?;
    let locked = loop {
        let locked = match OpenStore::open(config).await {
            Ok(store) => {
                let host = EngineHost::start(config, services, store)?;
                return Ok(DataHolder::Own(host));
            }
            Err(error) => error,
        };
        if let Some(server) = Client::holder(&locked) {
            return Ok(DataHolder::Server(server));
        }
        if !is_locked(&locked) {
            return Err(locked);
        }
        match socket::connect(&config.data_dir).await {
            Ok(stream) => return Ok(DataHolder::Peer(stream)),
            Err(error) if Instant::now() < until => {
                tracing::debug!(error = %error, "the process that uses the data directory does not answer yet");
            }
            Err(_) => break locked,
        }
        tokio::time::sleep(PAUSE).await;
    };
    Err(locked)
}

fn is_locked(error: &anyhow::Error) -> bool {
    let reported = error.downcast_ref::<ReportedFailure>();
    reported.is_some_and(|reported| reported.code == ErrorCode::DataDirectoryLocked.as_str())
}

async fn relay_over_stream(
    client: &mut ClientConnection<Stdio>,
    stream: LocalStream,
    stop: &CancellationToken,
) -> anyhow::Result<RelayEnd> {
    let (reading, writing) = stream.into_split();
    let mut answerer = AsyncRwTransport::<RoleClient, _, _>::new(reading, writing);
    let failure = SendFailure::EndsConnection;
    client.relay(&mut answerer, failure, stop).await
}

/// Relays messages to a server's `/mcp`.
async fn relay_over_http(
    mut client: ClientConnection<Stdio>,
    server: &str,
    config: &Config,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let http = reqwest::Client::builder().build();
    let http = http.context("setting up the HTTP client")?;
    let server = server.trim_end_matches('/');
    let mut options = StreamableHttpClientTransportConfig::with_uri(format!("{server}/mcp"));
    options.auth_header.clone_from(&config.api_key);
    let mut answerer = StreamableHttpClientTransport::with_client(http, options);
    let failure = SendFailure::FailsMessage;
    match client.relay(&mut answerer, failure, stop).await? {
        RelayEnd::AnswererLost => bail!("the server {server} ended the connection"),
        RelayEnd::ClientLeft => {
            let closed = answerer.close().await;
            closed.map_err(|error| anyhow::anyhow!("closing the connection to {server}: {error}"))
        }
    }
}
