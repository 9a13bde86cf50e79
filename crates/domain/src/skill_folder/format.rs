//! The rules of the open format for the fields of a `SKILL.md`. Must not know files, texts or positions.

use charter_contract::validate::{nearest, pointer_segment};
use serde_json::{Map, Value};

/// The maximum length of a name, in characters.
const MAX_NAME: usize = 64;

/// The maximum length of a description, in characters.
pub(super) const MAX_DESCRIPTION: usize = 1_024;

/// The maximum length of a compatibility note, in characters.
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

/// The fields of a frontmatter.
type Fields = Map<String, Value>;

/// A violation of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// The JSON pointer to the field; empty for a missing one.
    pub(super) pointer: String,
    pub(super) keyword: &'static str,
    pub(super) message: String,
    pub(super) suggestion: Option<String>,
    /// Whether Charter cannot import the skill with this violation.
    pub(super) is_fatal: bool,
}

impl Fault {
    fn new(pointer: impl Into<String>, keyword: &'static str, message: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            keyword,
            message: message.into(),
            suggestion: None,
            is_fatal: false,
        }
    }

    fn fatal(self) -> Self {
        Self {
            is_fatal: true,
            ..self
        }
    }

    fn suggest(self, suggestion: impl Into<String>) -> Self {
        Self {
            suggestion: Some(suggestion.into()),
            ..self
        }
    }
}

/// Returns whether a text is a name in the open format: 1 to 64 lowercase letters, digits and hyphens, without a hyphen
/// at either end and without two in a row.
#[must_use]
pub fn is_skill_name(name: &str) -> bool {
    name_faults(name).is_empty()
}

/// Returns whether the fields satisfy every rule of the open format, for a skill in a directory of this name.
/// Additional fields are allowed. Validating readers reject other skills, which Charter still imports.
#[must_use]
pub fn keeps_format(fields: &Fields, directory: &str) -> bool {
    broken_rules(fields, directory).is_empty()
}

/// Returns all problems of the fields of a skill in a directory of this name, including additional fields.
pub(super) fn faults(fields: &Fields, directory: &str) -> Vec<Fault> {
    let mut faults = broken_rules(fields, directory);
    let names = fields.keys().map(String::as_str);
    faults.extend(
        names
            .filter(|name| !FIELDS.contains(name))
            .map(unknown_field),
    );
    faults
}

/// Returns the text in a field; a number or a boolean is converted to text.
pub(super) fn text_of(fields: &Fields, field: &str) -> Option<String> {
    match fields.get(field)? {
        Value::String(text) => (!text.trim().is_empty()).then(|| text.clone()),
        plain @ (Value::Bool(_) | Value::Number(_)) => Some(plain.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn broken_rules(fields: &Fields, directory: &str) -> Vec<Fault> {
    let mut broken = Vec::new();
    broken.extend(needed(fields, "name"));
    if let Some(name) = text_of(fields, "name") {
        broken.extend(name_rules(&name, directory));
    }
    broken.extend(needed(fields, "description"));
    broken.extend(longest(fields, "description", MAX_DESCRIPTION));
    broken.extend(unread_text(fields, "license"));
    broken.extend(unread_text(fields, "compatibility"));
    broken.extend(longest(fields, "compatibility", MAX_COMPATIBILITY));
    broken.extend(metadata(fields));
    broken.extend(allowed_tools(fields));
    broken
}

/// The name is for people and other tools; the id here is the directory's path.
fn name_rules(name: &str, directory: &str) -> Vec<Fault> {
    let faults = name_faults(name).into_iter();
    let mut broken: Vec<Fault> = faults
        .map(|fault| Fault::new("/name", "name", fault))
        .collect();
    if name != directory {
        let message =
            format!("the name must equal the directory's, `{directory}`, which is used here");
        broken.push(Fault::new("/name", "directory", message));
    }
    broken
}

/// Checks a required field.
fn needed(fields: &Fields, field: &str) -> Option<Fault> {
    let pointer = format!("/{field}");
    match fields.get(field) {
        None => {
            let message = format!("the field `{field}` is missing");
            Some(Fault::new("", "required", message).fatal())
        }
        Some(Value::String(text)) if !text.trim().is_empty() => None,
        Some(Value::String(_) | Value::Null) => {
            let message = format!("`{field}` must not be empty");
            Some(Fault::new(pointer, "empty", message).fatal())
        }
        Some(Value::Bool(_) | Value::Number(_)) => {
            let fault = Fault::new(pointer, "type", format!("`{field}` must be text"));
            Some(fault.suggest("write it in quotes"))
        }
        Some(Value::Array(_) | Value::Object(_)) => {
            let message = format!("`{field}` must be text");
            Some(Fault::new(pointer, "type", message).fatal())
        }
    }
}

/// Checks a field that is kept but not used.
fn unread_text(fields: &Fields, field: &str) -> Option<Fault> {
    let pointer = format!("/{field}");
    match fields.get(field)? {
        Value::String(text) if !text.trim().is_empty() => None,
        Value::String(_) | Value::Null => {
            let message = format!("`{field}` must not be empty");
            Some(Fault::new(pointer, "empty", message))
        }
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            let message = format!("`{field}` must be text");
            Some(Fault::new(pointer, "type", message))
        }
    }
}

fn longest(fields: &Fields, field: &str, most: usize) -> Option<Fault> {
    let found = fields.get(field)?.as_str()?.chars().count();
    let message = format!("`{field}` has {found} characters; the limit is {most}");
    (found > most).then(|| Fault::new(format!("/{field}"), "length", message))
}

/// The format requires text as keys and values; other contents are kept.
fn metadata(fields: &Fields) -> Option<Fault> {
    let Value::Object(entries) = fields.get("metadata")? else {
        let message = "`metadata` must be fields with values; it is kept unchanged";
        return Some(Fault::new("/metadata", "type", message));
    };
    let others = entries.iter().filter(|(_, value)| !value.is_string());
    let others: Vec<(&String, &Value)> = others.collect();
    let (first, _) = others.first()?;
    let message = format!(
        "the values of `metadata` must be text; {} of them are not, and are kept unchanged",
        others.len()
    );
    let pointer = format!("/metadata/{}", pointer_segment(first));
    let fault = Fault::new(pointer, "type", message);
    let mut values = others.iter().map(|(_, value)| value);
    let is_quotable = values.any(|value| value.is_number() || value.is_boolean());
    Some(if is_quotable {
        fault.suggest("write numbers and booleans in quotes")
    } else {
        fault
    })
}

fn allowed_tools(fields: &Fields) -> Option<Fault> {
    let allowed = match fields.get("allowed-tools")? {
        Value::String(_) => true,
        Value::Array(tools) => tools.iter().all(Value::is_string),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    let message = "`allowed-tools` must be text, or a list of texts";
    (!allowed).then(|| Fault::new("/allowed-tools", "type", message))
}

/// Additional fields belong to other tools: they are kept, not used, and reported.
fn unknown_field(field: &str) -> Fault {
    let message = format!("`{field}` is not a field of the format; it is kept, but not used");
    Fault {
        suggestion: nearest(field, FIELDS),
        ..Fault::new(
            format!("/{}", pointer_segment(field)),
            "unknown_field",
            message,
        )
    }
}

/// Returns every rule for names that a name violates.
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
            "the name contains {other:?}; lowercase letters, digits and hyphens are allowed"
        ));
    }
    if name.starts_with('-') || name.ends_with('-') {
        faults.push("the name must not begin or end with a hyphen".to_owned());
    }
    if name.contains("--") {
        faults.push("the name must not contain two consecutive hyphens".to_owned());
    }
    faults
}
