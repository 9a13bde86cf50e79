//! `charter mission …`

mod assignments;
mod decide;
mod exchange;
mod show;
mod start;
mod watch;

use charter_contract::mission::MissionState;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{encoded, query, read_field};
use crate::client::Client;
use crate::config::Config;
use crate::failure::{EXIT_NEGATIVE, EXIT_OK};
use crate::output::{self, Format};

pub(crate) use exchange::verify;

/// Artifacts and missions of one page.
const PAGE: &str = "1000";

/// Start and watch missions, decide on proposals.
#[derive(Debug, Subcommand)]
pub(crate) enum Mission {
    Start(start::Start),
    /// List missions, newest first.
    List {
        /// Only missions in this state: `running`, `awaiting_approval`, `completed`, …
        #[arg(long)]
        state: Option<String>,
        /// The cursor: `next` of the previous page.
        #[arg(long)]
        after: Option<String>,
    },
    /// Show a mission: its state, tasks, output and proposals.
    Show {
        /// The mission's id.
        id: String,
    },
    Watch(watch::Watch),
    Artifacts(Artifacts),
    /// Replay a mission from its journal, without a model or a tool; exit code 1 when a result differs from the stored
    /// one.
    Replay {
        /// The mission's id.
        id: String,
    },
    Approve(decide::Approve),
    Reject(decide::Reject),
    /// Cancel a mission; its artifacts remain.
    Cancel {
        /// The mission's id.
        id: String,
        /// The reason.
        #[arg(long)]
        reason: Option<String>,
    },
    Assignments(assignments::Assignments),
    Claim(assignments::Claim),
    Submit(assignments::Submit),
    Release(assignments::Release),
    Export(exchange::Export),
    Import(exchange::Import),
    Verify(exchange::Verify),
    /// Show the differences of two missions, apart from ids and times; exit code 1 when there are any.
    Diff {
        /// The id of the first mission.
        left: String,
        /// The id of the second mission.
        right: String,
    },
}

/// List a mission's artifacts in the order in which they were written, or show one.
#[derive(Debug, Args)]
pub(crate) struct Artifacts {
    /// The mission's id.
    id: String,
    /// The artifact's id; needs its kind.
    #[arg(requires = "kind")]
    artifact: Option<String>,
    /// Only artifacts of this kind: `worker_result`.
    #[arg(long)]
    kind: Option<String>,
    /// Only artifacts of this task.
    #[arg(long, conflicts_with = "artifact")]
    task: Option<String>,
    /// The cursor: `next` of the previous page.
    #[arg(long, conflicts_with = "artifact")]
    after: Option<u64>,
}

pub(crate) async fn run(command: &Mission, config: &Config, format: Format) -> anyhow::Result<u8> {
    if let Mission::Verify(command) = command {
        return verify(command, format);
    }
    let client = Client::connect(config).await?;
    let done = execute(command, &client, format).await;
    client.close().await?;
    done
}

async fn execute(command: &Mission, client: &Client, format: Format) -> anyhow::Result<u8> {
    match command {
        Mission::Start(command) => start::run(command, client, format).await,
        Mission::Watch(command) => watch::run(command, client, format).await,
        Mission::Approve(command) => decide::approve(command, client, format).await,
        Mission::Reject(command) => decide::reject(command, client, format).await,
        Mission::Assignments(command) => assignments::list(command, client, format).await,
        Mission::Claim(command) => assignments::claim(command, client, format).await,
        Mission::Submit(command) => assignments::submit(command, client, format).await,
        Mission::Release(command) => assignments::release(command, client, format).await,
        Mission::Export(command) => exchange::export(command, client, format).await,
        Mission::Import(command) => exchange::import(command, client, format).await,
        Mission::Verify(command) => verify(command, format),
        Mission::List { state, after } => {
            let asked = [
                ("state", state.as_deref()),
                ("after", after.as_deref()),
                ("limit", Some(PAGE)),
            ];
            let found = client
                .get(&format!("/v1/missions{}", query(&asked)))
                .await?;
            output::print(format, &found, show::list)?;
            Ok(EXIT_OK)
        }
        Mission::Show { id } => {
            output::print(format, &client.get(&path(id, "")).await?, show::mission)?;
            Ok(EXIT_OK)
        }
        Mission::Artifacts(command) => {
            let found = artifacts(command, client).await?;
            output::print(format, &found, show::artifacts)?;
            Ok(EXIT_OK)
        }
        Mission::Replay { id } => {
            let found = client.post(&path(id, "/replay"), None).await?;
            output::print(format, &found, output::fields)?;
            Ok(answer(found["identical"] == json!(true)))
        }
        Mission::Cancel { id, reason } => {
            let body = json!({"reason": reason});
            let found = client.post(&path(id, "/cancel"), Some(&body)).await?;
            output::print(format, &found, show::mission)?;
            Ok(EXIT_OK)
        }
        Mission::Diff { left, right } => {
            let to = format!("/diff/{}", encoded(right));
            let found = client.get(&path(left, &to)).await?;
            output::print(format, &found, |found| text(found, "text"))?;
            Ok(answer(found["same"] == json!(true)))
        }
    }
}

async fn artifacts(command: &Artifacts, client: &Client) -> anyhow::Result<Value> {
    let kind = command.kind.as_deref();
    if let (Some(artifact), Some(kind)) = (&command.artifact, kind) {
        let one = format!("/artifacts/{}/{}", encoded(kind), encoded(artifact));
        return client.get(&path(&command.id, &one)).await;
    }
    let after = command.after.map(|place| place.to_string());
    let asked = [
        ("kind", kind),
        ("task", command.task.as_deref()),
        ("after", after.as_deref()),
        ("limit", Some(PAGE)),
    ];
    let all = format!("/artifacts{}", query(&asked));
    client.get(&path(&command.id, &all)).await
}

/// The exit code for yes or no.
fn answer(yes: bool) -> u8 {
    if yes { EXIT_OK } else { EXIT_NEGATIVE }
}

/// The exit code for a mission that no longer advances on its own: it has ended, or waits for a person.
fn code_of(mission: &Value) -> anyhow::Result<u8> {
    let state: MissionState = read_field(mission, "state")?;
    Ok(match state {
        MissionState::Created
        | MissionState::Planned
        | MissionState::Prompted
        | MissionState::Running
        | MissionState::Aggregating
        | MissionState::Reviewing
        | MissionState::AwaitingApproval
        | MissionState::Completed => EXIT_OK,
        MissionState::Rejected
        | MissionState::Failed
        | MissionState::Cancelled
        | MissionState::BudgetExceeded => EXIT_NEGATIVE,
    })
}

fn path(mission: &str, what: &str) -> String {
    format!("/v1/missions/{}{what}", encoded(mission))
}

fn text(of: &Value, field: &str) -> String {
    of[field].as_str().unwrap_or_default().to_owned()
}
