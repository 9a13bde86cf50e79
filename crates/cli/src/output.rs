//! What goes to stdout: tables for people, JSON and YAML for programs; problems with a caret. Everything is written by
//! [`write`], which knows a reader who has gone from a failure.

use std::io::{ErrorKind, Write};

use anyhow::Context;
use charter_engine::{Problem, ProblemSeverity};
use clap::ValueEnum;
use comfy_table::{ContentArrangement, Table};
use serde_json::Value;

/// The forms of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Table,
    /// JSON, indented.
    Json,
    /// YAML.
    Yaml,
}

/// The reader of standard output has closed it, as `head` does. The command ends without a word.
#[derive(Debug, thiserror::Error)]
#[error("the reader of standard output has closed it")]
pub(crate) struct OutputClosed;

/// Writes to standard output at once.
///
/// # Errors
/// [`OutputClosed`] when its reader has gone; the cause when it cannot be written, e.g. to a full disk.
pub(crate) fn write(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    written.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => OutputClosed.into(),
        _ => anyhow::Error::new(error).context("writing to standard output"),
    })
}

/// Writes a line to standard output at once.
///
/// # Errors
/// As [`write`].
pub(crate) fn line(text: &str) -> anyhow::Result<()> {
    write(format!("{text}\n").as_bytes())
}

/// Writes a value in a form; as a table it is what `table` makes of it.
///
/// # Errors
/// As [`write`].
pub(crate) fn print(
    format: Format,
    value: &Value,
    table: impl FnOnce(&Value) -> String,
) -> anyhow::Result<()> {
    let text = match format {
        Format::Table => table(value),
        Format::Json => serde_json::to_string_pretty(value).context("writing JSON")?,
        Format::Yaml => serde_saphyr::to_string(value).context("writing YAML")?,
    };
    line(text.trim_end())
}

/// A table of one row for each entry, with the named fields as columns.
pub(crate) fn rows(entries: &Value, columns: &[&str]) -> String {
    let mut table = plain_table();
    table.set_header(columns.iter().map(|column| column.replace('_', " ")));
    for entry in entries.as_array().into_iter().flatten() {
        table.add_row(columns.iter().map(|column| cell(field(entry, column))));
    }
    table.to_string()
}

/// A table of one row for each field.
pub(crate) fn fields(value: &Value) -> String {
    let mut table = plain_table();
    for (name, value) in value.as_object().into_iter().flatten() {
        table.add_row([name.replace('_', " "), cell(Some(value))]);
    }
    table.to_string()
}

fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table
}

fn field<'v>(entry: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(entry, |value, key| value.get(key))
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => format!("{float:.3}"),
            None => number.to_string(),
        },
        Some(other) => other.to_string(),
    }
}

/// Problems of a package, each with its line and a caret.
pub(crate) fn problems(problems: &[Problem]) -> String {
    let mut text = String::new();
    for problem in problems {
        let severity = match problem.severity {
            ProblemSeverity::Error => "error",
            ProblemSeverity::Warning => "warning",
        };
        let number = problem.line.to_string();
        let margin = " ".repeat(number.len());
        let Problem { file, column, .. } = problem;
        text.push_str(&format!(
            "{severity}[{}]: {}\n",
            problem.keyword, problem.message
        ));
        text.push_str(&format!("{margin}--> {file}:{number}:{column}\n"));
        if !problem.excerpt.is_empty() {
            let indent = " ".repeat(column.saturating_sub(1));
            let room = problem
                .excerpt
                .chars()
                .count()
                .saturating_sub(column.saturating_sub(1));
            let carets = "^".repeat(problem.width.min(room.max(1)));
            text.push_str(&format!(
                "{margin} |\n{number} | {}\n{margin} | {indent}{carets}\n",
                problem.excerpt
            ));
        }
        if let Some(suggestion) = &problem.suggestion {
            text.push_str(&format!("{margin} = {suggestion}\n"));
        }
    }
    text
}
