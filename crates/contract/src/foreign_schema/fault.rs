//! The reason why a schema is unusable, with its location and the remedy. Must not know how the fault is detected.

use crate::bounds;

use crate::shorten;

/// Maximum length of a pointer in a message, in characters.
const MAX_SHOWN: usize = 80;

/// The reason why no value can be validated against a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaFault {
    /// Compiling the schema, or validating against it, could exceed a limit.
    #[error("{} exceeds the limit {limit} of {most}: {advice}", quoted_pointer(.pointer))]
    OverLimit {
        /// Location, as a JSON pointer into the schema.
        pointer: String,
        /// Name of the limit, as in the documentation.
        limit: &'static str,
        /// Value of the limit.
        most: usize,
        /// Advice for the author.
        advice: &'static str,
    },
    /// The schema uses an unsupported feature or has a dangling reference.
    #[error("{} {what}", quoted_pointer(.pointer))]
    Unsupported {
        /// Location, as a JSON pointer into the schema.
        pointer: String,
        /// Description of the fault, with advice.
        what: String,
    },
    /// The schema does not compile.
    #[error("not a JSON Schema: {0}")]
    NotASchema(String),
}

impl SchemaFault {
    /// Returns the location as a JSON pointer into the schema; empty for the whole schema.
    #[must_use]
    pub fn pointer(&self) -> &str {
        match self {
            Self::OverLimit { pointer, .. } | Self::Unsupported { pointer, .. } => pointer,
            Self::NotASchema(_) => "",
        }
    }

    /// Returns the keyword for reports of violations.
    #[must_use]
    pub fn keyword(&self) -> &'static str {
        match self {
            Self::OverLimit { .. } => "schema_limit",
            Self::Unsupported { .. } | Self::NotASchema(_) => "json_schema",
        }
    }

    pub(super) fn unsupported(pointer: &str, what: String) -> Self {
        Self::Unsupported {
            pointer: pointer.to_owned(),
            what,
        }
    }
}

fn quoted_pointer(pointer: &str) -> String {
    if pointer.is_empty() {
        return "the schema".to_owned();
    }
    format!("`{}`", shorten::to_chars(pointer, MAX_SHOWN))
}

/// A limit on schemas.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    name: &'static str,
    most: usize,
    advice: &'static str,
}

/// Declares limits by the names of their values in [`bounds`].
macro_rules! limits {
    ($( $limit:ident = $bound:ident, $advice:literal; )+) => {
        $( pub(super) const $limit: Limit = Limit {
            name: stringify!($bound),
            most: bounds::$bound,
            advice: $advice,
        }; )+
    };
}

limits! {
    LEVELS = JSON_LEVELS, "nest it less deep";
    VALUES = SCHEMA_VALUES, "list fewer values";
    TEXT = SCHEMA_TEXT, "shorten names, texts and lists";
    SUBSCHEMAS = SCHEMA_SUBSCHEMAS, "describe fewer parts";
    REFERENCES = SCHEMA_REFERENCES, "refer to parts less often";
    POINTER = SCHEMA_POINTER, "use shorter names, or nest it less deep";
    CHAIN = SCHEMA_CHAIN, "let fewer subschemas apply to one value by way of each other";
    EXPANSION = SCHEMA_EXPANSION, "refer less often to subschemas that refer to others themselves";
    CONSTANTS = SCHEMA_CONSTANTS, "leave `true` and `false` out of lists of subschemas";
    PARTS = SCHEMA_PARTS, "put `unevaluatedProperties` on fewer subschemas, or describe fewer parts";
    PATTERNS = SCHEMA_PATTERNS, "use fewer regular expressions";
    PATTERN_TEXT = SCHEMA_PATTERN_TEXT, "shorten the regular expressions";
    PATTERN_MEMORY = SCHEMA_PATTERN_MEMORY, "repeat less in regular expressions, as `{1,1000}` does";
}

impl Limit {
    /// Returns an error if `amount` exceeds the limit.
    pub(super) fn check(&self, amount: usize, pointer: &str) -> Result<(), SchemaFault> {
        if amount > self.most {
            Err(self.exceeded(pointer))
        } else {
            Ok(())
        }
    }

    pub(super) fn exceeded(&self, pointer: &str) -> SchemaFault {
        SchemaFault::OverLimit {
            pointer: pointer.to_owned(),
            limit: self.name,
            most: self.most,
            advice: self.advice,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_names_its_pointer_and_limit() {
        let fault = CHAIN.check(33, "/$defs/a").unwrap_err();
        assert_eq!(
            fault.to_string(),
            "`/$defs/a` exceeds the limit SCHEMA_CHAIN of 32: let fewer subschemas apply to one value by way of each \
             other"
        );
        assert_eq!(fault.pointer(), "/$defs/a");
        assert_eq!(CHAIN.check(32, ""), Ok(()));
        let long = "/ä".repeat(500);
        let fault = POINTER.exceeded(&long);
        assert_eq!(fault.pointer(), long);
        assert_eq!(
            fault.to_string(),
            format!(
                "`{}…` exceeds the limit SCHEMA_POINTER of 2048: use shorter names, or nest it less deep",
                "/ä".repeat(40)
            )
        );
        let whole = VALUES.exceeded("").to_string();
        assert_eq!(
            whole,
            "the schema exceeds the limit SCHEMA_VALUES of 20000: list fewer values"
        );
    }
}
