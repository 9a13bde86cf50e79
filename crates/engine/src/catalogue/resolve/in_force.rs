//! A document in force, with its origin and layer.

use std::borrow::Cow;
use std::sync::Arc;

use charter_contract::ids::PackageName;
use charter_domain::catalogue::{CatalogueEntry, ResolvedDocument, WinningLayer};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

/// A document in force, with its layer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "{T}InForce")]
pub struct InForce<T> {
    /// The document.
    #[serde(flatten)]
    entry: Shown<T>,
    /// The layer that won.
    pub layer: WinningLayer,
}

/// Serialises an entry as its document and origin.
#[derive(Debug, Clone)]
struct Shown<T>(Arc<CatalogueEntry<T>>);

impl<T: Serialize> Serialize for Shown<T> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = to.serialize_map(Some(3))?;
        map.serialize_entry("document", &self.0.document)?;
        map.serialize_entry("package", &self.0.origin.package)?;
        map.serialize_entry("package_version", &self.0.origin.version)?;
        map.end()
    }
}

impl<T: JsonSchema> JsonSchema for Shown<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Shown".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "document": generator.subschema_for::<T>(),
                "package": generator.subschema_for::<PackageName>(),
                "package_version": generator.subschema_for::<String>(),
            },
            "required": ["document", "package", "package_version"],
        })
    }
}

impl<T> InForce<T> {
    /// Returns the document itself.
    #[must_use]
    pub fn document(&self) -> &T {
        &self.entry.0.document
    }

    /// Returns the hash of its content.
    pub(crate) fn content_hash(&self) -> &str {
        &self.entry.0.content_hash
    }
}

impl<T> From<ResolvedDocument<T>> for InForce<T> {
    fn from(found: ResolvedDocument<T>) -> Self {
        Self {
            entry: Shown(found.entry),
            layer: found.won,
        }
    }
}
