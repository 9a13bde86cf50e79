//! `charter schedule …`

use std::path::PathBuf;

use anyhow::Context as _;
use charter_domain::schedule::ScheduleReport;
use clap::Subcommand;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::runs::document;
use super::{encoded, query};
use crate::client::Client;
use crate::config::Config;
use crate::failure::EXIT_OK;
use crate::messages;
use crate::output::{self, Format};

/// The occurrence that a report is of by default.
const LATEST: &str = "latest";

/// Enable, list, pause and start schedules; show their reports.
#[derive(Debug, Subcommand)]
pub(crate) enum Schedule {
    /// Enable a schedule or trigger, with your access.
    ///
    /// The schedule runs the definition as it is now, until it is enabled again. The secret of a webhook is shown once.
    Enable {
        /// The id of a schedule in the catalogue.
        #[arg(required_unless_present = "file", conflicts_with = "file")]
        id: Option<String>,
        /// A file with a definition that is in no package (JSON or YAML).
        #[arg(long, short = 'f', value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// List enabled schedules, latest first.
    List {
        /// The cursor: `next` of the previous page.
        #[arg(long)]
        after: Option<String>,
        /// Page size, 1 to 1000.
        #[arg(long)]
        limit: Option<usize>,
    },
    /// Show an enabled schedule.
    Show {
        /// The schedule's id.
        id: String,
    },
    /// Pause a schedule: it does not fire until it is resumed.
    Pause {
        /// The schedule's id.
        id: String,
    },
    /// Resume a paused schedule.
    Resume {
        /// The schedule's id.
        id: String,
    },
    /// Start an occurrence of a schedule now.
    Start {
        /// The schedule's id.
        id: String,
    },
    /// Delete an enabled schedule with its occurrences.
    Delete {
        /// The schedule's id.
        id: String,
    },
    /// List the occurrences of a schedule, latest first.
    History {
        /// The schedule's id.
        id: String,
        /// The cursor: `next` of the previous page.
        #[arg(long)]
        after: Option<String>,
        /// Page size, 1 to 1000.
        #[arg(long)]
        limit: Option<usize>,
    },
    /// Show the new, unchanged and resolved findings of an occurrence.
    Report {
        /// The schedule's id.
        id: String,
        /// The occurrence's key; the latest one with a report by default.
        #[arg(default_value = LATEST)]
        occurrence: String,
        /// Write the report as Markdown.
        #[arg(long)]
        markdown: bool,
    },
}

pub(crate) async fn run(command: &Schedule, config: &Config, format: Format) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let found = send(command, &client).await;
    let shown = if let Schedule::Report {
        id, markdown: true, ..
    } = command
    {
        client.get(&path(id)).await.map(Some)
    } else {
        Ok(None)
    };
    client.close().await?;
    let found = found?;
    if let Some(schedule) = shown? {
        output::line(markdown(&schedule, &found)?.trim_end())?;
        return Ok(EXIT_OK);
    }
    output::print(format, &found, |found| table(command, found))?;
    if found.get("secret").is_some() {
        messages::note("Save the secret now: it is not shown again.");
    }
    Ok(EXIT_OK)
}

async fn send(command: &Schedule, client: &Client) -> anyhow::Result<Value> {
    let act = |id: &str, action: &str| format!("{}/{action}", path(id));
    match command {
        Schedule::Enable { id, file } => {
            let body = match file {
                Some(file) => json!({"schedule": document(file)?}),
                None => json!({"schedule_id": id}),
            };
            client.post("/v1/schedules", Some(&body)).await
        }
        Schedule::List { after, limit } => {
            let asked = page(after.as_deref(), *limit);
            client.get(&format!("/v1/schedules{asked}")).await
        }
        Schedule::Show { id } => client.get(&path(id)).await,
        Schedule::Pause { id } => client.post(&act(id, "pause"), None).await,
        Schedule::Resume { id } => client.post(&act(id, "resume"), None).await,
        Schedule::Start { id } => client.post(&act(id, "start"), None).await,
        Schedule::Delete { id } => client.delete(&path(id)).await,
        Schedule::History { id, after, limit } => {
            let asked = page(after.as_deref(), *limit);
            client
                .get(&format!("{}{asked}", act(id, "occurrences")))
                .await
        }
        Schedule::Report { id, occurrence, .. } => {
            let action = format!("occurrences/{}", encoded(occurrence));
            client.get(&act(id, &action)).await
        }
    }
}

fn path(id: &str) -> String {
    format!("/v1/schedules/{}", encoded(id))
}

fn page(after: Option<&str>, limit: Option<usize>) -> String {
    let limit = limit.map(|limit| limit.to_string());
    query(&[("after", after), ("limit", limit.as_deref())])
}

fn markdown(schedule: &Value, occurrence: &Value) -> anyhow::Result<String> {
    let report = ScheduleReport::deserialize(&occurrence["report"])
        .context("the occurrence has no report")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(report.to_markdown(&text(&schedule["title"]), &text(&occurrence["due_at"])))
}

fn table(command: &Schedule, found: &Value) -> String {
    match command {
        Schedule::List { .. } => output::rows(
            &found["entries"],
            &["schedule_id", "state", "user", "next_at", "title"],
        ),
        Schedule::History { .. } => output::rows(
            &found["entries"],
            &[
                "occurrence",
                "state",
                "report.new",
                "report.unchanged",
                "report.resolved",
                "note",
            ],
        ),
        Schedule::Report { .. } => output::rows(
            &found["report"]["items"],
            &[
                "change",
                "severity",
                "resource_type",
                "resource_id",
                "rule_id",
                "report_item_id",
            ],
        ),
        Schedule::Enable { .. }
        | Schedule::Show { .. }
        | Schedule::Pause { .. }
        | Schedule::Resume { .. }
        | Schedule::Start { .. }
        | Schedule::Delete { .. } => output::fields(found),
    }
}
