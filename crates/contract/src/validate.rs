//! Reads and validates documents. A valid document takes the typed path directly from its bytes; a document that fails
//! is examined again, slowly, to report every violation.

mod describe;
mod guess;
mod listing;
mod suggest;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::json::{JsonFault, JsonLimitExceeded, JsonText, Profile};
use crate::schema::{Checker, SchemaEntry, SchemaName};
use crate::violation::{Report, Stage, Violation};

pub use crate::violation::{MAX_VIOLATIONS, pointer_segment};
pub use guess::guess;
pub use suggest::nearest;

/// The entry of a contract among all of them; [`crate::registry`] implements it for each.
pub trait Registered {
    /// The entry.
    fn entry() -> &'static SchemaEntry;
}

/// A type whose JSON form is one of the contracts.
///
/// Deserialising enforces the whole schema; `check` adds the rules that a schema cannot express. Together they accept
/// exactly the documents that [`crate::registry::validate`] accepts.
pub trait Contract: DeserializeOwned + Serialize + Registered {
    /// Name of the contract.
    const NAME: SchemaName;

    /// Checks meaning and consistency within the document.
    fn check(&self, report: &mut Report);
}

/// Parses a submitted document from its bytes.
///
/// # Errors
/// Every violation, in the order of the stages; a later stage runs only if the earlier ones found nothing.
/// the earlier ones found nothing.
pub fn parse<T: Contract>(bytes: &[u8]) -> Result<T, Vec<Violation>> {
    parse_within(bytes, Profile::MESSAGE)
}

/// Parses a stored document, which an older version may have allowed to nest deeper.
///
/// # Errors
/// As [`parse`].
pub fn parse_stored<T: Contract>(text: &str) -> Result<T, Vec<Violation>> {
    parse_within(text.as_bytes(), Profile::STORED)
}

/// Parses a document from bytes within a profile.
///
/// # Errors
/// As [`parse`].
pub(crate) fn parse_within<T: Contract>(
    bytes: &[u8],
    profile: Profile,
) -> Result<T, Vec<Violation>> {
    parse_text(&measure(bytes, profile)?)
}

/// Measures a submitted document, so that it can be parsed.
///
/// # Errors
/// One violation of the stage `structure`.
pub fn measure(bytes: &[u8], profile: Profile) -> Result<JsonText<'_>, Vec<Violation>> {
    // Validating UTF-8 once for the whole text is cheaper than once per string.
    JsonText::measure(bytes, profile).map_err(|fault| vec![unread(&fault)])
}

/// Parses a measured document.
///
/// # Errors
/// As [`parse`].
pub fn parse_text<T: Contract>(text: &JsonText<'_>) -> Result<T, Vec<Violation>> {
    match text.parse::<T>() {
        Ok(document) => {
            let mut report = Report::new();
            document.check(&mut report);
            if report.violations.is_empty() {
                Ok(document)
            } else {
                Err(report.violations)
            }
        }
        Err(_) => parse_slowly(text),
    }
}

/// The slow path, for documents that are wrong or use a spelling that is not stored.
#[cold]
fn parse_slowly<T: Contract>(text: &JsonText<'_>) -> Result<T, Vec<Violation>> {
    let (document, _) = read_value::<T>(&value_of(text)?)?;
    // Deserialising from a `Value` cannot detect a duplicate field.
    match text.parse::<T>() {
        Err(error) if error.is_data() && is_duplicate(&error) => {
            Err(vec![structure(error.to_string())])
        }
        Ok(_) | Err(_) => Ok(document),
    }
}

/// Parses a measured document as a value.
pub(crate) fn value_of(text: &JsonText<'_>) -> Result<Value, Vec<Violation>> {
    let value = text.parse::<Value>();
    value.map_err(|error| vec![unread(&JsonFault::Form(error))])
}

/// serde reports a duplicate field only in its message.
pub(crate) fn is_duplicate(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("duplicate field")
}

/// Parses JSON; a syntax error has its line and column.
///
/// # Errors
/// One violation of the stage `structure`.
pub fn parse_json(bytes: &[u8], profile: Profile) -> Result<Value, Vec<Violation>> {
    value_of(&measure(bytes, profile)?)
}

/// Reads a parsed value, with its warnings.
///
/// # Errors
/// Every violation of the first stage that found one.
pub fn read_value<T: Contract>(value: &Value) -> Result<(T, Vec<Violation>), Vec<Violation>> {
    let mut report = Report::new();
    let entry = T::entry();
    match (entry.checker(), entry.json().as_object()) {
        // The schema is Charter's own, so the work is linear in the value.
        (Ok(checker), Some(schema)) => {
            describe::collect(checker, schema, value, usize::MAX, &mut report);
        }
        (Ok(_), None) => report.push(structure(format!(
            "the schema `{}` is not an object",
            T::NAME
        ))),
        (Err(broken), _) => report.push(structure(broken.to_string())),
    }
    if !report.violations.is_empty() {
        return Err(report.violations);
    }
    let stored = crate::schema::stored_form(value, entry.aliases(), &mut report);
    if !report.violations.is_empty() {
        return Err(report.violations);
    }
    let document = T::deserialize(&*stored).map_err(|error| vec![structure(error.to_string())])?;
    document.check(&mut report);
    if report.violations.is_empty() {
        Ok((document, report.warnings))
    } else {
        Err(report.violations)
    }
}

/// Returns every violation of a schema inside a document; the pointers start at the value.
pub(crate) fn violations_of(
    checker: &Checker,
    schema: &Map<String, Value>,
    value: &Value,
    steps: usize,
) -> Vec<Violation> {
    let mut report = Report::new();
    describe::collect(checker, schema, value, steps, &mut report);
    report.violations
}

/// Returns the violation for an unreadable document, with a pointer to the number if a number is the cause.
pub(crate) fn unread(fault: &JsonFault) -> Violation {
    let pointer = match fault {
        JsonFault::TooMuch(JsonLimitExceeded::Number { pointer, .. }) => pointer.clone(),
        JsonFault::TooMuch(
            JsonLimitExceeded::Bytes { .. }
            | JsonLimitExceeded::Levels { .. }
            | JsonLimitExceeded::Memory { .. },
        )
        | JsonFault::Form(_) => String::new(),
    };
    Violation {
        pointer,
        ..structure(fault.to_string())
    }
}

/// A violation of the stage `structure` at the root.
pub(crate) fn structure(message: String) -> Violation {
    Violation {
        stage: Stage::Structure,
        pointer: String::new(),
        keyword: "json".to_owned(),
        message,
        suggestion: None,
    }
}
