//! `charter mission watch`

use std::io::Write as _;

use anyhow::Context as _;
use clap::Args;
use serde_json::Value;

use super::{code_of, path, show};
use crate::client::{Client, StreamEvent};
use crate::output::{self, Format};

/// Where a run stands while nobody has to do anything.
const BUSY: [&str; 3] = ["working", "stopping", "rolling_back"];

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
        if old { Ok(()) } else { say(event, format) }
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
        let is_still = !BUSY.contains(&shown["status"].as_str().unwrap_or_default());
        if is_still && seen >= written {
            return Ok(shown);
        }
        let stream = path(mission, &format!("/events?after={seen}"));
        client
            .watch_while(&stream, |event| {
                each(event)?;
                seen = event.data["sequence"].as_u64().unwrap_or(seen);
                let busy = BUSY.contains(&event.data["status"].as_str().unwrap_or_default());
                Ok(busy || seen < written)
            })
            .await?;
    }
}

fn say(event: &StreamEvent<'_>, format: Format) -> anyhow::Result<()> {
    let line = match format {
        Format::Table => show::event(&event.data),
        Format::Json | Format::Yaml => event.data.to_string(),
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .context("writing an event")
}
