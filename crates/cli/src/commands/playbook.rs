//! `charter playbook …`

use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::{encoded, runs};
use crate::client::Client;
use crate::config::Config;
use crate::output::{self, Format};

/// Run playbooks.
#[derive(Debug, Subcommand)]
pub(crate) enum Playbook {
    /// Start a run; it asks for missing parameters, shows its plan and waits for a confirmation.
    ///
    /// Exit code 3 if it waits for a person.
    Run {
        /// The playbook's id.
        id: String,
        /// A value for a parameter: NAME=VALUE, as JSON if it is valid JSON.
        #[arg(long = "param", short = 'p', value_name = "NAME=VALUE", value_parser = super::parameter)]
        parameters: Vec<(String, Value)>,
        /// Show what it would do, and change nothing.
        #[arg(long)]
        dry_run: bool,
        /// The request whose answer offered the playbook; its sentence is suggested as a route example.
        #[arg(long, value_name = "ID")]
        request: Option<String>,
    },
}

pub(crate) async fn run(command: &Playbook, config: &Config, format: Format) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let found = start(command, &client).await;
    client.close().await?;
    let found = found?;
    output::print(format, &found, runs::table)?;
    runs::code_of(&found)
}

async fn start(command: &Playbook, client: &Client) -> anyhow::Result<Value> {
    let Playbook::Run {
        id,
        parameters,
        dry_run,
        request,
    } = command;
    let parameters: Map<String, Value> = parameters.iter().cloned().collect();
    let mut body = json!({"parameters": parameters, "dry_run": dry_run});
    if let Some(request) = request {
        body["request_id"] = json!(request);
    }
    let path = format!("/v1/playbooks/{}/runs", encoded(id));
    let started = client.post(&path, Some(&body)).await?;
    runs::follow_run(client, started["run_id"].as_str().unwrap_or_default()).await
}
