//! `charter approvals …`

use std::path::Path;

use charter_contract::json::decode_stored;
use clap::Subcommand;
use serde_json::{Value, json};

use super::{encoded, query, runs};
use crate::client::Client;
use crate::config::Config;
use crate::failure::EXIT_OK;
use crate::output::{self, Format};

/// List approvals, and decide on them.
#[derive(Debug, Subcommand)]
pub(crate) enum Approvals {
    /// List approvals, newest first; by default, those without a decision, and the plans to confirm.
    List {
        /// The state: `pending`, `approved`, `rejected`, `consumed` or `lapsed`.
        #[arg(long, default_value = "pending")]
        state: String,
        /// Only approvals of this run.
        #[arg(long, value_name = "ID")]
        run: Option<String>,
        /// The cursor: `next` of the previous page.
        #[arg(long)]
        after: Option<String>,
    },
    /// Show an approval with the exact call that it is for.
    Show {
        /// The approval's id.
        id: String,
    },
    /// Approve exactly the call, or the list of calls, that you saw.
    Approve {
        /// The approval's id.
        id: String,
        /// The digest of the call, or of the list, that you saw.
        #[arg(long)]
        digest: String,
        /// A step whose call is excluded from the list; may be repeated.
        #[arg(long, value_name = "STEP")]
        exclude: Vec<String>,
        /// The number of calls that you approve; required for a list of a destructive playbook.
        #[arg(long, value_name = "NUMBER")]
        count: Option<u64>,
        /// The reason.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Report that the call has already happened: its step succeeds, and the tool is not called again.
    Report {
        /// The approval's id.
        id: String,
        /// The digest of the call that you saw.
        #[arg(long)]
        digest: String,
        /// How you know that it happened.
        #[arg(long)]
        reason: Option<String>,
        /// The tool's result: JSON, or a file that holds it. Omit it if the result is unknown.
        #[arg(long, value_name = "JSON|FILE")]
        result: Option<String>,
    },
    /// Reject the call; its step fails.
    Reject {
        /// The approval's id.
        id: String,
        /// The digest of the call that you saw.
        #[arg(long)]
        digest: String,
        /// The reason.
        #[arg(long)]
        reason: Option<String>,
    },
}

pub(crate) async fn run(
    command: &Approvals,
    config: &Config,
    format: Format,
) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let found = send(command, &client).await;
    client.close().await?;
    output::print(format, &found?, |found| match command {
        Approvals::List { .. } => output::rows(
            &queue(found),
            &[
                "approval_id",
                "state",
                "call.tool",
                "call.run_id",
                "requested_by",
                "expires_at",
            ],
        ),
        Approvals::Show { .. } => output::fields(found),
        Approvals::Approve { .. } | Approvals::Report { .. } | Approvals::Reject { .. } => {
            runs::table(found)
        }
    })?;
    Ok(EXIT_OK)
}

async fn send(command: &Approvals, client: &Client) -> anyhow::Result<Value> {
    let mut output = None;
    let mut choice = json!({});
    let (id, what, digest, reason) = match command {
        Approvals::List { state, run, after } => {
            let asked = [
                ("state", Some(state.as_str())),
                ("run_id", run.as_deref()),
                ("after", after.as_deref()),
            ];
            let mut found = client
                .get(&format!("/v1/approvals{}", query(&asked)))
                .await?;
            if state == "pending" && run.is_none() && after.is_none() {
                let runs = client.get("/v1/runs?status=awaiting_confirmation").await?;
                found["confirmations"] = runs["entries"].clone();
            }
            return Ok(found);
        }
        Approvals::Show { id } => {
            return client.get(&format!("/v1/approvals/{}", encoded(id))).await;
        }
        Approvals::Approve {
            id,
            digest,
            exclude,
            count,
            reason,
        } => {
            choice = json!({"exclude": exclude, "count": count});
            (id, "approve", digest, reason)
        }
        Approvals::Reject { id, digest, reason } => (id, "reject", digest, reason),
        Approvals::Report {
            id,
            digest,
            reason,
            result,
        } => {
            output = result.as_deref().map(value).transpose()?;
            (id, "report", digest, reason)
        }
    };
    let path = format!("/v1/approvals/{}/{what}", encoded(id));
    let mut body = json!({"digest": digest, "reason": reason});
    if let Some(output) = output {
        body["output"] = output;
    }
    for (field, value) in choice.as_object().into_iter().flatten() {
        body[field.as_str()] = value.clone();
    }
    let decided = client.post(&path, Some(&body)).await?;
    let run = decided["call"]["run_id"].as_str().unwrap_or_default();
    runs::follow_run(client, run).await
}

/// Returns the decisions that wait, as rows: the approvals, then the plans to confirm.
fn queue(found: &Value) -> Value {
    let approvals = found["entries"].as_array().into_iter().flatten().cloned();
    let runs = found["confirmations"].as_array().into_iter().flatten();
    let confirmations = runs.map(|run| {
        json!({
            "approval_id": format!("charter runs confirm {}", run["run_id"].as_str().unwrap_or_default()),
            "state": run["status"],
            "call": {"tool": run["title"], "run_id": run["run_id"]},
        })
    });
    approvals.chain(confirmations).collect()
}

/// Reads JSON, either from the argument itself or from the file that it names.
fn value(given: &str) -> anyhow::Result<Value> {
    match decode_stored(given) {
        Ok(value) => Ok(value),
        Err(_) => runs::document(Path::new(given)),
    }
}
