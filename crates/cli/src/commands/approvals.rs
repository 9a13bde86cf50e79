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

/// See what waits for a person, and decide.
#[derive(Debug, Subcommand)]
pub(crate) enum Approvals {
    /// List approvals, newest first; those that nobody has decided on unless another state is asked.
    List {
        /// `pending`, `approved`, `rejected`, `consumed` or `lapsed`.
        #[arg(long, default_value = "pending")]
        state: String,
        /// Only of this run.
        #[arg(long, value_name = "ID")]
        run: Option<String>,
        /// Where the page starts: `next` of the page before.
        #[arg(long)]
        after: Option<String>,
    },
    /// Show an approval with the exact call that it is for.
    Show {
        /// Its id.
        id: String,
    },
    /// Approve exactly the call that you saw.
    Approve {
        /// Its id.
        id: String,
        /// The digest of the call that you saw.
        #[arg(long)]
        digest: String,
        /// Why.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Say that it happened before the run could hear of it: its step succeeds, and is not called again.
    Report {
        /// Its id.
        id: String,
        /// The digest of the call that you saw.
        #[arg(long)]
        digest: String,
        /// How you know.
        #[arg(long)]
        reason: Option<String>,
        /// What the tool would have given: JSON, or a file that holds it. Nothing when nobody knows.
        #[arg(long, value_name = "JSON|FILE")]
        result: Option<String>,
    },
    /// Refuse it; its step fails.
    Reject {
        /// Its id.
        id: String,
        /// The digest of the call that you saw.
        #[arg(long)]
        digest: String,
        /// Why.
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
            &found["entries"],
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
    let (id, what, digest, reason) = match command {
        Approvals::List { state, run, after } => {
            let asked = [
                ("state", Some(state.as_str())),
                ("run_id", run.as_deref()),
                ("after", after.as_deref()),
            ];
            return client.get(&format!("/v1/approvals{}", query(&asked))).await;
        }
        Approvals::Show { id } => {
            return client.get(&format!("/v1/approvals/{}", encoded(id))).await;
        }
        Approvals::Approve { id, digest, reason } => (id, "approve", digest, reason),
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
    let decided = client.post(&path, Some(&body)).await?;
    let run = decided["call"]["run_id"].as_str().unwrap_or_default();
    runs::followed(client, run).await
}

/// A value that is given as JSON, or by the file that holds it.
fn value(given: &str) -> anyhow::Result<Value> {
    match decode_stored(given) {
        Ok(value) => Ok(value),
        Err(_) => runs::document(Path::new(given)),
    }
}
