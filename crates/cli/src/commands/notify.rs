//! `charter notify …`

use clap::Subcommand;
use serde_json::Value;

use super::{encoded, query};
use crate::client::Client;
use crate::config::Config;
use crate::failure::{EXIT_NEGATIVE, EXIT_OK};
use crate::output::{self, Format};

/// List channels and what was sent to them, and test a channel.
#[derive(Debug, Subcommand)]
pub(crate) enum Notify {
    /// List the channels, with the topics that rules send to them.
    Channels,
    /// List notifications, newest first: sent, waiting and failed.
    List {
        /// The state: `pending`, `delivered`, `skipped` or `failed`; all by default.
        #[arg(long)]
        state: Option<String>,
        /// Only notifications of this channel.
        #[arg(long, value_name = "NAME")]
        channel: Option<String>,
        /// The cursor: `next` of the previous page.
        #[arg(long)]
        after: Option<String>,
    },
    /// Send a test message to a channel at once. Exit 0 when the channel accepted it, 1 when it did not.
    Test {
        /// The channel's name in the configuration.
        channel: String,
    },
}

pub(crate) async fn run(command: &Notify, config: &Config, format: Format) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let found = send(command, &client).await;
    client.close().await?;
    let found = found?;
    output::print(format, &found, |found| match command {
        Notify::Channels => output::rows(found, &["channel", "kind", "topics", "deciders"]),
        Notify::List { .. } => output::rows(
            &found["entries"],
            &[
                "created_at",
                "channel",
                "topic",
                "state",
                "attempts",
                "detail",
            ],
        ),
        Notify::Test { .. } => output::fields(found),
    })?;
    let refused = matches!(command, Notify::Test { .. }) && found["accepted"] != true;
    Ok(if refused { EXIT_NEGATIVE } else { EXIT_OK })
}

async fn send(command: &Notify, client: &Client) -> anyhow::Result<Value> {
    match command {
        Notify::Channels => client.get("/v1/notifications/channels").await,
        Notify::List {
            state,
            channel,
            after,
        } => {
            let asked = [
                ("state", state.as_deref()),
                ("channel", channel.as_deref()),
                ("after", after.as_deref()),
            ];
            client
                .get(&format!("/v1/notifications{}", query(&asked)))
                .await
        }
        Notify::Test { channel } => {
            let path = format!("/v1/notifications/channels/{}/test", encoded(channel));
            client.post(&path, None).await
        }
    }
}
