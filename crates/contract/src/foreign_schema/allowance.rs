//! The shared budget of all schemas and patterns of a package, or of an MCP server. Must not know their purpose.

use serde_json::{Map, Value};

use super::ForeignSchema;
use super::outline::PATTERN_PART;
use super::patterns;
use crate::bounds::{PACKAGE_SCHEMA_PARTS, SERVER_SCHEMA_PARTS};

/// Cost of a schema that turns out to be unusable, because finding that out takes work too.
const FAULTY_PARTS: usize = 10_000;

/// The remaining budget for further documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaAllowance {
    remaining: usize,
    spent: SchemaAllowanceSpent,
}

/// Error: the budget is exhausted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "its schemas and patterns, with the previous ones, exceed the limit {limit} of {most}: describe fewer parts, or \
     spread them over more than one {of}"
)]
pub struct SchemaAllowanceSpent {
    limit: &'static str,
    most: usize,
    of: &'static str,
}

impl SchemaAllowance {
    /// Returns the budget of a package.
    #[must_use]
    pub const fn of_package() -> Self {
        Self {
            remaining: PACKAGE_SCHEMA_PARTS,
            spent: SchemaAllowanceSpent {
                limit: "PACKAGE_SCHEMA_PARTS",
                most: PACKAGE_SCHEMA_PARTS,
                of: "package",
            },
        }
    }

    /// Returns the budget of an MCP server.
    #[must_use]
    pub const fn of_server() -> Self {
        Self {
            remaining: SERVER_SCHEMA_PARTS,
            spent: SchemaAllowanceSpent {
                limit: "SERVER_SCHEMA_PARTS",
                most: SERVER_SCHEMA_PARTS,
                of: "server",
            },
        }
    }

    /// Takes the cost of a document before it is read, without compiling its schemas.
    ///
    /// # Errors
    /// If too little is left. The document must not be read.
    pub fn take(&mut self, document: &Value) -> Result<(), SchemaAllowanceSpent> {
        match document {
            Value::Object(fields) => fields
                .iter()
                .try_for_each(|(name, value)| self.take_field(name, value)),
            Value::Array(items) => items.iter().try_for_each(|item| self.take(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    /// Takes the cost of a schema.
    ///
    /// # Errors
    /// If too little is left.
    pub fn take_schema(&mut self, schema: &Map<String, Value>) -> Result<(), SchemaAllowanceSpent> {
        // Measuring costs work, so it must stop when the budget is exhausted.
        self.take_parts(1)?;
        let parts = ForeignSchema::from(schema.clone()).parts();
        self.take_parts(parts.unwrap_or(FAULTY_PARTS))
    }

    fn take_field(&mut self, name: &str, value: &Value) -> Result<(), SchemaAllowanceSpent> {
        match (name, value) {
            (
                "input_schema" | "output_schema" | "payload_schema" | "result_schema" | "schema",
                Value::Object(schema),
            ) => self.take_schema(schema),
            ("pattern", Value::String(pattern)) => {
                self.take_parts(1)?;
                self.take_parts(patterns::memory(pattern) / PATTERN_PART)
            }
            (_, value) => self.take(value),
        }
    }

    fn take_parts(&mut self, parts: usize) -> Result<(), SchemaAllowanceSpent> {
        match self.remaining.checked_sub(parts) {
            Some(remaining) => {
                self.remaining = remaining;
                Ok(())
            }
            None => {
                // A smaller schema may still fit.
                self.remaining = self.remaining.saturating_sub(FAULTY_PARTS);
                Err(self.spent)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_are_read_until_the_allowance_is_spent() {
        let fields = (0..1_000).map(|at| (format!("f{at}"), json!({"type": "string"})));
        let fields: Map<String, Value> = fields.collect();
        let document = json!({"write_backs": [{"payload_schema": {"properties": fields}}]});
        let mut allowance = SchemaAllowance::of_package();
        let read = (0..1_000).take_while(|_| allowance.take(&document).is_ok());
        let read = read.count();
        assert!((20..40).contains(&read), "{read}");
        let spent = allowance.take(&document).unwrap_err().to_string();
        assert_eq!(
            spent,
            "its schemas and patterns, with the previous ones, exceed the limit PACKAGE_SCHEMA_PARTS of 1000000: \
             describe fewer parts, or spread them over more than one package"
        );
        // A document without schemas is still read.
        assert_eq!(allowance.take(&json!({"name": "x", "skills": [1]})), Ok(()));
    }

    #[test]
    fn an_oversized_schema_leaves_room_for_others_until_the_work_is_spent() {
        let fields = |count: usize| {
            let fields = (0..count).map(|at| (format!("f{at}"), json!({"type": "string"})));
            let fields: Map<String, Value> = fields.collect();
            json!({"output_schema": {"properties": fields}})
        };
        let (large, small) = (fields(1_000), fields(2));
        let mut allowance = SchemaAllowance::of_server();
        allowance.remaining = 3 * FAULTY_PARTS / 2;
        assert!(allowance.take(&large).is_err());
        assert_eq!(allowance.take(&small), Ok(()));
        assert!(allowance.take(&large).is_err());
        assert_eq!(allowance.remaining, 0);
        assert!(allowance.take(&small).is_err());
    }

    #[test]
    fn patterns_and_faulty_schemas_use_the_allowance() {
        let count = |document: Value| {
            let mut allowance = SchemaAllowance::of_server();
            (0..10_000)
                .take_while(|_| allowance.take(&document).is_ok())
                .count()
        };
        assert!(count(json!({"parameters": [{"pattern": "^[a-z]+$"}]})) > 1_000);
        assert!(count(json!({"parameters": {"pattern": "*.log"}})) > 1_000);
        assert_eq!(count(json!({"pattern": "(a{1000}){1000}"})), 12);
        assert_eq!(count(json!({"output_schema": {"$ref": "#"}})), 19);
    }
}
