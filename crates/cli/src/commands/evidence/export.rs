//! `charter evidence export`

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use super::Filter;
use super::verify::{Known, check, show};
use crate::client::Client;
use crate::config::Config;
use crate::output::Format;

/// Export evidence with its proofs into a file, and verify the file.
///
/// Without a filter everything is exported, and `verify` finds what is missing from the file. Exit 0
/// when the file is good, 1 when it is not, 2 when it could not be written.
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
    let written = write(&client, &path, &command.file).await;
    client.close().await?;
    written?;
    show(&check(&command.file, &Known::default())?, format)
}

/// Writes beside the file and moves the whole into place, so that the name never stands for a part.
async fn write(client: &Client, path: &str, file: &Path) -> anyhow::Result<()> {
    let writing = || format!("writing {}", file.display());
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = file.with_file_name(name);
    let mut out = File::create(&part).with_context(writing)?;
    let received = client
        .download(path, |piece| out.write_all(piece).with_context(writing))
        .await
        .and_then(|()| out.sync_all().with_context(writing));
    if let Err(error) = received {
        std::fs::remove_file(&part).with_context(|| format!("removing {}", part.display()))?;
        return Err(error);
    }
    std::fs::rename(&part, file).with_context(writing)
}
