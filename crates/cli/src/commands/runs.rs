//! `charter runs …`

mod start;

use std::time::Duration;

use charter_contract::run_status::RunStatus;
use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::{encoded, query, read_field};
use crate::client::Client;
use crate::config::Config;
use crate::failure::{EXIT_NEGATIVE, EXIT_OK, EXIT_WAITING};
use crate::messages;
use crate::output::{self, Format};

pub(super) use start::document;

/// Time between two queries of an active run.
const POLL_INTERVAL: Duration = Duration::from_millis(150);

/// Start, show and control runs of plans.
///
/// Commands that change a run follow it, and end with exit code 3 if it waits for parameters, a confirmation or an
/// approval.
#[derive(Debug, Subcommand)]
pub(crate) enum Runs {
    /// Run an execution plan, a pipeline or a decision tree from a file.
    Start(start::Start),
    /// List runs, newest first.
    List {
        /// Only runs with this status, e.g. `awaiting_approval`; `open` for unfinished runs, `ended` for the others.
        #[arg(long)]
        status: Option<String>,
        /// Only runs of this origin: `skill`, `playbook`, `plan`, `mission`, `rollback` or `analysis`.
        #[arg(long)]
        origin: Option<String>,
        /// Only runs whose titles contain this text, regardless of case.
        #[arg(long)]
        title: Option<String>,
        /// Only runs created at this time or later.
        #[arg(long, value_name = "TIME")]
        from: Option<String>,
        /// Only runs created before this time.
        #[arg(long, value_name = "TIME")]
        until: Option<String>,
        /// The cursor: `next` of the previous page.
        #[arg(long)]
        after: Option<String>,
    },
    /// Show a run with its plan and journal, or its state after an event of its journal.
    Show {
        /// The run's id.
        id: String,
        /// The event's position in the journal, from 1.
        #[arg(long, value_name = "SEQUENCE")]
        at: Option<u64>,
    },
    /// Replay a run's journal without any effect; exit code 1 when it diverges.
    Replay {
        /// The run's id.
        id: String,
    },
    /// Set parameters of a run that has not started.
    Set {
        /// The run's id.
        id: String,
        /// The values: NAME=VALUE, as JSON if it is valid JSON.
        #[arg(required = true, value_name = "NAME=VALUE", value_parser = super::parameter)]
        parameters: Vec<(String, Value)>,
    },
    /// Confirm the plan of a run, which then starts.
    Confirm {
        /// The run's id.
        id: String,
        /// The digest of the plan that you saw.
        #[arg(long)]
        digest: String,
        /// The text that must be typed for a destructive playbook.
        #[arg(long)]
        typed: Option<String>,
    },
    /// Pause a run: no new step starts.
    Pause {
        /// The run's id.
        id: String,
    },
    /// Resume a paused run.
    Resume {
        /// The run's id.
        id: String,
    },
    /// End a run early.
    Abort {
        /// The run's id.
        id: String,
        /// The reason.
        #[arg(long)]
        reason: Option<String>,
        /// Roll back the completed writes.
        #[arg(long)]
        roll_back: bool,
    },
    /// Roll back the writes of a run that has ended, in a new run.
    Rollback {
        /// The run's id.
        id: String,
    },
}

pub(crate) async fn run(command: &Runs, config: &Config, format: Format) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let found = send(command, &client).await;
    client.close().await?;
    let found = found?;
    output::print(format, &found, |found| match command {
        Runs::List { .. } => output::rows(
            &found["entries"],
            &["run_id", "title", "status", "version", "created_at"],
        ),
        Runs::Replay { .. } => output::fields(found),
        _ => table(found),
    })?;
    match command {
        Runs::Replay { .. } if !found["divergence"].is_null() => Ok(EXIT_NEGATIVE),
        Runs::Replay { .. } | Runs::List { .. } | Runs::Show { .. } => Ok(EXIT_OK),
        Runs::Start(_)
        | Runs::Set { .. }
        | Runs::Confirm { .. }
        | Runs::Pause { .. }
        | Runs::Resume { .. }
        | Runs::Abort { .. }
        | Runs::Rollback { .. } => code_of(&found),
    }
}

/// The exit code for a run that no longer advances on its own: whether it waits for a person's answer.
pub(super) fn code_of(run: &Value) -> anyhow::Result<u8> {
    let status: RunStatus = read_field(run, "status")?;
    Ok(match status.awaits_answer() {
        true => EXIT_WAITING,
        false => EXIT_OK,
    })
}

async fn send(command: &Runs, client: &Client) -> anyhow::Result<Value> {
    let path = |id: &str, what: &str| format!("/v1/runs/{}{what}", encoded(id));
    let (id, what, body) = match command {
        Runs::Start(command) => {
            let started = client.post("/v1/runs", Some(&command.body()?)).await?;
            return follow_run(client, started["run_id"].as_str().unwrap_or_default()).await;
        }
        Runs::List {
            status,
            origin,
            title,
            from,
            until,
            after,
        } => {
            let asked = [
                ("status", status.as_deref()),
                ("origin", origin.as_deref()),
                ("title", title.as_deref()),
                ("created_from", from.as_deref()),
                ("created_until", until.as_deref()),
                ("after", after.as_deref()),
            ];
            return client.get(&format!("/v1/runs{}", query(&asked))).await;
        }
        Runs::Show { id, at: None } => return client.get(&path(id, "")).await,
        Runs::Show { id, at: Some(at) } => {
            return client.get(&path(id, &format!("/at/{at}"))).await;
        }
        Runs::Replay { id } => return client.get(&path(id, "/replay")).await,
        Runs::Set { id, parameters } => {
            let parameters: Map<String, Value> = parameters.iter().cloned().collect();
            (id, "/parameters", json!({"parameters": parameters}))
        }
        Runs::Confirm { id, digest, typed } => {
            (id, "/confirm", json!({"digest": digest, "typed": typed}))
        }
        Runs::Rollback { id } => {
            let started = client.post(&path(id, "/rollback"), None).await?;
            return follow_run(client, started["run_id"].as_str().unwrap_or_default()).await;
        }
        Runs::Pause { id } => (id, "/pause", json!({})),
        Runs::Resume { id } => (id, "/resume", json!({})),
        Runs::Abort {
            id,
            reason,
            roll_back,
        } => (
            id,
            "/abort",
            json!({"reason": reason, "roll_back": roll_back}),
        ),
    };
    client.post(&path(id, what), Some(&body)).await?;
    follow_run(client, id).await
}

/// Returns the run as soon as it no longer advances on its own.
pub(super) async fn follow_run(client: &Client, run: &str) -> anyhow::Result<Value> {
    loop {
        let shown = client.get(&format!("/v1/runs/{}", encoded(run))).await?;
        let status: RunStatus = read_field(&shown, "status")?;
        if !status.is_active() {
            let notes = shown["notes"].as_array().into_iter().flatten();
            for note in notes.filter_map(Value::as_str) {
                messages::note(&format!("note: {note}"));
            }
            let unproven = shown["unproven"].as_array().into_iter().flatten();
            for tool in unproven.filter_map(Value::as_str) {
                messages::note(&format!(
                    "note: no page shows the result of {tool}, so it left no evidence"
                ));
            }
            return Ok(shown);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// A run as a table: its status, plan and journal. The state after an event has no title and no journal.
pub(super) fn table(run: &Value) -> String {
    let text = |field: &str| run[field].as_str().unwrap_or_default().to_owned();
    let what = match &run["sequence"] {
        Value::Number(sequence) => format!("after event {sequence} ({})", text("at")),
        _ => text("title"),
    };
    let mut lines = vec![
        format!(
            "{} {what}: {}",
            text("run_id"),
            text("status").replace('_', " ")
        ),
        format!("plan {}", text("plan_digest")),
    ];
    if let Some(missing) = run["missing"].as_array().filter(|names| !names.is_empty()) {
        lines.push(format!("it needs {}", Value::from(missing.clone())));
    }
    if let Some(reason) = run["awaited_run"]["reason"].as_str() {
        lines.push(reason.to_owned());
    }
    let columns = ["step", "tool", "writes", "reverses", "state"];
    lines.push(output::rows(&run["steps"], &columns));
    let hints = run["approach_hints"].as_array().into_iter().flatten();
    let hints: Vec<String> = hints
        .filter_map(Value::as_str)
        .map(|hint| format!("hint: {hint}"))
        .collect();
    if !hints.is_empty() {
        lines.push(hints.join("\n"));
    }
    if run["approvals"]
        .as_array()
        .is_some_and(|open| !open.is_empty())
    {
        lines.push(output::rows(
            &run["approvals"],
            &["approval_id", "state", "call.tool", "digest", "expires_at"],
        ));
    }
    if run["events"].is_array() {
        lines.push(output::rows(
            &run["events"],
            &[
                "sequence",
                "at",
                "event",
                "step",
                "policy_decision.verdict",
                "duration_ms",
            ],
        ));
    }
    lines.join("\n\n")
}
