//! Writes to standard output: tables for people, JSON and YAML for programs, problems with a caret. All output goes
//! through [`write`], which distinguishes a closed pipe from a failure.

use std::io::{ErrorKind, Write};

use anyhow::Context;
use charter_engine::{Problem, ProblemSeverity};
use clap::ValueEnum;
use comfy_table::{Attribute, Cell, Color, ContentArrangement, Table};
use serde_json::Value;

use crate::local_time;
use crate::screen::{self, has_colours, is_terminal};

/// The text in place of a table without rows.
const EMPTY: &str = "(none)";

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

/// The reader of standard output has closed it, as `head` does. The command ends without a message.
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

/// Writes a value in a format; `table` makes the table.
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

/// A table of one row for each entry, with the named fields as columns. States that the list is empty.
pub(crate) fn rows(entries: &Value, columns: &[&str]) -> String {
    let mut entries = entries.as_array().into_iter().flatten().peekable();
    if entries.peek().is_none() {
        return EMPTY.to_owned();
    }
    let is_terminal = is_terminal();
    let mut table = plain_table();
    table.set_header(columns.iter().map(|column| heading(column)));
    for entry in entries {
        table.add_row(columns.iter().map(|column| {
            let text = cell(field(entry, column));
            let colour = colour(column, &text);
            let shown = Cell::new(match is_terminal {
                true => local_time::local(&text).unwrap_or_else(|| screen::plain(&text)),
                false => text,
            });
            match colour {
                Some(colour) => shown.fg(colour),
                None => shown,
            }
        }));
    }
    table.to_string()
}

fn heading(column: &str) -> Cell {
    Cell::new(column.replace('_', " ")).add_attribute(Attribute::Bold)
}

/// The colour of a state: yellow for one that waits for a person, red for a failure, green for a success.
fn colour(column: &str, word: &str) -> Option<Color> {
    if !matches!(column, "state" | "status" | "kind") {
        return None;
    }
    match word {
        "pending"
        | "awaiting_parameters"
        | "awaiting_confirmation"
        | "awaiting_approval"
        | "paused" => Some(Color::Yellow),
        "failed" | "rejected" | "rollback_failed" | "budget_exceeded" | "denied" => {
            Some(Color::Red)
        }
        "completed" | "approved" | "consumed" | "succeeded" => Some(Color::Green),
        _ => None,
    }
}

/// A table with one row for each field.
pub(crate) fn fields(value: &Value) -> String {
    let mut table = plain_table();
    for (name, value) in value.as_object().into_iter().flatten() {
        let text = cell(Some(value));
        let shown = match is_terminal() {
            true => screen::plain(&text),
            false => text,
        };
        table.add_row([name.replace('_', " "), shown]);
    }
    table.to_string()
}

fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    if is_terminal() && !has_colours() {
        // Without the terminal, the table knows no width.
        table.force_no_tty();
        if let Some(columns) = screen::columns() {
            table.set_width(columns);
        }
    }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_empty_list_is_stated() {
        assert_eq!(rows(&json!([]), &["id"]), "(none)");
        assert_eq!(rows(&Value::Null, &["id"]), "(none)");
        assert_eq!(rows(&json!([{"id": "a"}]), &["id"]).lines().count(), 2);
    }

    #[test]
    fn only_states_have_colours() {
        assert_eq!(colour("state", "pending"), Some(Color::Yellow));
        assert_eq!(colour("status", "rollback_failed"), Some(Color::Red));
        assert_eq!(colour("status", "working"), None);
        assert_eq!(colour("title", "failed"), None);
    }
}
