//! `charter evidence …`

mod export;
mod submit;
mod verify;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{encoded, query};
use crate::client::Client;
use crate::config::Config;
use crate::failure::EXIT_OK;
use crate::output::{self, Format};

pub(crate) use verify::run as verify;

/// Find, show, submit, export and verify evidence.
#[derive(Debug, Subcommand)]
pub(crate) enum Evidence {
    /// List records by what they are attached to, type, system and time.
    List {
        #[command(flatten)]
        filter: Filter,
        /// The cursor: `next` of the previous page.
        #[arg(long)]
        after: Option<String>,
    },
    /// Show one record.
    Show {
        /// The record's id.
        id: String,
    },
    Submit(submit::Submit),
    /// Attach a record to one more target; the record itself stays as it was captured.
    Attach {
        /// The record's id.
        id: String,
        #[command(flatten)]
        to: Target,
    },
    /// Show the public key that signs the evidence log.
    Key,
    /// Show the current signed head of the evidence log.
    Checkpoint,
    Export(export::Export),
    Verify(verify::Verify),
}

/// The target of a record: exactly one.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Target {
    /// A finding's id.
    #[arg(long)]
    finding: Option<String>,
    /// A run's id.
    #[arg(long)]
    run: Option<String>,
    /// A plan's id.
    #[arg(long)]
    plan: Option<String>,
    /// A bundle's id.
    #[arg(long)]
    bundle: Option<String>,
    /// The id of an item of a report.
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

/// Filters of records. Without any of them: all records.
#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// Only records attached to this finding.
    #[arg(long)]
    finding: Option<String>,
    /// Only records attached to this run.
    #[arg(long)]
    run: Option<String>,
    /// Only records of this type.
    #[arg(long = "type")]
    kind: Option<String>,
    /// Only records from this system.
    #[arg(long)]
    system: Option<String>,
    /// Only records captured at this time or later (RFC 3339).
    #[arg(long)]
    from: Option<String>,
    /// Only records captured before this time (RFC 3339).
    #[arg(long)]
    until: Option<String>,
}

impl Filter {
    /// The query parameters of the filters, with the cursor.
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
        Evidence::Submit(command) => return submit::run(command, config, format).await,
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
        // Plain text, as other programs read it.
        Evidence::Key => text("key"),
        Evidence::Checkpoint => text("checkpoint"),
        Evidence::Show { .. }
        | Evidence::Submit(_)
        | Evidence::Attach { .. }
        | Evidence::Export(_)
        | Evidence::Verify(_) => output::fields(found),
    }
}
