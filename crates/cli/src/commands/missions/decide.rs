//! `charter mission approve` and `reject`: decides on a proposal's approval after showing the exact call.

use std::time::Duration;

use anyhow::bail;
use charter_contract::run_status::RunStatus;
use clap::Args;
use serde_json::{Value, json};

use super::{path, show, text, watch};
use crate::client::Client;
use crate::commands::{encoded, read_field};
use crate::failure::EXIT_OK;
use crate::messages;
use crate::output::{self, Format};

/// Time between two queries of an approval that is being used.
const POLL_INTERVAL: Duration = Duration::from_millis(150);

/// Approve a proposal: shows the exact call and its digest, and approves exactly that.
///
/// Then follows the mission until it ends or waits for a person again.
#[derive(Debug, Args)]
pub(crate) struct Approve {
    #[command(flatten)]
    which: ProposalSelection,
    /// Approve only if this is the digest of the call.
    #[arg(long, conflicts_with = "all")]
    digest: Option<String>,
    /// The reason.
    #[arg(long)]
    reason: Option<String>,
}

/// Reject a proposal: it is not executed.
#[derive(Debug, Args)]
pub(crate) struct Reject {
    #[command(flatten)]
    which: ProposalSelection,
    /// The reason.
    #[arg(long)]
    reason: Option<String>,
}

/// The selected proposals.
#[derive(Debug, Args)]
struct ProposalSelection {
    /// The mission's id.
    id: String,
    /// The proposal's id.
    #[arg(required_unless_present = "all")]
    proposal: Option<String>,
    /// Decide on every proposal that waits for a person.
    #[arg(long, conflicts_with = "proposal")]
    all: bool,
}

pub(super) async fn approve(
    command: &Approve,
    client: &Client,
    format: Format,
) -> anyhow::Result<u8> {
    let waiting = waiting(&command.which, client).await?;
    if let (Some(wanted), [approval]) = (&command.digest, waiting.as_slice())
        && text(approval, "digest") != *wanted
    {
        bail!(
            "the call has changed: its digest is {}",
            text(approval, "digest")
        );
    }
    decide(
        &command.which,
        &waiting,
        "approve",
        &command.reason,
        client,
        format,
    )
    .await
}

pub(super) async fn reject(
    command: &Reject,
    client: &Client,
    format: Format,
) -> anyhow::Result<u8> {
    let waiting = waiting(&command.which, client).await?;
    decide(
        &command.which,
        &waiting,
        "reject",
        &command.reason,
        client,
        format,
    )
    .await
}

/// The selected approvals, each with its call.
async fn waiting(which: &ProposalSelection, client: &Client) -> anyhow::Result<Vec<Value>> {
    let mission = client.get(&path(&which.id, "")).await?;
    let proposals = mission["proposals"].as_array().into_iter().flatten();
    let mut approvals = Vec::new();
    for shown in proposals {
        let id = text(&shown["proposal"], "proposal_id");
        let meant = which.proposal.as_ref().is_none_or(|wanted| *wanted == id);
        match shown["approval_id"].as_str() {
            Some(approval) if meant => {
                let path = format!("/v1/approvals/{}", encoded(approval));
                approvals.push(client.get(&path).await?);
            }
            _ if which.proposal.as_ref() == Some(&id) => {
                bail!(
                    "the proposal {id} does not wait for a decision: it is {}",
                    text(shown, "state")
                );
            }
            _ => {}
        }
    }
    match &which.proposal {
        Some(wanted) if approvals.is_empty() => {
            let proposals = mission["proposals"].as_array().into_iter().flatten();
            let ids = proposals.map(|shown| text(&shown["proposal"], "proposal_id"));
            let ids = ids.collect::<Vec<_>>().join(", ");
            let there = match ids.as_str() {
                "" => String::new(),
                ids => format!("; it has {ids}"),
            };
            bail!("the mission {} has no proposal {wanted}{there}", which.id)
        }
        _ => Ok(approvals),
    }
}

async fn decide(
    which: &ProposalSelection,
    waiting: &[Value],
    word: &str,
    reason: &Option<String>,
    client: &Client,
    format: Format,
) -> anyhow::Result<u8> {
    for approval in waiting {
        messages::note_facts("the call to decide on", show::call(approval));
        let approval_id = encoded(&text(approval, "approval_id"));
        let body = json!({"digest": approval["digest"], "reason": reason});
        let path = format!("/v1/approvals/{approval_id}/{word}");
        client.post(&path, Some(&body)).await?;
    }
    wait_until_processed(&which.id, waiting, client).await?;
    let mission = watch::until_still(client, &which.id, |_| Ok(())).await?;
    output::print(format, &mission, show::mission)?;
    Ok(EXIT_OK)
}

/// Waits until the mission has processed the decisions.
async fn wait_until_processed(
    mission: &str,
    decided: &[Value],
    client: &Client,
) -> anyhow::Result<()> {
    let decided: Vec<&Value> = decided.iter().map(|one| &one["approval_id"]).collect();
    loop {
        let shown = client.get(&path(mission, "")).await?;
        let mut proposals = shown["proposals"].as_array().into_iter().flatten();
        let waits = proposals.any(|proposal| decided.contains(&&proposal["approval_id"]));
        // A paused mission processes them after it is resumed.
        let status: RunStatus = read_field(&shown, "status")?;
        if !waits || status == RunStatus::Paused {
            return Ok(());
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
