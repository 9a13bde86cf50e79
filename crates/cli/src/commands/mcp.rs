//! `charter mcp`: the Model Context Protocol over standard input and output, for clients that start a
//! process. Where a server runs, this hands every message over to it, so that many clients can share
//! one; else the engine runs in this process. Nothing but the protocol goes to standard output.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context;
use charter_engine::Caller;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use rmcp::{RoleClient, RoleServer};
use tokio::task::JoinSet;

use super::serve::stop_signal;
use crate::boot::Running;
use crate::client::Client;
use crate::config::Config;
use crate::failure::EXIT_OK;

/// Messages of the client that are on their way to the server at once.
const MAX_SENDING: usize = 64;

pub(crate) async fn run(config: &Config) -> anyhow::Result<u8> {
    match Client::connect(config).await? {
        Client::Remote { http, base, key } => bridge(http, &base, key).await?,
        Client::Local { router, running } => {
            drop(router);
            serve(running).await?;
        }
    }
    Ok(EXIT_OK)
}

/// Serves from an engine in this process.
async fn serve(running: Running) -> anyhow::Result<()> {
    let engine = Arc::clone(&running.engine);
    engine.recover().await?;
    engine.keep_house();
    let stopping = Arc::clone(&engine);
    let stop = async move {
        stop_signal().await;
        stopping.interrupt();
    };
    let served = charter_server::serve_stdio(engine, Caller::local()?, stop).await;
    running.stop().await?;
    served.context("serving the Model Context Protocol")
}

/// Hands messages over between standard input and output and a server's `/mcp`.
async fn bridge(http: reqwest::Client, base: &str, key: Option<String>) -> anyhow::Result<()> {
    let mut config = StreamableHttpClientTransportConfig::with_uri(format!("{base}/mcp"));
    config.auth_header = key;
    config.custom_headers = HashMap::new();
    let server = StreamableHttpClientTransport::with_client(http, config);
    let (input, output) = rmcp::transport::io::stdio_pipes();
    let client = AsyncRwTransport::<RoleServer, _, _>::new(input, output);
    tokio::select! {
        handed = hand_over(client, server, base) => handed,
        () = stop_signal() => Ok(()),
    }
}

async fn hand_over(
    mut client: impl Transport<RoleServer> + 'static,
    mut server: impl Transport<RoleClient> + 'static,
    base: &str,
) -> anyhow::Result<()> {
    let mut sending = JoinSet::new();
    loop {
        tokio::select! {
            message = client.receive(), if sending.len() < MAX_SENDING => {
                let Some(message) = message else { break };
                let request = asked(&message);
                let sent = server.send(message);
                sending.spawn(async move { (request, sent.await.err()) });
            }
            message = server.receive() => {
                let message = message.with_context(|| format!("the server {base} ended the connection"))?;
                let said = client.send(message).await;
                said.map_err(|error| anyhow::anyhow!("writing to the client: {error}"))?;
            }
            Some(sent) = sending.join_next() => {
                let (request, failed) = sent.context("handing a message over")?;
                let Some(error) = failed else { continue };
                tracing::warn!(error = %error, "the server did not take a message");
                if let Some(refusal) = request.map(|id| refusal(id, base)) {
                    let said = client.send(refusal).await;
                    said.map_err(|error| anyhow::anyhow!("writing to the client: {error}"))?;
                }
            }
        }
    }
    let closed = server.close().await;
    closed.map_err(|error| anyhow::anyhow!("closing the connection to {base}: {error}"))
}

/// The request that a message is, whose sender waits for an answer.
fn asked(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
        _ => None,
    }
}

fn refusal(id: RequestId, base: &str) -> ServerJsonRpcMessage {
    let message = format!("the Charter server at {base} did not take the request");
    ServerJsonRpcMessage::error(ErrorData::internal_error(message, None), Some(id))
}
