//! Reading and judging documents. A well-formed document takes the typed path
//! straight from its bytes; only a document that fails is looked at again, slowly,
//! to report everything that is wrong with it.

mod describe;
mod guess;
mod listing;
mod suggest;

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::charset;
use crate::json::{self, JsonFault, JsonLimitExceeded, Profile};
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
/// Deserialising enforces everything that the schema says; `check` adds what it
/// cannot say. Together they accept exactly what [`crate::registry::validate`] accepts.
pub trait Contract: DeserializeOwned + Serialize + Registered {
    /// The contract.
    const NAME: SchemaName;

    /// Checks of meaning and consistency within the document.
    fn check(&self, report: &mut Report);
}

/// Reads a document that was sent from its bytes.
///
/// # Errors
/// Every violation, in the order of the stages; a later stage is reached only when
/// the earlier ones found nothing.
pub fn parse<T: Contract>(bytes: &[u8]) -> Result<T, Vec<Violation>> {
    parse_within(bytes, Profile::MESSAGE)
}

/// Reads a document that is stored, which older versions may have let be deeper.
///
/// # Errors
/// As [`parse`].
pub fn parse_stored<T: Contract>(text: &str) -> Result<T, Vec<Violation>> {
    parse_within(text.as_bytes(), Profile::STORED)
}

/// Reads a document from bytes of which a profile says how much they may be.
///
/// # Errors
/// As [`parse`].
pub(crate) fn parse_within<T: Contract>(
    bytes: &[u8],
    profile: Profile,
) -> Result<T, Vec<Violation>> {
    // UTF-8 is checked once for the whole text, which is cheaper than once per string.
    let text = text_of(bytes)?;
    match json::decode_text::<T>(&text, profile) {
        Ok(document) => {
            let mut report = Report::new();
            document.check(&mut report);
            if report.violations.is_empty() {
                Ok(document)
            } else {
                Err(report.violations)
            }
        }
        Err(much @ JsonFault::TooMuch(_)) => Err(vec![unread(&much)]),
        Err(JsonFault::Form(_)) => parse_slowly(&text, profile),
    }
}

/// The path of documents that are wrong, or use an accepted spelling that is not stored.
#[cold]
fn parse_slowly<T: Contract>(text: &str, profile: Profile) -> Result<T, Vec<Violation>> {
    let value = parse_json(text.as_bytes(), profile)?;
    let (document, _) = read_value::<T>(&value)?;
    // A typed value from a `Value` cannot see a field that was given twice.
    match json::decode_text::<T>(text, profile) {
        Err(JsonFault::Form(error)) if error.is_data() && is_duplicate(&error) => {
            Err(vec![structure(error.to_string())])
        }
        Ok(_) | Err(_) => Ok(document),
    }
}

/// serde reports a field that was given twice only in words.
pub(crate) fn is_duplicate(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("duplicate field")
}

/// Reads JSON, and says with line and column why it is none.
///
/// # Errors
/// One violation of the stage `structure`.
pub fn parse_json(bytes: &[u8], profile: Profile) -> Result<Value, Vec<Violation>> {
    let text = text_of(bytes)?;
    json::decode_text(&text, profile).map_err(|fault| vec![unread(&fault)])
}

pub(crate) fn text_of(bytes: &[u8]) -> Result<Cow<'_, str>, Vec<Violation>> {
    charset::document(bytes, None).map_err(|malformed| vec![structure(malformed.to_string())])
}

/// Reads a value that is JSON already, with the warnings about it.
///
/// # Errors
/// Every violation of the first stage that found one.
pub fn read_value<T: Contract>(value: &Value) -> Result<(T, Vec<Violation>), Vec<Violation>> {
    let mut report = Report::new();
    let entry = T::entry();
    match (entry.checker(), entry.json().as_object()) {
        // The schema is ours, so its work grows with the value and no faster.
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

/// Every violation of a schema that a document brings along; its pointers start at the value.
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

/// The violation for a document that could not be read, with a pointer to the number if a number is the cause.
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
