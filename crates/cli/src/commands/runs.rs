//! `charter runs …`

use clap::Subcommand;

use super::{encoded, query};
use crate::client::Client;
use crate::config::Config;
use crate::failure::EXIT_OK;
use crate::output::{self, Format};

/// Show runs and their journals.
#[derive(Debug, Subcommand)]
pub(crate) enum Runs {
    /// List runs, newest first.
    List {
        /// Where the page starts: `next` of the page before.
        #[arg(long)]
        after: Option<String>,
    },
    /// Show a run with its journal.
    Show {
        /// Its id.
        id: String,
    },
}

pub(crate) async fn run(command: &Runs, config: &Config, format: Format) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let path = match command {
        Runs::List { after } => format!("/v1/runs{}", query(&[("after", after.as_deref())])),
        Runs::Show { id } => format!("/v1/runs/{}", encoded(id)),
    };
    let found = client.get(&path).await;
    client.close().await?;
    output::print(format, &found?, |found| match command {
        Runs::List { .. } => output::rows(
            &found["entries"],
            &["run_id", "title", "phase", "version", "created_at"],
        ),
        Runs::Show { .. } => {
            let events = output::rows(
                &found["events"],
                &["sequence", "at", "event", "step", "duration_ms", "source"],
            );
            format!(
                "{} {} ({})\n{events}",
                found["run_id"], found["title"], found["phase"]
            )
        }
    })?;
    Ok(EXIT_OK)
}
