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
    /// Returns the contract with this name.
    #[must_use]
    pub fn entry(self) -> &'static SchemaEntry {
        // The registry has the order of the enum, which a test checks.
        &entries::ENTRIES[self as usize]
    }
}

/// Returns all contracts, in the order of [`SchemaName::ALL`].
pub fn all() -> impl ExactSizeIterator<Item = &'static SchemaEntry> {
    entries::ENTRIES.iter()
}

/// Returns the contract with a name; `-` is read as `_`.
#[must_use]
pub fn get(name: &str) -> Option<&'static SchemaEntry> {
    name.replace('-', "_")
        .parse::<SchemaName>()
        .ok()
        .map(SchemaName::entry)
}

/// Returns every violation of a value; none if it is acceptable.
#[must_use]
pub fn validate(name: SchemaName, value: &Value) -> Vec<Violation> {
    inspect(name, value).violations
}

/// Returns every violation, or the warnings of an acceptable value.
#[must_use]
pub fn inspect(name: SchemaName, value: &Value) -> Report {
    name.entry().inspect(value)
}

/// Returns a schema that refers to a contract by its id. [`inline_contracts`] replaces the reference with the
/// contract, [`replace_contracts`] with another reference.
#[must_use]
pub fn reference(name: SchemaName) -> Schema {
    schemars::json_schema!({"$ref": name.entry().id()})
}

/// Replaces references to contracts with the contracts.
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

/// Returns the contract that a reference identifies by its id.
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
