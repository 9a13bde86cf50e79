//! `charter migrate`

use anyhow::Context;
use charter_store_sql::postgres::{self, examine};
use charter_store_sql::sqlite::{migrations_pending, newest_schema_version, schema_version};
use clap::Args;
use serde_json::json;

use crate::boot::{self, OpenStore};
use crate::config::Config;
use crate::failure::{EXIT_NEGATIVE, EXIT_OK};
use crate::output::{self, Format};

/// Migrate the data directory or database to this version's layout.
#[derive(Debug, Args)]
pub(crate) struct Migrate {
    /// Only show the pending migrations; exit 1 when there are any.
    #[arg(long)]
    check: bool,
}

pub(crate) async fn run(command: &Migrate, config: &Config, format: Format) -> anyhow::Result<u8> {
    let before = Layout::read(config).await?;
    let mut after = before.version;
    if !command.check {
        OpenStore::open(config).await?.close().await?;
        after = Layout::read(config).await?.version;
    }
    let report = json!({
        "store": before.place, "pending": before.pending, "schema_version": after,
        "newest": before.newest,
    });
    output::print(format, &report, output::fields)?;
    Ok(if command.check && before.pending > 0 {
        EXIT_NEGATIVE
    } else {
        EXIT_OK
    })
}

/// How far a store's layout is behind this version's.
struct Layout {
    place: String,
    version: u32,
    newest: u32,
    pending: usize,
}

impl Layout {
    async fn read(config: &Config) -> anyhow::Result<Self> {
        if let Some(options) = boot::postgres(config) {
            let examined = examine(&options).await.context("reading the database")?;
            let newest = postgres::newest_schema_version();
            return Ok(Self {
                place: examined.place,
                version: examined.schema_version,
                newest,
                pending: usize::try_from(newest.saturating_sub(examined.schema_version))?,
            });
        }
        let reading = "reading the data directory";
        Ok(Self {
            place: config.data_dir.display().to_string(),
            version: schema_version(&config.data_dir).context(reading)?,
            newest: newest_schema_version(),
            pending: migrations_pending(&config.data_dir).context(reading)?.len(),
        })
    }
}
