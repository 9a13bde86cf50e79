//! `charter events`

use clap::Args;
use serde_json::json;

use super::query;
use crate::client::Client;
use crate::config::Config;
use crate::failure::EXIT_OK;
use crate::output::{self, Format};

/// Show the events of runs and approvals, or follow them.
#[derive(Debug, Args)]
pub(crate) struct Events {
    /// Only events of this topic, e.g. `approval.requested`, or of the topics below it, e.g. `approval`.
    #[arg(long)]
    topic: Option<String>,
    /// Only events after the one with this id.
    #[arg(long, value_name = "ID")]
    after: Option<u64>,
    /// Continue with new events, one line of JSON each, until interrupted.
    #[arg(long)]
    follow: bool,
}

pub(crate) async fn run(events: &Events, config: &Config, format: Format) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let after = events.after.map(|id| id.to_string());
    let asked = [
        ("topic", events.topic.as_deref()),
        ("after", after.as_deref()),
    ];
    let path = format!("/v1/events{}", query(&asked));
    let found = if events.follow {
        client.watch(&path, print_event).await.map(|()| None)
    } else {
        client.get(&path).await.map(Some)
    };
    client.close().await?;
    if let Some(page) = found? {
        output::print(format, &page, |page| {
            output::rows(&page["entries"], &["id", "at", "topic", "data"])
        })?;
    }
    Ok(EXIT_OK)
}

fn print_event(event: &crate::client::StreamEvent<'_>) -> anyhow::Result<()> {
    let line = json!({"id": event.id, "topic": event.name,
        "at": event.data["at"], "data": event.data["data"]});
    output::line(&line.to_string())
}
