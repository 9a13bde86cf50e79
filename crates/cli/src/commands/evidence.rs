//! `charter evidence …`

mod export;
mod verify;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{encoded, query};
use crate::client::Client;
use crate::config::Config;
use crate::failure::EXIT_OK;
use crate::output::{self, Format};

pub(crate) use verify::run as verify;

/// Find, show, export and verify evidence.
#[derive(Debug, Subcommand)]
pub(crate) enum Evidence {
    /// Find records by what they are attached to, type, system and time.
    List {
        #[command(flatten)]
        filter: Filter,
        /// Where the page starts.
        #[arg(long)]
        after: Option<String>,
    },
    /// Show one record.
    Show {
        /// Its id.
        id: String,
    },
    /// Attach a record to one thing more; the record itself stays as it was captured.
    Attach {
        /// The record's id.
        id: String,
        #[command(flatten)]
        to: Target,
    },
    /// Show the public key that signs the evidence log.
    Key,
    /// Show the signed head of the evidence log as it is now.
    Checkpoint,
    Export(export::Export),
    Verify(verify::Verify),
}

/// What a record is attached to: exactly one thing.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Target {
    /// A finding.
    #[arg(long)]
    finding: Option<String>,
    /// A run.
    #[arg(long)]
    run: Option<String>,
    /// A plan.
    #[arg(long)]
    plan: Option<String>,
    /// A bundle.
    #[arg(long)]
    bundle: Option<String>,
    /// An item of a report.
    #[arg(long)]
    report_item: Option<String>,
}

impl Target {
    fn body(&self) -> Value {
        let keys = [
            ("finding_id", &self.finding),
            ("run_id", &self.run),
            ("plan_id", &self.plan),
            ("bundle_id", &self.bundle),
            ("report_item_id", &self.report_item),
        ];
        let given = keys
            .into_iter()
            .filter_map(|(key, id)| Some((key.to_owned(), json!(id.as_ref()?))));
        Value::Object(given.collect())
    }
}

/// Which records. Without any of these: all.
#[derive(Debug, Args)]
pub(crate) struct Filter {
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
}

impl Filter {
    /// As the parameters of a path, with where a page starts.
    fn query(&self, after: Option<&str>) -> String {
        query(&[
            ("finding_id", self.finding.as_deref()),
            ("run_id", self.run.as_deref()),
            ("type", self.kind.as_deref()),
            ("system", self.system.as_deref()),
            ("captured_from", self.from.as_deref()),
            ("captured_until", self.until.as_deref()),
            ("after", after),
        ])
    }
}

pub(crate) async fn run(command: &Evidence, config: &Config, format: Format) -> anyhow::Result<u8> {
    let path = match command {
        Evidence::List { filter, after } => {
            format!("/v1/evidence{}", filter.query(after.as_deref()))
        }
        Evidence::Show { id } => format!("/v1/evidence/{}", encoded(id)),
        Evidence::Attach { id, .. } => format!("/v1/evidence/{}/attachments", encoded(id)),
        Evidence::Key => "/v1/evidence/log/key".to_owned(),
        Evidence::Checkpoint => "/v1/evidence/log/checkpoint".to_owned(),
        Evidence::Export(command) => return export::run(command, config, format).await,
        Evidence::Verify(command) => return verify(command, format),
    };
    let client = Client::connect(config).await?;
    let found = match command {
        Evidence::Attach { to, .. } => client.post(&path, Some(&to.body())).await,
        _ => client.get(&path).await,
    };
    client.close().await?;
    output::print(format, &found?, |found| table(command, found))?;
    Ok(EXIT_OK)
}

fn table(command: &Evidence, found: &Value) -> String {
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    match command {
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
        // As other programs read them.
        Evidence::Key => text("key"),
        Evidence::Checkpoint => text("checkpoint"),
        Evidence::Show { .. }
        | Evidence::Attach { .. }
        | Evidence::Export(_)
        | Evidence::Verify(_) => output::fields(found),
    }
}
