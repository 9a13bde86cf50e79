//! `charter model …`

use clap::Subcommand;
use serde_json::json;

use crate::boot;
use crate::config::Config;
use crate::failure::EXIT_OK;
use crate::output::{self, Format};

/// Fetch the embedding model.
#[derive(Debug, Subcommand)]
pub(crate) enum Model {
    /// Fetch the model into the cache, unless it is there, prepare it for use, and print its directory.
    Fetch,
}

pub(crate) async fn run(command: &Model, config: &Config, format: Format) -> anyhow::Result<u8> {
    match command {
        Model::Fetch => {
            let directory = boot::model_directory(config).await?;
            // Loading it detects an unusable model, and writes the prepacked weights.
            drop(boot::local_model(config, directory.clone()).await?);
            output::print(
                format,
                &json!({"directory": directory.display().to_string()}),
                |_| directory.display().to_string(),
            )?;
            Ok(EXIT_OK)
        }
    }
}
