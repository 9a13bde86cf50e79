//! `charter mission watch`

use std::time::Duration;

use charter_contract::ids::ApprovalId;
use charter_contract::run_status::RunStatus;
use charter_domain::mission::ProposalState;
use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::{code_of, path, show};
use crate::client::{Client, StreamEvent};
use crate::commands::read_field;
use crate::output::{self, Format};

/// Time between two queries of a mission whose proposals a playbook executes.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Follow a mission until it ends or waits for a person.
///
/// Prints its journal as it is written, with --output json one event on each line. The exit code is 0 when the mission
/// is completed or waits for a person, else 1.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// The mission's id.
    id: String,
    /// Only events after the one with this number.
    #[arg(long, value_name = "EVENT")]
    after: Option<u64>,
}

pub(super) async fn run(command: &Watch, client: &Client, format: Format) -> anyhow::Result<u8> {
    let after = command.after.unwrap_or_default();
    let mission = until_still(client, &command.id, |event| {
        let old = event.data["sequence"].as_u64() <= Some(after);
        if old {
            Ok(())
        } else {
            print_event(event, format)
        }
    });
    let mission = mission.await?;
    match format {
        Format::Table => output::print(format, &mission, show::mission)?,
        Format::Json | Format::Yaml => {}
    }
    code_of(&mission)
}

/// Reports the events of a mission until it ends or waits for a person; then returns the mission.
pub(super) async fn until_still(
    client: &Client,
    mission: &str,
    mut each: impl FnMut(&StreamEvent<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<Value> {
    let mut seen = 0;
    loop {
        let shown = client.get(&path(mission, "")).await?;
        let written = shown["events"].as_u64().unwrap_or_default();
        if is_still(&shown)? && seen >= written {
            return Ok(shown);
        }
        let stream = path(mission, &format!("/events?after={seen}"));
        let told = client.watch_while(&stream, |event| {
            each(event)?;
            seen = event.data["sequence"].as_u64().unwrap_or(seen);
            let status: RunStatus = read_field(&event.data, "status")?;
            Ok(status.is_active() || seen < written)
        });
        tokio::select! {
            told = told => told?,
            waits = waits_in_a_playbook(client, mission, written) => waits?,
        }
    }
}

/// Whether a mission no longer advances on its own: it has ended, is paused, or every open proposal waits for a person,
/// possibly in the playbook that executes it.
fn is_still(mission: &Value) -> anyhow::Result<bool> {
    let status: RunStatus = read_field(mission, "status")?;
    let proposals: Vec<Proposal> = read_field(mission, "proposals")?;
    let mut open = proposals.iter().filter(|proposal| proposal.is_open());
    let some = open.clone().next().is_some();
    let all_ask = open.all(|proposal| proposal.approval_id.is_some());
    Ok(match status {
        RunStatus::AwaitingApproval => all_ask,
        RunStatus::Working => some && all_ask,
        RunStatus::Stopping | RunStatus::RollingBack => false,
        RunStatus::AwaitingParameters
        | RunStatus::AwaitingConfirmation
        | RunStatus::Paused
        | RunStatus::Completed
        | RunStatus::Incomplete
        | RunStatus::Failed
        | RunStatus::Aborted
        | RunStatus::Rejected
        | RunStatus::Denied
        | RunStatus::BudgetExceeded
        | RunStatus::RolledBack
        | RunStatus::RollbackFailed => true,
    })
}

/// The fields of a mission's proposal that show whether it waits for a person.
#[derive(Deserialize)]
struct Proposal {
    state: ProposalState,
    approval_id: Option<ApprovalId>,
}

impl Proposal {
    fn is_open(&self) -> bool {
        match self.state {
            ProposalState::Proposed | ProposalState::Approved => true,
            ProposalState::Executed
            | ProposalState::ExecutionFailed
            | ProposalState::Rejected
            | ProposalState::Expired
            | ProposalState::Conflict => false,
        }
    }
}

/// Waits until a mission without new journal entries no longer advances: a playbook's run has its own journal.
async fn waits_in_a_playbook(client: &Client, mission: &str, written: u64) -> anyhow::Result<()> {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let shown = client.get(&path(mission, "")).await?;
        if is_still(&shown)? && shown["events"].as_u64() == Some(written) {
            return Ok(());
        }
    }
}

fn print_event(event: &StreamEvent<'_>, format: Format) -> anyhow::Result<()> {
    let line = match format {
        Format::Table => show::event(&event.data),
        Format::Json | Format::Yaml => event.data.to_string(),
    };
    output::line(&line)
}
