//! All contracts, by name. The one module that knows every type of them.

mod entries;
mod file;
mod typed;

use schemars::Schema;
use serde_json::Value;

use crate::schema::{SchemaEntry, SchemaName};
use crate::validate::{Contract, read_value};
use crate::violation::{Report, Violation};

pub use file::of_packages;
pub use typed::{parse_typed, read_typed};

impl SchemaName {
    /// The contract of this name.
    #[must_use]
    pub fn entry(self) -> &'static SchemaEntry {
        // The registry is in the order of the enum; a test holds them together.
        &entries::ENTRIES[self as usize]
    }
}

/// Every contract, in the order of [`SchemaName::ALL`].
pub fn all() -> impl ExactSizeIterator<Item = &'static SchemaEntry> {
    entries::ENTRIES.iter()
}

/// The contract of a name; `-` is read as `_`.
#[must_use]
pub fn get(name: &str) -> Option<&'static SchemaEntry> {
    name.replace('-', "_")
        .parse::<SchemaName>()
        .ok()
        .map(SchemaName::entry)
}

/// Every violation of a value; none when it is acceptable.
#[must_use]
pub fn validate(name: SchemaName, value: &Value) -> Vec<Violation> {
    inspect(name, value).violations
}

/// Every violation, or the warnings of an acceptable value.
#[must_use]
pub fn inspect(name: SchemaName, value: &Value) -> Report {
    name.entry().inspect(value)
}

/// A schema that refers to a contract by its id. What is made of it puts the contract in its place
/// ([`inline_contracts`]), or a reference of its own ([`replace_contracts`]).
#[must_use]
pub fn reference(name: SchemaName) -> Schema {
    schemars::json_schema!({"$ref": name.entry().id()})
}

/// Puts contracts in the place of references to them.
pub(crate) fn inline_contracts(schema: &mut Value) {
    replace_contracts(schema, &|entry: &'static SchemaEntry| {
        let mut contract = entry.json().clone();
        if let Some(fields) = contract.as_object_mut() {
            fields.remove("$id");
            fields.remove("$schema");
        }
        contract
    });
}

/// Replaces references to contracts.
pub fn replace_contracts(schema: &mut Value, replace: &impl Fn(&'static SchemaEntry) -> Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(entry) = fields.get("$ref").and_then(entry_of) {
                *schema = replace(entry);
                return;
            }
            let parts = fields.values_mut();
            parts.for_each(|part| replace_contracts(part, replace));
        }
        Value::Array(parts) => {
            let parts = parts.iter_mut();
            parts.for_each(|part| replace_contracts(part, replace));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The contract that a reference leads to by its id.
fn entry_of(reference: &Value) -> Option<&'static SchemaEntry> {
    all().find(|entry| *reference == entry.id())
}

/// Every stage of validation on a value of a contract.
fn inspect_as<T: Contract>(value: &Value) -> Report {
    match read_value::<T>(value) {
        Ok((_, warnings)) => Report {
            violations: Vec::new(),
            warnings,
        },
        Err(violations) => Report {
            violations,
            warnings: Vec::new(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_is_in_the_order_of_the_names() {
        assert_eq!(SchemaName::ALL.len(), all().len());
        for name in SchemaName::ALL {
            assert_eq!(name.entry().name, *name);
        }
    }

    #[test]
    fn every_schema_compiles_and_names_its_source() {
        for entry in all() {
            assert!(entry.checker().is_ok(), "{:?}", entry.checker().err());
            assert!(entry.json().is_object(), "{}", entry.name);
            assert!(jsonschema::meta::is_valid(entry.json()), "{}", entry.name);
        }
    }
}
