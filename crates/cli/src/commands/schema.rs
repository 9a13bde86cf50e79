//! `charter schema …`

use charter_contract::error_code::ErrorCode;
use charter_contract::schema::{self as schemas, SchemaEntry};
use clap::Subcommand;
use serde_json::{Value, json};

use crate::failure::{EXIT_OK, Reported};
use crate::output::{self, Format};

/// List and show the contracts' schemas.
#[derive(Debug, Subcommand)]
pub(crate) enum Schema {
    /// List all contracts.
    List,
    /// Show one contract's JSON Schema.
    Show {
        /// Its name.
        name: String,
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
            let entry = schemas::get(name).ok_or_else(|| {
                let names = schemas::all().map(|entry| entry.name.as_str());
                let advice = charter_contract::validate::nearest(name, names).unwrap_or_default();
                Reported::new(
                    ErrorCode::NotFound,
                    format!("there is no schema `{name}` {advice}"),
                )
            })?;
            let as_json = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
            output::print(format, entry.json(), as_json)?;
        }
    }
    Ok(EXIT_OK)
}

fn summary(entry: &SchemaEntry) -> Value {
    json!({
        "name": entry.name.as_str(), "title": entry.title, "source": entry.source,
        "draft": entry.draft.as_str(),
    })
}
