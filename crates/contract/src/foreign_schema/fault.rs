//! Why a schema is not used, with the place in it and what to do about it. Must not know how that is found out.

use crate::bounds;

/// Most characters of a pointer in a sentence.
const MAX_SHOWN: usize = 80;

/// Why no value can be checked against a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaFault {
    /// Compiling it, or checking values against it, could take too much.
    #[error("{} exceeds the limit {limit} of {most}: {advice}", place(.pointer))]
    OverLimit {
        /// Where, as a JSON pointer into the schema.
        pointer: String,
        /// The limit's name, as the documentation has it.
        limit: &'static str,
        /// Its value.
        most: usize,
        /// What to do next.
        advice: &'static str,
    },
    /// It uses what is not supported, or refers to what is not there.
    #[error("{} {what}", place(.pointer))]
    Unsupported {
        /// Where, as a JSON pointer into the schema.
        pointer: String,
        /// What, and what to do next.
        what: String,
    },
    /// It does not compile.
    #[error("not a JSON Schema: {0}")]
    NotASchema(String),
}

impl SchemaFault {
    /// Where the fault is, as a JSON pointer into the schema; empty for the whole of it.
    #[must_use]
    pub fn pointer(&self) -> &str {
        match self {
            Self::OverLimit { pointer, .. } | Self::Unsupported { pointer, .. } => pointer,
            Self::NotASchema(_) => "",
        }
    }

    /// The rule that is broken, as reports of violations name it.
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

fn place(pointer: &str) -> String {
    if pointer.is_empty() {
        return "the schema".to_owned();
    }
    match pointer.char_indices().nth(MAX_SHOWN) {
        Some((cut, _)) => format!("`{}…`", &pointer[..cut]),
        None => format!("`{pointer}`"),
    }
}

/// A limit of schemas.
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
    /// Refuses what is over the limit.
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
    fn a_fault_says_where_and_which_limit() {
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
