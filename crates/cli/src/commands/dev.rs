//! `charter dev`

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use charter_engine::Problem;
use clap::Args;
use notify::{RecursiveMode, Watcher};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::{package, serve};
use crate::client::Client;
use crate::config::Config;
use crate::failure::{self, EXIT_NEGATIVE, EXIT_OK, ReportedFailure};
use crate::output::{self, Format, OutputClosed};
use crate::telemetry::Telemetry;

/// Serve a package, and check and reload it at each change.
///
/// Shows the results of the package's routing tests after each change. Uses the server that already holds the data
/// directory or that --server names, if there is one. The package is in force as a draft: the manifest's version with
/// `+draft.` and a part of the content's hash. After an error, the last valid draft stays in force.
#[derive(Debug, Args)]
pub(crate) struct Dev {
    /// The package's directory.
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Address to listen on; any other than loopback requires API keys.
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// Check and load it once; exit 0 when it is in force, 1 when it has an error.
    #[arg(long)]
    once: bool,
}

/// Files that are saved within this time count as one change.
const SETTLE: Duration = Duration::from_millis(150);

pub(crate) async fn run(
    command: &Dev,
    config: &Config,
    telemetry: Option<&Telemetry>,
    format: Format,
) -> anyhow::Result<u8> {
    let dir = command.dir.as_path();
    if command.once {
        let client = Client::connect(config).await?;
        let loaded = load(dir, &client, format).await;
        client.close().await?;
        return loaded.map(|sound| if sound { EXIT_OK } else { EXIT_NEGATIVE });
    }
    if config.server.is_some() {
        return watch(dir, config, format).await;
    }
    let (ready, address) = oneshot::channel();
    let serving = serve::serve(config, telemetry, |address| {
        // No receiver is left if watching has failed, which is reported.
        ready.send(address).ok();
    });
    let watching = async {
        let Ok(address) = address.await else {
            // Serving has failed, and reports the error.
            return std::future::pending().await;
        };
        watch(
            dir,
            &with_server(config, format!("http://{address}")),
            format,
        )
        .await
    };
    let served_until = tokio::select! {
        ended = watching => return ended,
        ended = serving => ended,
    };
    match served_until {
        Ok(()) => Ok(EXIT_OK),
        Err(error) => match Client::holder(&error) {
            Some(holder) => watch(dir, &with_server(config, holder), format).await,
            None => Err(error),
        },
    }
}

/// The configuration with the server at this address.
fn with_server(config: &Config, server: String) -> Config {
    Config {
        server: Some(server),
        ..config.clone()
    }
}

/// Loads the package now and after each change, until the process is stopped.
async fn watch(dir: &Path, config: &Config, format: Format) -> anyhow::Result<u8> {
    let client = Client::to_server(config)?;
    let (changed, mut changes) = mpsc::channel(1);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // A failed watch counts as a change: reading the directory reports the error. One waiting change represents
        // all.
        if event.as_ref().map_or(true, is_change) {
            changed.try_send(()).ok();
        }
    })
    .context("watching for changes")?;
    watcher
        .watch(dir, RecursiveMode::Recursive)
        .with_context(|| format!("watching {}", dir.display()))?;
    let stop = serve::stop_signal();
    tokio::pin!(stop);
    loop {
        if let Err(error) = load(dir, &client, format).await {
            if error.downcast_ref::<OutputClosed>().is_some() {
                return Err(error);
            }
            // The author may be in the middle of an edit; an unreadable file may be readable later.
            failure::print_failure(&error);
        }
        tokio::select! {
            () = &mut stop => return Ok(EXIT_OK),
            _ = changes.recv() => {}
        }
        tokio::time::sleep(SETTLE).await;
        changes.try_recv().ok();
    }
}

/// Whether files may have changed. Reads do not count, nor do changes of editors' hidden files.
fn is_change(event: &notify::Event) -> bool {
    let hidden = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_none_or(|name| name.starts_with('.') || name.ends_with('~'))
    };
    !event.kind.is_access() && !event.paths.iter().all(hidden)
}

/// Puts the package in force as a draft and reports the outcome; returns whether it is in force.
async fn load(dir: &Path, client: &Client, format: Format) -> anyhow::Result<bool> {
    let bundle = package::bundle(dir)?;
    let registered = client.post("/v1/packages?draft=true", Some(&bundle)).await;
    let (sound, mut report) = match registered {
        Ok(registered) => (true, registered),
        Err(error) => match error.downcast::<ReportedFailure>() {
            Ok(reported) if reported.details["problems"].is_array() => (false, reported.details),
            Ok(reported) => return Err(reported.into()),
            Err(error) => return Err(error),
        },
    };
    report["in_force"] = json!(sound);
    match format {
        // One line for each load, for programs that follow the output.
        Format::Json => output::line(&report.to_string())?,
        Format::Table | Format::Yaml => output::print(format, &report, report_text)?,
    }
    Ok(sound)
}

fn report_text(report: &Value) -> String {
    let version = report["version"].as_str().unwrap_or_default();
    let named = match report["package"].as_str() {
        Some(name) => format!("{name} {version}"),
        None => "the package".to_owned(),
    };
    let problems: Vec<Problem> =
        serde_json::from_value(report["problems"].clone()).unwrap_or_default();
    let state = match (report["in_force"] == true, report["unchanged"] == true) {
        (true, true) => "unchanged",
        (true, false) => "in force",
        (false, _) => "NOT in force",
    };
    let mut lines = vec![format!(
        "{}{named}: {state}{}",
        output::problems(&problems),
        package::test_results_text(&report["tests"])
    )];
    lines.extend(
        report["tests"]
            .as_array()
            .into_iter()
            .flatten()
            .map(test_result_text),
    );
    lines.join("\n")
}

fn test_result_text(test: &Value) -> String {
    let mark = if test["passed"] == true {
        "ok  "
    } else {
        "FAIL"
    };
    let reached = test["reached"].as_str().unwrap_or("nothing");
    let score = test["score"].as_f64().unwrap_or_default();
    format!(
        "  {mark} {} -> {reached} ({}, {score:.2})",
        test["query"].as_str().unwrap_or_default(),
        test["kind"].as_str().unwrap_or_default()
    )
}
