//! `charter evidence …`

use clap::Subcommand;

use super::{encoded, query};
use crate::client::Client;
use crate::config::Config;
use crate::failure::EXIT_OK;
use crate::output::{self, Format};

/// Find and show evidence.
#[derive(Debug, Subcommand)]
pub(crate) enum Evidence {
    /// Find records by what they are attached to, type, system and time.
    List {
        /// Attached to this finding.
        #[arg(long)]
        finding: Option<String>,
        /// Attached to this run.
        #[arg(long)]
        run: Option<String>,
        /// Of this type.
        #[arg(long = "type")]
        kind: Option<String>,
        /// From this system.
        #[arg(long)]
        system: Option<String>,
        /// Captured at or after (RFC 3339).
        #[arg(long)]
        from: Option<String>,
        /// Captured before (RFC 3339).
        #[arg(long)]
        until: Option<String>,
        /// Where the page starts.
        #[arg(long)]
        after: Option<String>,
    },
    /// Show one record.
    Show {
        /// Its id.
        id: String,
    },
}

pub(crate) async fn run(command: &Evidence, config: &Config, format: Format) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let found = client.get(&path(command)).await;
    client.close().await?;
    output::print(format, &found?, |found| match command {
        Evidence::List { .. } => output::rows(
            &found["entries"],
            &[
                "id",
                "type",
                "source.system",
                "source.native_id",
                "captured_at",
                "summary",
            ],
        ),
        Evidence::Show { .. } => output::fields(found),
    })?;
    Ok(EXIT_OK)
}

fn path(command: &Evidence) -> String {
    match command {
        Evidence::List {
            finding,
            run,
            kind,
            system,
            from,
            until,
            after,
        } => {
            let query = query(&[
                ("finding_id", finding.as_deref()),
                ("run_id", run.as_deref()),
                ("type", kind.as_deref()),
                ("system", system.as_deref()),
                ("captured_from", from.as_deref()),
                ("captured_until", until.as_deref()),
                ("after", after.as_deref()),
            ]);
            format!("/v1/evidence{query}")
        }
        Evidence::Show { id } => format!("/v1/evidence/{}", encoded(id)),
    }
}
