//! A `SKILL.md` file: validates its frontmatter against the open format, and extracts the text after it.

use std::sync::Arc;

use charter_contract::bounds::{FRONTMATTER_BYTES, SKILL_MD_BYTES};
use charter_contract::charset;
use charter_contract::frontmatter::{FENCE, split};
use charter_contract::text::Text;
use serde_json::{Map, Value};

use super::format::{self, Fault, MAX_DESCRIPTION, is_skill_name};
use crate::package::{Problem, Problems, SourceLocation};
use crate::source::{self, Allowance, Located};

/// The parts of a `SKILL.md` that the link graph needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frontmatter {
    /// The skill's purpose, and when to use it.
    pub description: Text,
    /// The unmodified text after the frontmatter.
    pub body: String,
}

/// Writes a `SKILL.md` for a skill that was not imported; `None` if the format cannot represent it.
#[must_use]
pub fn write_skill_md(name: &str, description: &str, instruction: &str) -> Option<String> {
    if !is_skill_name(name) || description.chars().count() > MAX_DESCRIPTION {
        return None;
    }
    // A JSON string is a double-quoted YAML scalar.
    let quoted = Value::from(description);
    Some(format!(
        "{FENCE}\nname: {}\ndescription: {quoted}\n{FENCE}\n{instruction}",
        Value::from(name)
    ))
}

/// Returns every field of a `SKILL.md`'s frontmatter as its author wrote it; `None` if the frontmatter is missing or
/// malformed.
#[must_use]
pub fn skill_md_fields(content: &[u8]) -> Option<Map<String, Value>> {
    let text = charset::document(content, None).ok()?;
    let (head, _) = split(&text)?;
    if head.len() > FRONTMATTER_BYTES {
        return None;
    }
    match source::read(head).ok()?.value {
        Value::Object(fields) => Some(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            None
        }
    }
}

impl Frontmatter {
    /// Reads a file in a directory with the name `directory`, and adds all problems to `problems`. Returns `None` after
    /// an error.
    pub fn read(
        path: &str,
        content: &[u8],
        directory: &str,
        problems: &mut Problems,
        allowance: &Allowance<'_>,
    ) -> Option<Self> {
        let refuse = |keyword, message: String| Some(Problem::of_file(path, keyword, message));
        if content.len() > SKILL_MD_BYTES {
            let message = format!(
                "the file has {} bytes; the limit is {SKILL_MD_BYTES}",
                content.len()
            );
            problems.extend(refuse("too_large", message));
            return None;
        }
        let text = match charset::document(content, None) {
            Ok(text) => text,
            Err(malformed) => {
                let problem = Problem::of_file(path, "utf8", malformed.to_string());
                problems.push(Problem {
                    line: malformed.line,
                    ..problem
                });
                return None;
            }
        };
        let text: &str = &text;
        let Some((head, body)) = split(text) else {
            let message = format!(
                "the file must begin with frontmatter between two lines that are `{FENCE}`"
            );
            problems.extend(refuse("frontmatter", message));
            return None;
        };
        if head.len() > FRONTMATTER_BYTES {
            let message = format!(
                "the frontmatter has {} bytes; the limit is {FRONTMATTER_BYTES} (FRONTMATTER_BYTES)",
                head.len()
            );
            problems.extend(refuse("too_large", message));
            return None;
        }
        // An empty line replaces the fence, so that line numbers match the file.
        let head = format!("\n{head}");
        let Located { value, places } = match source::read_within(&head, allowance) {
            Ok(located) => located,
            Err(error) => {
                problems.push(Problem::unreadable(path, text, &error));
                return None;
            }
        };
        let place = SourceLocation {
            file: path.into(),
            pointer: String::new(),
            places: Arc::new(places),
            text: Arc::new(text.into()),
        };
        let Value::Object(fields) = &value else {
            let message = "the frontmatter must be fields with values";
            problems.push(Problem::at(&place, "", "type", message));
            return None;
        };
        let faults = format::faults(fields, directory);
        let is_refused = faults.iter().any(|fault| fault.is_fatal);
        problems.extend(faults.into_iter().map(|fault| problem(&place, fault)));
        let description = format::text_of(fields, "description");
        let description = description.filter(|_| !is_refused)?;
        Some(Self {
            description: Text::parse(description.trim()).ok()?,
            body: body.to_owned(),
        })
    }
}

/// A fatal violation is an error, because of which the skill is left out; any other one is a warning.
fn problem(place: &SourceLocation, fault: Fault) -> Problem {
    let problem = Problem::at(place, &fault.pointer, fault.keyword, fault.message);
    let problem = Problem {
        suggestion: fault.suggestion,
        ..problem
    };
    if fault.is_fatal {
        problem
    } else {
        problem.warning()
    }
}
