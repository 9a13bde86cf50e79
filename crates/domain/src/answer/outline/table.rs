//! Renders a table in Markdown, which is readable as plain text too.

use serde_json::{Map, Value};

use super::brief::{brief, plain};
use super::columns::Columns;

/// The maximum number of rows that are shown; the rest are counted.
const ROWS: usize = 20;
/// The maximum number of characters of one cell.
const CELL: usize = 60;

/// Renders a list of objects as a table; `None` for a list without objects.
pub(super) fn table(items: &[Value], schema: Option<&Map<String, Value>>) -> Option<String> {
    let rows: Vec<&Map<String, Value>> = items.iter().filter_map(Value::as_object).collect();
    if rows.is_empty() {
        return None;
    }
    let columns = Columns::from_rows(&rows, schema);
    let mut lines = Vec::new();
    if !columns.telling.is_empty() {
        let heads = columns.telling.iter().map(|name| cell(&plain(name)));
        lines.push(line(heads));
        lines.push(line(columns.telling.iter().map(|_| "---".to_owned())));
        for row in rows.iter().take(ROWS) {
            let cells = columns.telling.iter().map(|name| {
                let value = row.get(*name).unwrap_or_default();
                cell(&brief(value, CELL))
            });
            lines.push(line(cells));
        }
    }
    let mut notes = Vec::new();
    if let Some(more @ 1..) = rows.len().checked_sub(ROWS) {
        notes.push(format!("and {more} more"));
    }
    if let Some(more @ 1..) = items.len().checked_sub(rows.len()) {
        notes.push(format!("{more} of another form"));
    }
    if !columns.common.is_empty() {
        let common = columns.common.iter();
        let common: Vec<String> = common
            .map(|(name, value)| format!("{} {value}", plain(name)))
            .collect();
        notes.push(format!("identical in all: {}", common.join(", ")));
    }
    if columns.others > 0 {
        notes.push(format!("{} more columns", columns.others));
    }
    if !notes.is_empty() {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(format!("({})", notes.join("; ")));
    }
    Some(lines.join("\n"))
}

fn line(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.collect();
    format!("| {} |", cells.join(" | "))
}

/// Escapes a text so that it cannot end its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
