//! `charter model …`

use clap::Subcommand;

use crate::boot;
use crate::config::Config;
use crate::failure::EXIT_OK;

/// Fetch the embedding model.
#[derive(Debug, Subcommand)]
pub(crate) enum Model {
    /// Fetch the model into the cache, unless it is there, and print its directory.
    Fetch,
}

pub(crate) async fn run(command: &Model, config: &Config) -> anyhow::Result<u8> {
    match command {
        Model::Fetch => {
            let directory = boot::model_directory(config).await?;
            println!("{}", directory.display());
            Ok(EXIT_OK)
        }
    }
}
