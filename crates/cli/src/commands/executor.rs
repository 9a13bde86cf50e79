//! `charter executor`: runs the calls of client tools here, where the credentials are, for a server elsewhere. The
//! configuration of this process defines the grants of the tools; see docs/reference/executor.md.

mod call;
mod handlers;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use charter_contract::executor::ExecutorCall;
use charter_contract::ids::Label;
use charter_contract::validate::read_value;
use charter_effects::Sandbox;
use charter_engine::ToolGrants;
use clap::Args;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use self::handlers::Handlers;
use crate::boot;
use crate::client::Client;
use crate::config::Config;
use crate::failure::{EXIT_OK, ReportedFailure};
use crate::messages;

/// How long the server holds a request for a call open when it has none, in milliseconds.
const WAIT_MS: u64 = 20_000;

/// Timeout of a request for a call, which the server may hold open.
const LEASE_TIMEOUT: Duration = Duration::from_millis(WAIT_MS + 10_000);

/// Pauses after a server that does not answer: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));

/// Run calls of client tools for a server.
///
/// Needs `--server` (or `server` in the configuration) and an operator's key of the tenant. The server gives these
/// calls to executors if its `tools.client_tools` is "executor". It always gives calls of tools without an
/// implementation to executors with `--handlers`.
#[derive(Debug, Args)]
pub(crate) struct Executor {
    /// The name of this executor in the server's messages.
    #[arg(long, value_name = "NAME", default_value = "executor")]
    name: String,
    /// A directory with a script for each tool without its own implementation, named after the tool:
    /// `aws.describe_vpcs.py` or `aws.describe_vpcs.sh`. Each gets everything that this executor grants.
    #[arg(long, value_name = "DIR")]
    handlers: Option<PathBuf>,
}

/// The resources that every call shares.
struct Work {
    client: Client,
    sandbox: Sandbox,
    grants: ToolGrants,
    packages: call::Packages,
    handlers: Handlers,
}

pub(crate) async fn run(command: &Executor, config: &Config) -> anyhow::Result<u8> {
    let name = Label::parse(&command.name).context("--name")?;
    let work = Arc::new(Work {
        client: Client::to_server(config)?,
        sandbox: boot::sandbox(config, "executor").await?,
        grants: boot::grants(config)?,
        packages: call::Packages::default(),
        handlers: match &command.handlers {
            Some(dir) => Handlers::read(dir)?,
            None => Handlers::default(),
        },
    });
    let server = config.server.as_deref().unwrap_or_default();
    messages::note(&format!(
        "charter executor `{name}` accepts calls from {server}{}",
        work.handlers.count_text()
    ));
    let calls = TaskTracker::new();
    let ended = tokio::select! {
        failed = take_calls(&work, &name, config.tools.concurrency, &calls) => failed.map(|()| EXIT_OK),
        () = super::serve::stop_signal() => Ok(EXIT_OK),
    };
    calls.close();
    // Running calls end within their own time limits; a second signal ends them at once.
    tokio::select! {
        () = calls.wait() => {}
        () = super::serve::stop_signal() => {}
    }
    ended
}

/// Takes calls as long as the server allows it.
async fn take_calls(
    work: &Arc<Work>,
    name: &Label,
    concurrency: usize,
    calls: &TaskTracker,
) -> anyhow::Result<()> {
    let places = Arc::new(Semaphore::new(concurrency));
    let mut pause = PAUSES.0;
    loop {
        let place = Arc::clone(&places).acquire_owned().await?;
        match next(work, name).await {
            Ok(Some(call)) => {
                pause = PAUSES.0;
                let work = Arc::clone(work);
                calls.spawn(async move {
                    call::execute_call(&work, call).await;
                    drop(place);
                });
            }
            Ok(None) => pause = PAUSES.0,
            Err(error) if is_final(&error) => return Err(error),
            Err(error) => {
                tracing::warn!(
                    error = format!("{error:#}"),
                    "polling for a call failed; retrying"
                );
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(PAUSES.1);
            }
        }
    }
}

/// Whether the server would return the same answer to a retry.
fn is_final(error: &anyhow::Error) -> bool {
    let refused = error.downcast_ref::<ReportedFailure>();
    let known = refused.and_then(|refused| refused.code.parse().ok());
    known.is_some_and(|code: charter_contract::error_code::ErrorCode| !code.retryable())
}

async fn next(work: &Work, name: &Label) -> anyhow::Result<Option<ExecutorCall>> {
    let handlers: Vec<_> = work.handlers.tools().collect();
    let body = json!({"executor": name, "wait_ms": WAIT_MS, "handlers": handlers});
    let asked = work.client.post("/v1/executor/leases", Some(&body));
    let answer = tokio::time::timeout(LEASE_TIMEOUT, asked)
        .await
        .context("waiting for a call")??;
    match answer {
        Value::Null => Ok(None),
        call => {
            let read = read_value::<ExecutorCall>(&call);
            let (call, _) = read.map_err(|violations| {
                let first = violations.first().map(ToString::to_string);
                anyhow::anyhow!(
                    "the server sent an invalid call: {}",
                    first.unwrap_or_default()
                )
            })?;
            Ok(Some(call))
        }
    }
}
