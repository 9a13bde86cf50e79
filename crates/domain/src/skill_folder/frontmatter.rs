//! One `SKILL.md`: its frontmatter against the rules of the open format, and what stands below.

use std::sync::Arc;

use charter_contract::bounds::{FRONTMATTER_BYTES, SKILL_MD_BYTES};
use charter_contract::charset;
use charter_contract::frontmatter::{FENCE, split};
use charter_contract::text::Text;
use serde_json::{Map, Value};

use super::format::{self, Fault, MAX_DESCRIPTION, is_skill_name};
use crate::package::{Problem, Problems, SourceLocation};
use crate::source::{self, Allowance, Located};

/// What the link graph needs of a `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frontmatter {
    /// What the skill does and when to use it.
    pub description: Text,
    /// What stands below the frontmatter, as it stands.
    pub body: String,
}

/// A `SKILL.md` for a skill that was not imported; `None` when the format cannot hold it.
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

/// Every field of a `SKILL.md`'s frontmatter as its author wrote it; `None` when it has none that can be
/// read.
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
    /// Reads a file in a directory of the name `directory`; everything wrong goes to `problems`. `None` with an error.
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
        // An empty line in place of the fence keeps lines what they are in the file.
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

/// A fatal one says why the skill is left out; another one, which rule of the format Charter can do without.
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
