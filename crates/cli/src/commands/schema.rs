//! `charter schema …`

use std::path::{Path, PathBuf};

use anyhow::Context;
use charter_contract::error_code::ErrorCode;
use charter_contract::registry as schemas;
use charter_contract::schema::SchemaEntry;
use charter_contract::validate::nearest;
use clap::Subcommand;
use serde_json::{Value, json};

use crate::failure::{EXIT_OK, ReportedFailure};
use crate::output::{self, Format};

/// List and show the contracts' schemas.
#[derive(Debug, Subcommand)]
pub(crate) enum Schema {
    /// List all contracts.
    List,
    /// Show one contract's JSON Schema.
    Show {
        /// The contract's name.
        name: String,
    },
    /// Write the schemas of a package's documents, for editors that check YAML by them.
    Write {
        /// The directory; existing files are overwritten.
        dir: PathBuf,
    },
}

pub(crate) fn run(command: &Schema, format: Format) -> anyhow::Result<u8> {
    match command {
        Schema::List => {
            let entries: Vec<Value> = schemas::all().map(summary).collect();
            output::print(format, &Value::Array(entries), |e| {
                output::rows(e, &["name", "title", "source", "draft"])
            })?;
        }
        Schema::Show { name } => {
            let entry = find_schema(name)?;
            let as_json = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
            output::print(format, &entry.of_file(), as_json)?;
        }
        Schema::Write { dir } => {
            let files = write_for_editors(dir)?;
            output::print(format, &json!({"directory": dir, "files": files}), |_| {
                format!("{} schemas in {}", files.len(), dir.display())
            })?;
        }
    }
    Ok(EXIT_OK)
}

/// Finds a contract by its name.
pub(super) fn find_schema(name: &str) -> anyhow::Result<&'static SchemaEntry> {
    schemas::get(name).ok_or_else(|| {
        let names = schemas::all().map(|entry| entry.name.as_str());
        let meant = nearest(name, names).map(|meant| format!("; {meant}"));
        let message = format!("there is no schema `{name}`{}", meant.unwrap_or_default());
        let absent = ReportedFailure::new(ErrorCode::NotFound, message);
        absent.with_hint("`charter schema list` shows all.").into()
    })
}

/// Writes a schema for each kind of file of a package: one document, or a list of them.
pub(super) fn write_for_editors(dir: &Path) -> anyhow::Result<Vec<String>> {
    let making = || format!("creating {}", dir.display());
    std::fs::create_dir_all(dir).with_context(making)?;
    let mut written = Vec::new();
    for entry in schemas::of_packages() {
        let file = format!("{}.json", entry.name);
        let path = dir.join(&file);
        std::fs::write(&path, format!("{:#}\n", entry.of_file()))
            .with_context(|| format!("writing {}", path.display()))?;
        written.push(file);
    }
    Ok(written)
}

fn summary(entry: &SchemaEntry) -> Value {
    json!({
        "name": entry.name.as_str(), "title": entry.title, "source": entry.source,
        "draft": entry.draft.as_str(),
    })
}
