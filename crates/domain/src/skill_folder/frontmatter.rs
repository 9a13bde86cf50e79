//! One `SKILL.md`: its frontmatter against the limits of the open format, and what stands below.

use std::sync::Arc;

use charter_contract::bounds::{FRONTMATTER_BYTES, SKILL_MD_BYTES};
use charter_contract::charset;
use charter_contract::frontmatter::{FENCE, split};
use charter_contract::text::Text;
use charter_contract::validate::nearest;
use serde_json::{Map, Value};

use crate::package::{Place, Problem, Problems};
use crate::source::{self, Allowance, Located};

/// Longest name, in characters.
const MAX_NAME: usize = 64;

/// Longest description, in characters.
pub(super) const MAX_DESCRIPTION: usize = 1_024;

/// Longest note on compatibility, in characters.
const MAX_COMPATIBILITY: usize = 500;

/// The fields of the open format.
const FIELDS: [&str; 6] = [
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
];

/// What the link graph needs of a `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frontmatter {
    /// What the skill does and when to use it.
    pub description: Text,
    /// What stands below the frontmatter, as it stands.
    pub body: String,
}

/// Whether a text is a name of the open format: 1 to 64 lowercase letters, digits and hyphens, no
/// hyphen at either end, no two in a row.
#[must_use]
pub fn is_skill_name(name: &str) -> bool {
    name_faults(name).is_empty()
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
        let place = Place {
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
        let mut check = Check {
            place: &place,
            fields,
            problems,
        };
        let description = check.all(directory)?;
        Some(Self {
            description: Text::parse(description.trim()).ok()?,
            body: body.to_owned(),
        })
    }
}

struct Check<'c> {
    place: &'c Place,
    fields: &'c Map<String, Value>,
    problems: &'c mut Problems,
}

impl Check<'_> {
    /// Says why the skill is left out.
    fn refuse(&mut self, pointer: &str, keyword: &str, message: impl Into<String>) {
        let problem = Problem::at(self.place, pointer, keyword, message);
        self.problems.push(problem);
    }

    /// Says which rule of the format is broken that Charter can do without.
    fn warn(&mut self, pointer: &str, keyword: &str, message: impl Into<String>) {
        let problem = Problem::at(self.place, pointer, keyword, message).warning();
        self.problems.push(problem);
    }

    /// Everything wrong with the fields, and the description of a skill that can be read.
    fn all(&mut self, directory: &str) -> Option<String> {
        let name = self.needed("name");
        if let Some(name) = &name {
            self.name(name, directory);
        }
        let description = self.needed("description");
        if let Some(description) = &description {
            self.longest("description", description, MAX_DESCRIPTION);
        }
        self.unread_text("license");
        if let Some(compatibility) = self.unread_text("compatibility") {
            self.longest("compatibility", &compatibility, MAX_COMPATIBILITY);
        }
        self.metadata();
        self.allowed_tools();
        self.unknown_fields();
        name.and(description)
    }

    /// A name is for people and other tools; the id here is the directory's path.
    fn name(&mut self, name: &str, directory: &str) {
        for fault in name_faults(name) {
            self.warn("/name", "name", fault);
        }
        if name != directory {
            let message = format!(
                "the name must be that of the directory, `{directory}`, which is the one that counts here"
            );
            self.warn("/name", "directory", message);
        }
    }

    /// A field that a skill cannot do without. A number or a boolean counts as what is written.
    fn needed(&mut self, field: &str) -> Option<String> {
        let pointer = format!("/{field}");
        match self.fields.get(field) {
            None => {
                self.refuse("", "required", format!("the field `{field}` is missing"));
                None
            }
            Some(Value::String(text)) if !text.trim().is_empty() => Some(text.clone()),
            Some(Value::String(_) | Value::Null) => {
                self.refuse(&pointer, "empty", format!("`{field}` must not be empty"));
                None
            }
            Some(plain @ (Value::Bool(_) | Value::Number(_))) => {
                let plain = plain.to_string();
                let message = format!("`{field}` must be text");
                let problem = Problem::at(self.place, &pointer, "type", message).warning();
                self.problems.push(problem.suggest("write it in quotes"));
                Some(plain)
            }
            Some(Value::Array(_) | Value::Object(_)) => {
                self.refuse(&pointer, "type", format!("`{field}` must be text"));
                None
            }
        }
    }

    /// A field that is kept and not read here.
    fn unread_text(&mut self, field: &str) -> Option<String> {
        let pointer = format!("/{field}");
        match self.fields.get(field)? {
            Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
            Value::String(_) | Value::Null => {
                self.warn(&pointer, "empty", format!("`{field}` must not be empty"));
                None
            }
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                self.warn(&pointer, "type", format!("`{field}` must be text"));
                None
            }
        }
    }

    fn longest(&mut self, field: &str, text: &str, most: usize) {
        let found = text.chars().count();
        if found > most {
            let message = format!("`{field}` has {found} characters; the limit is {most}");
            self.warn(&format!("/{field}"), "length", message);
        }
    }

    /// The format has keys and values that are text; whatever stands there is kept.
    fn metadata(&mut self) {
        let entries = match self.fields.get("metadata") {
            None => return,
            Some(Value::Object(entries)) => entries,
            Some(_) => {
                let message = "`metadata` must be fields with values; it is kept as it is";
                return self.warn("/metadata", "type", message);
            }
        };
        let is_other =
            |value: &Value| matches!(value, Value::Null | Value::Array(_) | Value::Object(_));
        let mut others = entries.iter().filter(|(_, value)| is_other(value));
        let Some((first, _)) = others.next() else {
            return;
        };
        let count = 1 + others.count();
        let first = charter_contract::validate::pointer_segment(first);
        let message = format!(
            "the values of `metadata` must be text; {count} of them are not, and are kept as they are"
        );
        self.warn(&format!("/metadata/{first}"), "type", message);
    }

    fn allowed_tools(&mut self) {
        let allowed = match self.fields.get("allowed-tools") {
            None | Some(Value::String(_)) => true,
            Some(Value::Array(tools)) => tools.iter().all(Value::is_string),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => false,
        };
        if !allowed {
            let message = "`allowed-tools` must be text, or a list of texts";
            self.warn("/allowed-tools", "type", message);
        }
    }

    /// Fields beyond the format are other tools' business: kept, not read, and pointed out.
    fn unknown_fields(&mut self) {
        let known = |field: &&String| !FIELDS.contains(&field.as_str());
        for field in self.fields.keys().filter(known) {
            let pointer = format!("/{}", charter_contract::validate::pointer_segment(field));
            let message = format!("`{field}` is no field of the format; it is kept, and not read");
            let mut problem = Problem::at(self.place, &pointer, "unknown_field", message).warning();
            if let Some(meant) = nearest(field, FIELDS) {
                problem = problem.suggest(format!("perhaps `{meant}` is meant"));
            }
            self.problems.push(problem);
        }
    }
}

/// Every rule for names that a name breaks.
fn name_faults(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let found = name.chars().count();
    if found == 0 || found > MAX_NAME {
        faults.push(format!(
            "the name has {found} characters; 1 to {MAX_NAME} are allowed"
        ));
    }
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if let Some(other) = name.chars().find(|c| !allowed(*c)) {
        faults.push(format!(
            "the name holds {other:?}; lowercase letters, digits and hyphens are allowed"
        ));
    }
    if name.starts_with('-') || name.ends_with('-') {
        faults.push("the name must not begin or end with a hyphen".to_owned());
    }
    if name.contains("--") {
        faults.push("the name must not hold two hyphens in a row".to_owned());
    }
    faults
}
