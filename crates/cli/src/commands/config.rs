//! `charter config …`

use clap::Subcommand;
use serde_json::Value;

use crate::config::Config;
use crate::failure::EXIT_OK;
use crate::output::{self, Format};

/// Show the configuration in force.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show the values in force; secrets are hidden.
    Show,
    /// Show the JSON Schema of the configuration file.
    Schema,
}

pub(crate) fn run(command: &ConfigCommand, config: &Config, format: Format) -> anyhow::Result<u8> {
    let value = match command {
        ConfigCommand::Show => {
            let mut shown = config.clone();
            shown.api_key = shown.api_key.map(|_| "(hidden)".to_owned());
            for url in [&mut shown.store.url, &mut shown.store.standby_url] {
                *url = url.take().map(|_| "(hidden)".to_owned());
            }
            serde_json::to_value(shown)?
        }
        ConfigCommand::Schema => serde_json::to_value(schemars::schema_for!(Config))?,
    };
    let as_json = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
    output::print(format, &value, as_json)?;
    Ok(EXIT_OK)
}
