//! Shapes of text, and the errors for a text of another shape or outside of a closed vocabulary. It knows neither an id
//! nor a vocabulary.

use std::fmt;

use schemars::{Schema, json_schema};
use serde::Deserializer;
use serde::de::Visitor;

use crate::shorten;

/// Maximum length of a catalogue id, in bytes (ids are ASCII).
pub const MAX_ID_LENGTH: usize = 200;

/// Most characters of a refused text that an error quotes.
const MAX_QUOTED: usize = 80;

/// A shape of text: a function that recognises it, and its JSON Schema.
///
/// `accepts` and `pattern` state the same rule twice, once fast and once for other validators; a property test
/// compares them.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    accepts: fn(&str) -> bool,
    rule: Rule,
    expected: &'static str,
}

/// The form of a shape in a JSON Schema.
#[derive(Debug, Clone, Copy)]
enum Rule {
    Pattern(&'static str),
    MinLength(u64),
    Lengths(u64, u64),
}

impl Shape {
    /// A shape defined by a regular expression of the ECMA dialect.
    pub(crate) const fn pattern(
        accepts: fn(&str) -> bool,
        pattern: &'static str,
        expected: &'static str,
    ) -> Self {
        Self {
            accepts,
            rule: Rule::Pattern(pattern),
            expected,
        }
    }

    /// Any text that is not empty.
    pub(crate) const fn not_empty() -> Self {
        Self {
            accepts: |text| !text.is_empty(),
            rule: Rule::MinLength(1),
            expected: "text that is not empty",
        }
    }

    /// Any text of 1 to `MAX_ID_LENGTH` characters.
    pub(crate) const fn short_text() -> Self {
        Self {
            accepts: |text| {
                !text.is_empty()
                    && (text.len() <= MAX_ID_LENGTH || text.chars().count() <= MAX_ID_LENGTH)
            },
            rule: Rule::Lengths(1, MAX_ID_LENGTH as u64),
            expected: "text of 1 to 200 characters",
        }
    }

    /// Whether `text` has this shape.
    #[must_use]
    pub fn accepts(&self, text: &str) -> bool {
        (self.accepts)(text)
    }

    /// Returns a description of the shape.
    #[must_use]
    pub const fn expected(&self) -> &'static str {
        self.expected
    }

    /// Returns the JSON Schema of the shape.
    pub(crate) fn json_schema(&self) -> Schema {
        match self.rule {
            Rule::Pattern(pattern) => json_schema!({ "type": "string", "pattern": pattern }),
            Rule::MinLength(length) => json_schema!({ "type": "string", "minLength": length }),
            Rule::Lengths(min, max) => {
                json_schema!({ "type": "string", "minLength": min, "maxLength": max })
            }
        }
    }
}

/// Returns the indefinite article of a type's name.
fn article(name: &str) -> &'static str {
    match name.starts_with(['A', 'E', 'I', 'O']) {
        true => "an",
        false => "a",
    }
}

/// Error: text that is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {} {kind}: expected {expected}", article(.kind))]
pub struct IdError {
    kind: &'static str,
    text: String,
    expected: &'static str,
}

impl IdError {
    pub(crate) fn new(kind: &'static str, text: &str, shape: &Shape) -> Self {
        Self {
            kind,
            text: shorten::to_chars(text, MAX_QUOTED).into_owned(),
            expected: shape.expected,
        }
    }

    /// Returns the type that refused the text, e.g. `SkillId`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        self.kind
    }
}

/// Error: a word outside a closed vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {} {kind}: expected one of {}", article(.kind), .allowed.join(", "))]
pub struct UnknownValue {
    kind: &'static str,
    text: String,
    allowed: &'static [&'static str],
}

impl UnknownValue {
    pub(crate) fn new(kind: &'static str, text: &str, allowed: &'static [&'static str]) -> Self {
        Self {
            kind,
            text: shorten::to_chars(text, MAX_QUOTED).into_owned(),
            allowed,
        }
    }

    /// Returns the accepted words.
    #[must_use]
    pub const fn allowed(&self) -> &'static [&'static str] {
        self.allowed
    }
}

/// Deserialises a string through `parse` without an intermediate `String`.
pub(crate) fn deserialize_str<'de, D, T, E>(
    from: D,
    kind: &'static str,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    E: fmt::Display,
{
    struct Text<P>(P, &'static str);

    impl<T, E: fmt::Display, P: Fn(&str) -> Result<T, E>> Visitor<'_> for Text<P> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a string ({})", self.1)
        }

        fn visit_str<X: serde::de::Error>(self, text: &str) -> Result<T, X> {
            (self.0)(text).map_err(X::custom)
        }
    }

    from.deserialize_str(Text(parse, kind))
}
