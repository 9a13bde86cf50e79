//! The two forms in which a tool declares its arguments, as one. Must not know the calls of the tool.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::Tool;
use crate::bounds::PARAMETERS;
use crate::foreign_schema::ForeignSchema;
use crate::input_schema::ToolInput;
use crate::parameter::{Parameter, check_parameters};
use crate::violation::{Report, pointer_segment};

/// The arguments of a tool, read on first use. Copies that are made later share the result.
#[derive(Clone, Default)]
pub(super) struct InputCache(OnceLock<Arc<ToolInput>>);

/// The cache follows from the other fields, so it does not count.
impl PartialEq for InputCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for InputCache {}

impl fmt::Debug for InputCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InputCache")
    }
}

impl Tool {
    /// Returns the parameters: the list, or those that `input_schema` describes at its top level.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        match self.input_schema {
            Some(_) => self.input().parameters(),
            None => &self.listed_parameters,
        }
    }

    /// Returns the arguments of a call, from either form.
    #[must_use]
    pub fn input(&self) -> &ToolInput {
        self.input.0.get_or_init(|| {
            Arc::new(match &self.input_schema {
                Some(schema) => ToolInput::from_schema(schema),
                None => ToolInput::from_list(&self.listed_parameters),
            })
        })
    }

    /// Checks the declaration of the arguments.
    pub(super) fn check_input(&self, report: &mut Report) {
        let Some(schema) = &self.input_schema else {
            return check_parameters(&self.listed_parameters, "/parameters", report);
        };
        if !self.listed_parameters.is_empty() {
            let message = "a tool has `parameters` or an `input_schema`, not both".to_owned();
            report.consistency("/input_schema", "parameters", message);
            return;
        }
        let before = report.violations.len();
        check_is_object(schema, report);
        schema.check("/input_schema", report);
        if report.violations.len() == before {
            check_arguments(self.input(), report);
        }
    }
}

/// Reports a schema of values other than objects.
fn check_is_object(schema: &ForeignSchema, report: &mut Report) {
    if let Some(kind) = schema.json().get("type")
        && kind != "object"
    {
        let message = format!("the arguments of a call are an object, not of the type {kind}");
        report.meaning("/input_schema/type", "type", message);
    }
}

/// Reports arguments that cannot be parameters, and defaults that are not used.
fn check_arguments(input: &ToolInput, report: &mut Report) {
    let here = "/input_schema/properties";
    let found = input.parameters().len();
    if found > PARAMETERS {
        let message = format!("describes {found} arguments; the limit PARAMETERS is {PARAMETERS}");
        return report.meaning("/input_schema", "maxItems", message);
    }
    for omitted in input.omitted() {
        let name = &omitted.name;
        let pointer = format!("{here}/{}", pointer_segment(name));
        if omitted.required {
            let message = format!("a call needs the argument `{name}`: {}", omitted.reason);
            report.meaning(pointer, "name", message);
        } else {
            let message = format!("the argument `{name}` cannot be given: {}", omitted.reason);
            report.warn(pointer, "name", message);
        }
    }
    for unfit in input.unfit_defaults() {
        let name = &unfit.name;
        let pointer = format!("{here}/{}/default", pointer_segment(name));
        let message =
            format!("the default of `{name}` is not used: its own schema does not allow it");
        report.warn(pointer, "default", message);
    }
    check_defaults(input, here, report);
}

/// Reports defaults that break further rules of their own schemas: a call without the argument would fail.
fn check_defaults(input: &ToolInput, here: &str, report: &mut Report) {
    for parameter in input.parameters() {
        let (Some(default), Some(schema)) = (&parameter.default, &parameter.schema) else {
            continue;
        };
        for found in schema.violations(default) {
            let name = pointer_segment(parameter.called());
            let pointer = format!("{here}/{name}/default{}", found.pointer);
            report.meaning(pointer, "schema", found.message);
        }
    }
}
