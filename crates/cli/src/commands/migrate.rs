//! `charter migrate`

use anyhow::Context;
use charter_store_sql::sqlite::{migrations_pending, newest_schema_version, schema_version};
use clap::Args;
use serde_json::json;

use crate::boot;
use crate::config::Config;
use crate::failure::{EXIT_NEGATIVE, EXIT_OK};
use crate::output::{self, Format};

/// Bring the data directory to this version's layout.
#[derive(Debug, Args)]
pub(crate) struct Migrate {
    /// Only say what would be done; exit 1 when something would.
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(command: &Migrate, config: &Config, format: Format) -> anyhow::Result<u8> {
    let pending = migrations_pending(&config.data_dir).context("reading the data directory")?;
    if !command.check {
        boot::open_store(config)?;
    }
    let report = json!({
        "data_dir": config.data_dir, "pending": pending.len(),
        "schema_version": schema_version(&config.data_dir).context("reading the data directory")?,
        "newest": newest_schema_version(),
    });
    output::print(format, &report, output::fields)?;
    Ok(if command.check && !pending.is_empty() {
        EXIT_NEGATIVE
    } else {
        EXIT_OK
    })
}
