//! `charter mission export`, `import` and `verify`: missions as bundles that contain their own proof.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use charter_engine::check_bundle;
use clap::Args;
use serde_json::json;

use super::{path, show};
use crate::client::Client;
use crate::failure::{EXIT_NEGATIVE, EXIT_OK};
use crate::output::{self, Format};

/// Largest bundle that is read, in bytes.
const MAX_BUNDLE: u64 = 256 << 20;

/// Export a mission: its artifacts and its journal, as one text that contains its own proof.
///
/// With --out, the file is verified afterwards; exit code 1 when it is not valid.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The mission's id.
    id: String,
    /// The file to write; standard output if absent.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Import a mission that ended on another installation; it is read-only.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The bundle file.
    file: PathBuf,
}

/// Verify a bundle, without a server.
///
/// Checks every line against the manifest, the hash chain of the journal, that a run can produce this journal, and that
/// its results lead to exactly these artifacts. Exit code 0 when all checks pass, 1 when one fails, 2 when the file
/// could not be read.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The bundle file.
    file: PathBuf,
}

pub(super) async fn export(
    command: &Export,
    client: &Client,
    format: Format,
) -> anyhow::Result<u8> {
    let path = path(&command.id, "/bundle");
    let Some(file) = &command.out else {
        client.download(&path, output::write).await?;
        return Ok(EXIT_OK);
    };
    client.save(&path, file).await?;
    check(file, format)
}

pub(super) async fn import(
    command: &Import,
    client: &Client,
    format: Format,
) -> anyhow::Result<u8> {
    let bundle = read(&command.file)?;
    let mission = client.upload("/v1/missions/import", bundle).await?;
    output::print(format, &mission, show::mission)?;
    Ok(EXIT_OK)
}

pub(crate) fn verify(command: &Verify, format: Format) -> anyhow::Result<u8> {
    check(&command.file, format)
}

fn check(file: &Path, format: Format) -> anyhow::Result<u8> {
    match check_bundle(&read(file)?) {
        Ok(checked) => {
            let mut value = json!(checked);
            value["good"] = json!(true);
            output::print(format, &value, |_| {
                format!(
                    "good: mission {} of {}, {}: {} artifacts, {} events\ndigest {}",
                    checked.mission_id,
                    checked.tenant_id,
                    checked.state,
                    checked.artifacts,
                    checked.events,
                    checked.digest
                )
            })?;
            Ok(EXIT_OK)
        }
        Err(faults) => {
            let value = json!({"good": false, "faults": faults});
            output::print(format, &value, |_| {
                let faults = faults.iter().map(ToString::to_string);
                let lines: Vec<String> = faults.chain(["BAD".to_owned()]).collect();
                lines.join("\n")
            })?;
            Ok(EXIT_NEGATIVE)
        }
    }
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    let reading = || format!("reading {}", file.display());
    let mut bytes = Vec::new();
    let open = File::open(file).with_context(reading)?;
    let mut open = open.take(MAX_BUNDLE + 1);
    open.read_to_end(&mut bytes).with_context(reading)?;
    if bytes.len() as u64 > MAX_BUNDLE {
        bail!("{} is larger than {MAX_BUNDLE} bytes", file.display());
    }
    Ok(bytes)
}
