//! `charter serve`

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use tokio::net::TcpListener;

use crate::boot;
use crate::config::Config;
use crate::failure::EXIT_OK;

/// Serve the API.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Address to listen on; anything but loopback needs API keys.
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
}

pub(crate) async fn run(config: &Config) -> anyhow::Result<u8> {
    let running = boot::start(config).await?;
    let listener = TcpListener::bind(config.listen)
        .await
        .with_context(|| format!("listening on {}", config.listen))?;
    let address = listener
        .local_addr()
        .context("reading the listener's address")?;
    let state = boot::app(config, &running.engine, address)?;
    running
        .store
        .describe_holder(&format!("pid {}, http://{address}", std::process::id()))
        .context("writing the lock file")?;
    let recovered = running.engine.recover().await?;
    if recovered > 0 {
        tracing::info!(requests = recovered, "taking up interrupted requests");
    }
    tokio::spawn(Arc::clone(&running.engine).sweep_forever());
    tokio::spawn(Arc::clone(&running.engine).retain_evidence_forever());
    tokio::spawn(Arc::clone(&running.engine).refresh_lenses_forever());
    tokio::spawn(Arc::clone(&running.engine).follow_imports_forever());
    eprintln!(
        "charter is listening on http://{address} (data in {})",
        config.data_dir.display()
    );
    let engine = Arc::clone(&running.engine);
    let stop = async move {
        stop_signal().await;
        engine.interrupt();
    };
    charter_server::serve(listener, state, stop).await?;
    running.stop().await?;
    Ok(EXIT_OK)
}

/// Resolves when the process is asked to stop.
pub(super) async fn stop_signal() {
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(error) => {
                tracing::error!(error = %error, "SIGTERM cannot be caught");
                std::future::pending::<()>().await;
            }
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
