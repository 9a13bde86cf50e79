//! The state that every part of reading an operation shares.

use charter_contract::bounds::IMPORT_INPUT_VALUES;
use serde_json::{Map, Value};

use super::Dialect;
use super::security::SecuritySchemes;
use super::servers::Servers;
use crate::documents::{DocumentSet, Part};
use crate::schema::{Direction, SchemaTranslator};

/// The documents of an import, and what was read of them before the operations.
#[derive(Debug)]
pub(super) struct OperationReader<'r, 'd> {
    pub(super) documents: &'d DocumentSet,
    pub(super) dialect: Dialect,
    pub(super) translator: &'r SchemaTranslator<'d>,
    pub(super) schemes: &'r SecuritySchemes,
    pub(super) servers: &'r Servers<'d>,
}

impl<'d> OperationReader<'_, 'd> {
    /// Translates the schema of arguments.
    pub(super) fn input_schema(
        &self,
        schema: Part<'d>,
        direction: Direction,
    ) -> Result<Map<String, Value>, String> {
        let translated = self
            .translator
            .translate(schema, direction, IMPORT_INPUT_VALUES);
        translated.map_err(|error| error.to_string())
    }

    /// Returns the parameters of a path and its operation, the operation's first, without those that lead to nothing.
    pub(super) fn parameters(&self, item: Part<'d>, operation: Part<'d>) -> Vec<Part<'d>> {
        let levels = [operation, item].into_iter();
        let declared = levels.filter_map(|level| level.member("parameters"));
        let followed = declared
            .flat_map(Part::items)
            .filter_map(|parameter| self.documents.follow(parameter).ok());
        followed.collect()
    }
}
