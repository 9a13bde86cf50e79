//! `charter evidence submit`

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use serde_json::Value;

use crate::client::Client;
use crate::commands::runs::document;
use crate::config::Config;
use crate::failure::EXIT_OK;
use crate::output::{self, Format};

/// Submit records from a file (JSON or YAML): one record or a list.
///
/// A record has the form of `charter evidence show`. The server makes its links and its receipt; `id` may be absent. Of
/// a list, the records before a refused one stay submitted: a record with an id is not stored twice.
#[derive(Debug, Args)]
pub(crate) struct Submit {
    /// The file with the records.
    file: PathBuf,
}

pub(super) async fn run(command: &Submit, config: &Config, format: Format) -> anyhow::Result<u8> {
    let records = records_in(&command.file)?;
    let client = Client::connect(config).await?;
    let submitted = submit(&client, &records).await;
    client.close().await?;
    output::print(format, &Value::Array(submitted?), |records| {
        output::rows(
            records,
            &["id", "type", "source.system", "captured_at", "summary"],
        )
    })?;
    Ok(EXIT_OK)
}

fn records_in(file: &Path) -> anyhow::Result<Vec<Value>> {
    match document(file)? {
        Value::Array(records) if records.is_empty() => {
            bail!("{} has no record", file.display())
        }
        Value::Array(records) => Ok(records),
        record => Ok(vec![record]),
    }
}

async fn submit(client: &Client, records: &[Value]) -> anyhow::Result<Vec<Value>> {
    let mut submitted = Vec::with_capacity(records.len());
    for record in records {
        let stored = client.post("/v1/evidence", Some(record)).await;
        let at = submitted.len();
        submitted.push(match records.len() {
            1 => stored?,
            all => stored.with_context(|| {
                format!(
                    "submitting record {} of {all}; {at} before it are stored",
                    at + 1
                )
            })?,
        });
    }
    Ok(submitted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_has_one_record_or_a_list() {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str, text: &str| {
            let file = folder.path().join(name);
            std::fs::write(&file, text).unwrap();
            records_in(&file).map_err(|error| error.to_string())
        };
        let note = json!({"type": "manual_note"});
        assert_eq!(
            read("a.json", r#"{"type": "manual_note"}"#),
            Ok(vec![note.clone()])
        );
        let two = "- type: manual_note\n- type: manual_note\n";
        assert_eq!(read("b.yaml", two), Ok(vec![note.clone(), note]));
        assert!(
            read("c.json", "[]")
                .unwrap_err()
                .ends_with("c.json has no record")
        );
    }
}
