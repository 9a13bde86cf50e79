//! `charter serve`

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use tokio::net::TcpListener;

use crate::boot;
use crate::config::{Config, ReplicaRole};
use crate::evidence_key;
use crate::failure::EXIT_OK;
use crate::messages;
use crate::platform;
use crate::telemetry::Telemetry;

/// Serve the API.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Address to listen on; any other than loopback requires API keys.
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// The role of this process among the replicas over the same database.
    #[arg(long, value_enum)]
    pub(crate) role: Option<ReplicaRole>,
}

pub(crate) async fn run(config: &Config, telemetry: Option<&Telemetry>) -> anyhow::Result<u8> {
    // Only a store in the data directory: a new data directory over a database may have many packages.
    let is_new = config.store.url.is_none() && !evidence_key::was_used(config);
    serve(config, telemetry, |address| {
        if is_new {
            messages::note(&next_steps(address));
        }
    })
    .await?;
    Ok(EXIT_OK)
}

/// The next steps with a new store, which has no packages.
fn next_steps(address: SocketAddr) -> String {
    format!(
        "nothing is registered yet; try an example, in another terminal:\n  \
         export CHARTER_SERVER=http://{address}\n  \
         charter init owners && charter package register owners\n  \
         charter ask \"who is responsible for payments?\"\n  \
         open http://{address}/console/ in a browser"
    )
}

/// Serves until the process is stopped; passes the address to `ready` as soon as it listens there.
pub(super) async fn serve(
    config: &Config,
    telemetry: Option<&Telemetry>,
    ready: impl FnOnce(SocketAddr),
) -> anyhow::Result<()> {
    let running = boot::start(config).await?;
    if let Some(telemetry) = telemetry {
        telemetry.observe(&running.engine);
    }
    let listener = TcpListener::bind(config.listen)
        .await
        .with_context(|| format!("listening on {}", config.listen))?;
    let address = listener
        .local_addr()
        .context("reading the listener's address")?;
    let state = boot::app(config, &running.engine, address).await?;
    running
        .store
        .describe_holder(&format!("pid {}, http://{address}", std::process::id()))?;
    let recovered = running.engine.maintenance().recover().await?;
    if recovered > 0 {
        tracing::info!(requests = recovered, "resuming interrupted requests");
    }
    running.engine.maintenance().start();
    messages::note(&format!(
        "charter is listening on http://{address} ({})",
        running.store.place(config)
    ));
    let limits = state.limits;
    let routes = match config.replica.role {
        ReplicaRole::Worker => charter_server::probes(state),
        ReplicaRole::All | ReplicaRole::Api => charter_server::router(state),
    };
    let engine = Arc::clone(&running.engine);
    let patience = Duration::from_secs(config.replica.drain_s);
    let stop = async move {
        stop_signal().await;
        // Running requests and streams end when the runs that they wait for have been released.
        tokio::spawn(async move {
            engine.run_recovery().drain(patience).await;
            engine.interrupt();
        });
    };
    // Connections are accepted from now on, and answered as soon as the server runs.
    ready(address);
    charter_server::serve(listener, routes, limits, stop).await;
    running.stop().await
}

/// Waits until the process receives a signal to stop.
pub(super) async fn stop_signal() {
    let terminated = async {
        if let Err(error) = platform::terminated().await {
            tracing::error!(error = %error, "SIGTERM cannot be caught");
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = terminated => {}
        caught = tokio::signal::ctrl_c() => {
            if let Err(error) = caught {
                tracing::error!(error = %error, "Ctrl-C cannot be caught");
                std::future::pending::<()>().await;
            }
        }
    }
    tracing::info!("stopping");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_store_names_the_next_steps_in_five_lines() {
        let steps = next_steps(SocketAddr::from(([127, 0, 0, 1], 7407)));
        let lines: Vec<&str> = steps.lines().collect();
        let expected = [
            "nothing is registered yet; try an example, in another terminal:",
            "  export CHARTER_SERVER=http://127.0.0.1:7407",
            "  charter init owners && charter package register owners",
            "  charter ask \"who is responsible for payments?\"",
            "  open http://127.0.0.1:7407/console/ in a browser",
        ];
        assert_eq!(lines, expected);
    }
}
