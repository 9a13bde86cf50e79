//! The part of the process that holds the data directory: the engine, which loads while clients connect, and the clients of
//! this and other processes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use charter_contract::bounds::MCP_SESSIONS;
use charter_contract::error_code::ErrorCode;
use charter_engine::{Caller, Engine, EngineError};
use charter_server::{EngineLoader, ListMode, LocalMcp};
use charter_store::SharedStore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::socket::{self, LocalListener, LocalStream};
use crate::boot::{self, OpenStore, Services};
use crate::config::Config;
use crate::failure::ReportedFailure;

/// The pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_secs(1);

/// The engine of this process, and its clients.
pub(super) struct EngineHost {
    clients: HostedClients,
    loading: JoinHandle<anyhow::Result<Arc<Engine>>>,
    store: OpenStore,
    data_dir: PathBuf,
}

/// The clients that are served.
#[derive(Clone)]
struct HostedClients {
    mcp: Arc<LocalMcp>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// When the list of tools is answered: pinned documents are known only when the engine is loaded.
fn list_mode(config: &Config) -> ListMode {
    let pins = config.mcp.pins();
    let mut offers = pins.all();
    if offers.any(|offer| offer.of_agents || !offer.pinned.is_empty()) {
        ListMode::Loaded
    } else {
        ListMode::AtOnce
    }
}

impl EngineHost {
    /// Begins to load an engine over an open store, and serves clients meanwhile.
    pub(super) fn start(
        config: &Config,
        services: Services,
        store: OpenStore,
    ) -> anyhow::Result<Self> {
        store.describe_holder(&format!("pid {}, charter mcp", std::process::id()))?;
        let (mcp, loader) = LocalMcp::new(Caller::local()?, list_mode(config));
        let loading = load(config.clone(), services, store.shared(), loader);
        let clients = HostedClients {
            mcp: Arc::new(mcp),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        };
        match socket::listen(&config.data_dir) {
            Ok(listener) => {
                let accepting = clients.clone().accept(listener);
                clients.tasks.spawn(accepting);
            }
            // This process's own client needs no socket.
            Err(error) => tracing::warn!(
                error = format!("{error:#}"),
                "other processes cannot share the data directory"
            ),
        }
        Ok(Self {
            clients,
            loading: tokio::spawn(loading),
            store,
            data_dir: config.data_dir.clone(),
        })
    }

    /// A connection for the client of this process.
    pub(super) fn connect(&self) -> std::io::Result<LocalStream> {
        let (own, other) = LocalStream::pair()?;
        self.clients.serve(other);
        Ok(own)
    }

    /// Stops everything, so that another process can take over. Unfinished runs stay open for it.
    ///
    /// # Errors
    /// The reason why the engine could not be loaded; the error of closing the store.
    pub(super) async fn stop(self) -> anyhow::Result<()> {
        self.loading.abort();
        let loaded = match self.loading.await {
            Ok(Ok(engine)) => Ok(Some(engine)),
            Ok(Err(error)) => Err(error),
            Err(error) if error.is_panic() => {
                Err(anyhow::Error::new(error).context("loading the engine"))
            }
            // It was still loading.
            Err(_) => Ok(None),
        };
        let engine = loaded.as_ref().ok().and_then(Option::as_ref);
        if let Some(engine) = engine {
            engine.interrupt();
        }
        self.clients.stop.cancel();
        self.clients.tasks.close();
        self.clients.tasks.wait().await;
        if let Some(engine) = engine {
            engine.stop().await;
        }
        if let Err(error) = socket::remove(&self.data_dir) {
            tracing::warn!(
                error = format!("{error:#}"),
                "the socket could not be removed"
            );
        }
        self.store.close().await?;
        loaded.map(drop)
    }
}

/// Loads the engine, and continues the calls that wait for it.
async fn load(
    config: Config,
    services: Services,
    store: SharedStore,
    loader: EngineLoader,
) -> anyhow::Result<Arc<Engine>> {
    let loaded = start_engine(&config, services, store).await;
    loader.finish(match &loaded {
        Ok(engine) => Ok(Arc::clone(engine)),
        Err(error) => {
            tracing::error!(
                error = format!("{error:#}"),
                "the engine could not be loaded"
            );
            Err(load_failure(error))
        }
    });
    loaded
}

/// Starts an engine, which resumes unfinished requests and runs.
async fn start_engine(
    config: &Config,
    services: Services,
    store: SharedStore,
) -> anyhow::Result<Arc<Engine>> {
    let engine = boot::load(config, services, store).await?;
    engine
        .maintenance()
        .recover()
        .await
        .map_err(ReportedFailure::from)?;
    engine.maintenance().start();
    Ok(engine)
}

/// The error of all calls when there is no engine.
fn load_failure(error: &anyhow::Error) -> EngineError {
    let reported = error.downcast_ref::<ReportedFailure>();
    let code = reported.and_then(|reported| reported.code.parse().ok());
    let message = format!("the engine could not be loaded: {error:#}");
    EngineError::new(code.unwrap_or(ErrorCode::Unavailable), message)
}

impl HostedClients {
    /// Serves the processes that connect to the socket.
    async fn accept(self, listener: LocalListener) {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.stop.cancelled() => return,
            };
            match accepted {
                Ok((stream, _)) if socket::is_of_this_user(&stream) => self.serve(stream),
                Ok(_) => tracing::warn!("rejected a process of another user"),
                Err(error) => {
                    tracing::warn!(error = %error, "a connection could not be accepted");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    fn serve(&self, stream: LocalStream) {
        if self.tasks.len() >= MCP_SESSIONS {
            tracing::warn!("rejected a client: MCP_SESSIONS = {MCP_SESSIONS}");
            return;
        }
        let (mcp, stop) = (Arc::clone(&self.mcp), self.stop.clone());
        self.tasks.spawn(async move {
            let (reading, writing) = stream.into_split();
            if let Err(error) = mcp.serve(reading, writing, &stop).await {
                let error = anyhow::Error::new(error);
                tracing::warn!(error = format!("{error:#}"), "a client connection failed");
            }
        });
    }
}
