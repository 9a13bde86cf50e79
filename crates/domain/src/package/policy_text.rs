//! A policy's Cedar text, which is in its YAML or in a file of the package, and the mapping of its positions to
//! positions in that file.

use std::collections::BTreeMap;
use std::ops::Range;

use charter_contract::catalogue::Document;
use charter_contract::catalogue::policy::Policy;
use charter_contract::charset::without_mark;
use charter_contract::text::Text;

use super::{Problem, WithLocation};
use crate::policy::CedarFault;
use crate::source::Position;

/// Inserts the text of a policy that names a file. The document is then self-contained.
pub(super) fn fill(
    document: &mut WithLocation<Document>,
    files: &BTreeMap<String, String>,
) -> Option<Problem> {
    let Document::Policy(policy) = &mut document.value else {
        return None;
    };
    let path = policy.file.as_ref()?;
    let problem =
        |keyword, message: String| Some(Problem::at(&document.place, "/file", keyword, message));
    if policy.cedar.is_some() {
        let message = "a policy has either `cedar` or `file`, not both".to_owned();
        return problem("exactly_one", message);
    }
    let text = files.get(path.as_str()).map(|text| without_mark(text));
    match text.map(Text::parse) {
        None => problem("file", format!("the package has no file `{path}`")),
        Some(Err(_)) => problem("file", format!("the file `{path}` is empty")),
        Some(Ok(text)) => {
            policy.cedar = Some(text);
            None
        }
    }
}

/// Reports a fault in a policy's text, in the file that contains the text.
pub(super) fn problem(
    document: &WithLocation<Document>,
    policy: &Policy,
    fault: CedarFault,
) -> Problem {
    let text = policy.cedar.as_ref().map(Text::as_str).unwrap_or_default();
    let place = fault.span.as_ref().and_then(|span| position(text, span));
    let problem = match (&policy.file, place) {
        (Some(file), Some(place)) => {
            Problem::in_text((file.as_str(), text), place, "cedar", fault.message)
        }
        (Some(file), None) => Problem::of_file(file.as_str(), "cedar", fault.message),
        (None, Some(place)) => inline(document, text, place, fault.message),
        (None, None) => Problem::at(&document.place, "/cedar", "cedar", fault.message),
    };
    match fault.advice {
        Some(advice) => problem.suggest(advice),
        None => problem,
    }
}

/// Reports a fault in a text inside YAML. Only a literal block (`|`) preserves lines; for any other form the message
/// describes the position.
fn inline(document: &WithLocation<Document>, text: &str, at: Position, message: String) -> Problem {
    let place = &document.place;
    let key = place.position("/cedar");
    let wanted = text.lines().nth(at.line - 1).unwrap_or_default();
    let header = place.text.line(key.line);
    let line = place.text.line(key.line + at.line);
    match line.strip_suffix(wanted) {
        Some(indent) if header.contains(": |") && indent.trim().is_empty() => {
            let position = Position {
                line: key.line + at.line,
                column: indent.chars().count() + at.column,
                ..at
            };
            Problem {
                pointer: format!("{}/cedar", place.pointer),
                ..Problem::in_file(place, position, "cedar", message)
            }
        }
        Some(_) | None => {
            let message = format!(
                "{message} (line {}, column {} of the text)",
                at.line, at.column
            );
            Problem::at(place, "/cedar", "cedar", message)
        }
    }
}

/// Returns the line and column of a span of a text.
fn position(text: &str, span: &Range<usize>) -> Option<Position> {
    let before = text.get(..span.start)?;
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let marked = text.get(span.clone()).unwrap_or_default();
    Some(Position {
        line: before.matches('\n').count() + 1,
        column: text.get(line_start..span.start)?.chars().count() + 1,
        width: marked
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .count()
            .max(1),
    })
}
