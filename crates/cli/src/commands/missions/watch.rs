//! `charter mission watch`

use std::time::Duration;

use clap::Args;
use serde_json::Value;

use super::{code_of, path, show};
use crate::client::{Client, StreamEvent};
use crate::output::{self, Format};

/// Where a run stands while nobody has to do anything.
const ACTIVE_STATUSES: [&str; 3] = ["working", "stopping", "rolling_back"];

/// Time between two looks at a mission whose proposals a playbook carries out.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Follow a mission until it is over or waits for a person.
///
/// Prints its journal as it is written, with --output json an event on each line. The exit code is 0
/// when the mission is completed or waits for a person, else 1.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// Its id.
    id: String,
    /// Only after the event of this number.
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
    Ok(code_of(&mission))
}

/// Tells the events of a mission until it is over or waits for a person; then the mission.
pub(super) async fn until_still(
    client: &Client,
    mission: &str,
    mut each: impl FnMut(&StreamEvent<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<Value> {
    let mut seen = 0;
    loop {
        let shown = client.get(&path(mission, "")).await?;
        let written = shown["events"].as_u64().unwrap_or_default();
        if is_still(&shown) && seen >= written {
            return Ok(shown);
        }
        let stream = path(mission, &format!("/events?after={seen}"));
        let told = client.watch_while(&stream, |event| {
            each(event)?;
            seen = event.data["sequence"].as_u64().unwrap_or(seen);
            let busy = ACTIVE_STATUSES.contains(&event.data["status"].as_str().unwrap_or_default());
            Ok(busy || seen < written)
        });
        tokio::select! {
            told = told => told?,
            waits = waits_in_a_playbook(client, mission, written) => waits?,
        }
    }
}

/// Whether nothing more happens to a mission by itself: it is over, held, or every proposal that is open
/// waits for a person, be it in the playbook that carries it out.
fn is_still(mission: &Value) -> bool {
    let status = mission["status"].as_str().unwrap_or_default();
    let proposals = mission["proposals"].as_array().into_iter().flatten();
    let mut open = proposals.filter(|of| of["state"] == "proposed" || of["state"] == "approved");
    let some = open.clone().next().is_some();
    let all_ask = open.all(|proposal| proposal["approval_id"].is_string());
    match status {
        "awaiting_approval" => all_ask,
        "working" => some && all_ask,
        other => !ACTIVE_STATUSES.contains(&other),
    }
}

/// Waits until a mission whose journal says nothing new stands still: a playbook's run has a journal of
/// its own.
async fn waits_in_a_playbook(client: &Client, mission: &str, written: u64) -> anyhow::Result<()> {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let shown = client.get(&path(mission, "")).await?;
        if is_still(&shown) && shown["events"].as_u64() == Some(written) {
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
