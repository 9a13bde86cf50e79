//! `charter evidence export`

use std::path::PathBuf;

use clap::Args;

use super::Filter;
use super::verify::{TrustedInputs, check, show};
use crate::client::Client;
use crate::config::Config;
use crate::output::Format;

/// Export evidence with its proofs into a file, and verify the file.
///
/// Without a filter, all evidence is exported, and `verify` detects records that are missing from the file. Exit 0 when
/// the file is valid, 1 when it is not, 2 when it could not be written.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The file to write.
    file: PathBuf,
    #[command(flatten)]
    filter: Filter,
}

pub(super) async fn run(command: &Export, config: &Config, format: Format) -> anyhow::Result<u8> {
    let path = format!("/v1/evidence/export{}", command.filter.query(None));
    let client = Client::connect(config).await?;
    let written = client.save(&path, &command.file).await;
    client.close().await?;
    written?;
    show(&check(&command.file, &TrustedInputs::nothing())?, format)
}
