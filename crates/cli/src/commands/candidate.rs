//! `charter candidate …`

use clap::Subcommand;
use serde_json::json;

use super::encoded;
use crate::client::Client;
use crate::config::Config;
use crate::failure::EXIT_OK;
use crate::output::{self, Format};

/// Promote skills and playbooks that were generated on a miss.
#[derive(Debug, Subcommand)]
pub(crate) enum Candidate {
    /// Make a candidate an ordinary skill or playbook, after a run of exactly this version has succeeded.
    Promote {
        /// The candidate's id.
        id: String,
        /// The run that succeeded.
        #[arg(long, value_name = "ID")]
        run: String,
    },
}

pub(crate) async fn run(
    command: &Candidate,
    config: &Config,
    format: Format,
) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let Candidate::Promote { id, run } = command;
    let path = format!("/v1/candidates/{}/promote", encoded(id));
    let promoted = client.post(&path, Some(&json!({"run_id": run}))).await;
    client.close().await?;
    output::print(format, &promoted?, output::fields)?;
    Ok(EXIT_OK)
}
