//! `charter migrate`

use anyhow::Context;
use charter_store_sql::StoreLayout;
use charter_store_sql::postgres::{self, examine};
use charter_store_sql::sqlite;
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
    let mut after = before.found.clone();
    if !command.check {
        OpenStore::open(config).await?.close().await?;
        after = Layout::read(config).await?.found;
    }
    let report = json!({
        "store": before.place, "pending": before.pending, "schema_version": after.version,
        "oldest_reader": after.oldest_reader, "newest": before.newest,
    });
    output::print(format, &report, output::fields)?;
    let opens = before.found.opens_in(before.newest);
    Ok(if command.check && (before.pending > 0 || !opens) {
        EXIT_NEGATIVE
    } else {
        EXIT_OK
    })
}

/// How a store's layout compares with this version's.
struct Layout {
    place: String,
    found: StoreLayout,
    newest: u32,
    pending: usize,
}

impl Layout {
    async fn read(config: &Config) -> anyhow::Result<Self> {
        if let Some(options) = boot::postgres(config) {
            let examined = examine(&options).await.context("reading the database")?;
            let newest = postgres::newest_schema_version();
            let pending = newest.saturating_sub(examined.layout.version);
            return Ok(Self {
                place: examined.place,
                found: examined.layout,
                newest,
                pending: usize::try_from(pending)?,
            });
        }
        let (data, reading) = (&config.data_dir, "reading the data directory");
        Ok(Self {
            place: data.display().to_string(),
            found: sqlite::layout(data).context(reading)?,
            newest: sqlite::newest_schema_version(),
            pending: sqlite::migrations_pending(data).context(reading)?.len(),
        })
    }
}
