//! The arguments of a tool's calls: the JSON Schema that describes them, and its parameters.
//!
//! A tool declares a JSON Schema (`input_schema`), or the flat list of seed 000 (`parameters`), which is a shorthand
//! for one. Must not know the tool, or the handling of arguments that are refused.

mod cut;
mod list;
mod names;
mod properties;
mod reader;
mod shape;
mod types;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::foreign_schema::ForeignSchema;
use crate::parameter::Parameter;
use crate::violation::Violation;

pub use list::{property_of, schema_of};
pub use shape::{Field, Shape};

use reader::Reading;

/// The arguments of one tool.
#[derive(Debug, Clone)]
pub struct ToolInput {
    schema: ForeignSchema,
    form: InputForm,
    reading: Reading,
    /// Names in the schema, where they differ from the names of the parameters.
    wire_names: BTreeMap<String, String>,
}

/// The form in which a tool declares its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputForm {
    /// A flat list of parameters.
    List,
    /// A JSON Schema.
    Schema,
}

/// An argument that cannot be a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmittedArgument {
    /// Its name in the schema.
    pub name: String,
    /// Whether each call needs it, so that the tool cannot be called.
    pub required: bool,
    /// The reason.
    pub reason: String,
}

/// A default that the schema of its argument does not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnfitDefault {
    /// The argument's name in the schema.
    pub name: String,
    /// The default.
    pub value: Value,
}

impl ToolInput {
    /// Converts a flat list of parameters.
    #[must_use]
    pub fn from_list(parameters: &[Parameter]) -> Self {
        let shapes = parameters.iter().map(|parameter| {
            let shape = Shape::of_type(parameter.kind);
            (parameter.name.to_string(), shape)
        });
        let reading = Reading {
            shapes: shapes.collect(),
            parameters: parameters.to_vec(),
            ..Reading::default()
        };
        Self {
            schema: schema_of(parameters).into(),
            form: InputForm::List,
            wire_names: wire_names(parameters),
            reading,
        }
    }

    /// Reads the parameters of a JSON Schema. Terminates for every schema, also for an unusable one.
    #[must_use]
    pub fn from_schema(schema: &ForeignSchema) -> Self {
        let reading = reader::read(schema.json());
        Self {
            schema: schema.clone(),
            form: InputForm::Schema,
            wire_names: wire_names(&reading.parameters),
            reading,
        }
    }

    /// Returns the parameters: the list, or those that the schema describes at its top level.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.reading.parameters
    }

    /// Returns the JSON Schema of the arguments: as written, or converted from the list.
    #[must_use]
    pub fn schema(&self) -> &ForeignSchema {
        &self.schema
    }

    /// Returns the form in which the arguments are declared.
    #[must_use]
    pub fn form(&self) -> InputForm {
        self.form
    }

    /// Whether a call may have arguments that the schema does not describe, of any name.
    #[must_use]
    pub fn takes_any_name(&self) -> bool {
        self.reading.further.any
    }

    /// Returns the patterns of further names that a call may use (`patternProperties`).
    #[must_use]
    pub fn name_patterns(&self) -> &[String] {
        &self.reading.further.patterns
    }

    /// Returns the shape of a parameter's values.
    #[must_use]
    pub fn shape(&self, parameter: &Parameter) -> Option<&Shape> {
        self.reading.shapes.get(parameter.name.as_str())
    }

    /// Returns the arguments that the schema describes and that cannot be parameters.
    #[must_use]
    pub fn omitted(&self) -> &[OmittedArgument] {
        &self.reading.omitted
    }

    /// Returns the defaults that are not used, because their own schemas do not allow them.
    #[must_use]
    pub fn unfit_defaults(&self) -> &[UnfitDefault] {
        &self.reading.unfit_defaults
    }

    /// Returns all violations of the schema in the arguments of a call, with pointers into the arguments by the
    /// schema's names. `bound` has the names of the parameters, defaults, and no null. May take as long as
    /// [`ForeignSchema::violations`].
    #[must_use]
    pub fn violations(&self, bound: &Map<String, Value>) -> Vec<Violation> {
        self.schema
            .violations(&Value::Object(self.arguments(bound)))
    }

    /// Returns the arguments by the schema's names, with null for absent ones that are required and may be null.
    fn arguments(&self, bound: &Map<String, Value>) -> Map<String, Value> {
        let named = bound.iter().map(|(name, value)| {
            let wire_name = self.wire_names.get(name).unwrap_or(name);
            (wire_name.clone(), value.clone())
        });
        let mut arguments: Map<String, Value> = named.collect();
        for name in &self.reading.null_when_absent {
            arguments.entry(name.clone()).or_insert(Value::Null);
        }
        arguments
    }
}

/// Returns the required arguments of a schema that may be null.
#[must_use]
pub fn null_when_absent(schema: &Map<String, Value>) -> Vec<String> {
    reader::null_when_absent(schema)
}

fn wire_names(parameters: &[Parameter]) -> BTreeMap<String, String> {
    let renamed = parameters.iter().filter_map(|parameter| {
        let wire_name = parameter.wire_name.as_ref()?;
        Some((parameter.name.to_string(), wire_name.to_string()))
    });
    renamed.collect()
}

#[cfg(test)]
mod tests;
