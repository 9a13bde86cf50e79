//! Replaces ranges of lines in a text. Pure.

use charter_contract::agentic::file_system_operation::LineEdit;

/// Why edits do not fit a text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum EditFault {
    #[error("line {line} is beyond the end; the file has {count} lines")]
    Beyond { line: u64, count: usize },
    #[error("lines {start} to {end} differ from what the edit expects; they are {found:?}")]
    Unexpected { start: u64, end: u64, found: String },
}

/// Bytes of unexpected lines that are quoted.
const QUOTED_BYTES: usize = 500;

/// Returns the text with the ranges replaced. The contract ensures that edits are in order and do not overlap. A
/// nonempty replacement ends its last line with the file's line ending.
pub(super) fn apply(text: &str, edits: &[LineEdit]) -> Result<String, EditFault> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let ending = match lines.first() {
        Some(first) if first.ends_with("\r\n") => "\r\n",
        Some(_) | None => "\n",
    };
    let mut edited = String::with_capacity(text.len());
    let mut kept_from = 0;
    for edit in edits {
        let (start, end) = bounds(edit, lines.len())?;
        let replaced = &lines[start..end];
        if let Some(expected) = &edit.expected {
            require(edit, expected, &replaced.concat())?;
        }
        for line in &lines[kept_from..start] {
            edited.push_str(line);
        }
        // Lines added after a last line without a line ending begin on their own line.
        if start == lines.len() && !edited.is_empty() && !edited.ends_with('\n') {
            edited.push_str(ending);
        }
        edited.push_str(&edit.replacement);
        let at_end = end == lines.len() && !text.ends_with('\n') && start < end;
        if !edit.replacement.is_empty() && !edit.replacement.ends_with('\n') && !at_end {
            edited.push_str(ending);
        }
        kept_from = end;
    }
    for line in &lines[kept_from..] {
        edited.push_str(line);
    }
    Ok(edited)
}

/// Returns the range as indexes: `end_line` one before `start_line` inserts.
fn bounds(edit: &LineEdit, count: usize) -> Result<(usize, usize), EditFault> {
    let index = |line: u64| usize::try_from(line).ok().filter(|at| *at <= count);
    let beyond = |line| EditFault::Beyond { line, count };
    let (first, last) = (edit.start_line.get(), edit.end_line.get());
    let start = index(first - 1).ok_or_else(|| beyond(first))?;
    let end = index(last).ok_or_else(|| beyond(last))?;
    Ok((start, end.max(start)))
}

/// Compares the lines, ignoring the ending of the last one.
fn require(edit: &LineEdit, expected: &str, found: &str) -> Result<(), EditFault> {
    let trimmed = |text: &str| -> String {
        let text = text.strip_suffix('\n').unwrap_or(text);
        text.strip_suffix('\r').unwrap_or(text).to_owned()
    };
    if trimmed(expected) == trimmed(found) {
        return Ok(());
    }
    Err(EditFault::Unexpected {
        start: edit.start_line.get(),
        end: edit.end_line.get(),
        found: found[..found.floor_char_boundary(QUOTED_BYTES)].to_owned(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::needless_pass_by_value,
        reason = "literals read better by value"
    )]

    use serde_json::{Value, json};

    use super::*;

    fn edited(text: &str, edits: Value) -> Result<String, EditFault> {
        let edits: Vec<LineEdit> = serde_json::from_value(edits).unwrap();
        apply(text, &edits)
    }

    fn one(start: u64, end: u64, replacement: &str) -> Value {
        json!([{"start_line": start, "end_line": end, "replacement": replacement}])
    }

    #[test]
    fn ranges_are_replaced_removed_and_inserted() {
        let text = "a\nb\nc\nd\n";
        let cases = [
            (one(2, 3, "X\n"), "a\nX\nd\n"),
            (one(2, 3, "X"), "a\nX\nd\n"),
            (one(2, 3, ""), "a\nd\n"),
            (one(1, 0, "X"), "X\na\nb\nc\nd\n"),
            (one(5, 4, "X"), "a\nb\nc\nd\nX\n"),
            (one(1, 4, ""), ""),
        ];
        for (edits, expected) in cases {
            assert_eq!(
                edited(text, edits.clone()).as_deref(),
                Ok(expected),
                "{edits}"
            );
        }
        let several = json!([
            {"start_line": 1, "end_line": 1, "replacement": "A"},
            {"start_line": 3, "end_line": 2, "replacement": "new"},
            {"start_line": 4, "end_line": 4, "replacement": "D"},
        ]);
        assert_eq!(edited(text, several).as_deref(), Ok("A\nb\nnew\nc\nD\n"));
    }

    #[test]
    fn line_endings_of_the_file_are_preserved() {
        assert_eq!(
            edited("a\r\nb\r\n", one(1, 1, "X")).as_deref(),
            Ok("X\r\nb\r\n")
        );
        assert_eq!(edited("a\nb", one(2, 2, "X")).as_deref(), Ok("a\nX"));
        assert_eq!(edited("a\nb", one(3, 2, "X")).as_deref(), Ok("a\nb\nX\n"));
        assert_eq!(edited("", one(1, 0, "X")).as_deref(), Ok("X\n"));
    }

    #[test]
    fn absent_and_unexpected_lines_change_nothing() {
        assert_eq!(
            edited("a\n", one(2, 2, "X")),
            Err(EditFault::Beyond { line: 2, count: 1 })
        );
        assert_eq!(
            edited("a\n", one(9, 8, "X")),
            Err(EditFault::Beyond { line: 9, count: 1 })
        );
        let expecting = |expected: &str| json!([{"start_line": 1, "end_line": 2, "replacement": "X", "expected": expected}]);
        assert_eq!(
            edited("a\nb\nc\n", expecting("a\nb")).as_deref(),
            Ok("X\nc\n")
        );
        assert_eq!(
            edited("a\nb\nc\n", expecting("a\nB")),
            Err(EditFault::Unexpected {
                start: 1,
                end: 2,
                found: "a\nb\n".to_owned()
            })
        );
    }
}
