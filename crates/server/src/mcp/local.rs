//! The protocol for clients on this machine, each over its own stream: standard input and output, or a socket.

use std::sync::Arc;

use charter_engine::Caller;
use prometheus_client::metrics::counter::Counter;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::lines::LineTransport;
use super::loading::{EngineLoader, LoadingEngine};
use super::log_level::SessionLogLevel;
use super::{ConnectionIdentity, ListMode, Mcp, Shared};

/// Serves one caller over any number of streams.
pub struct LocalMcp {
    shared: Arc<Shared>,
    caller: Caller,
}

/// Why a connection ended early.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// The client did not complete the handshake.
    #[error("starting the protocol")]
    Start(#[source] Box<ServerInitializeError>),
    /// The connection's task panicked.
    #[error("serving the protocol")]
    Serve(#[source] tokio::task::JoinError),
}

impl LocalMcp {
    /// Creates a server to which clients may connect at once. Their calls wait until the loader has finished.
    #[must_use]
    pub fn new(caller: Caller, list: ListMode) -> (Self, EngineLoader) {
        let (engine, loader) = LoadingEngine::begin();
        let shared = Arc::new(Shared::new(engine, list, Counter::default()));
        (Self { shared, caller }, loader)
    }

    /// Serves a client until it closes the stream, or `stop` is cancelled.
    ///
    /// # Errors
    /// [`McpError`].
    pub async fn serve(
        &self,
        reading: impl AsyncRead + Send + Unpin + 'static,
        writing: impl AsyncWrite + Send + Unpin + 'static,
        stop: &CancellationToken,
    ) -> Result<(), McpError> {
        let mcp = Mcp {
            shared: Arc::clone(&self.shared),
            identity: ConnectionIdentity::Always(self.caller.clone()),
            log_level: SessionLogLevel::default(),
        };
        let serving = mcp.serve_with_ct(LineTransport::new(reading, writing), stop.child_token());
        let running = match serving.await {
            Ok(running) => running,
            // A client may leave before its first message.
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                return Ok(());
            }
            Err(error) => return Err(McpError::Start(Box::new(error))),
        };
        running.waiting().await.map(drop).map_err(McpError::Serve)
    }
}
