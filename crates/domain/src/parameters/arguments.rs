//! Validates the arguments of a tool's call against the tool's declaration, and fills in defaults. A declaration that
//! is a JSON Schema decides as a whole: about values, and about rules that join several arguments.

use std::collections::BTreeSet;

use charter_contract::catalogue::tool::Tool;
use charter_contract::input_schema::{InputForm, ToolInput};
use charter_contract::violation::Violation;
use serde_json::{Map, Value};

use super::{ParameterFault, bind, check_declaration, fit_with, matches};

/// Returns the arguments of a call by the names of the parameters, with defaults. `null` counts as absent.
///
/// # Errors
/// Every [`ParameterFault`]. The rules of a whole schema are checked when no name is missing or unknown.
pub fn bind_arguments(
    tool: &Tool,
    given: &Map<String, Value>,
) -> Result<Map<String, Value>, Vec<ParameterFault>> {
    if tool.input_schema.is_none() {
        return bind(tool.parameters(), given);
    }
    let input = tool.input();
    let (mut bound, mut faults) = fit_with(input.parameters(), given, check_declaration);
    faults.retain(|fault| !matches!(fault, ParameterFault::Unknown { name } if takes(input, name)));
    if faults.iter().any(is_about_names) {
        return Err(faults);
    }
    let names: BTreeSet<&str> = names(input).collect();
    let further = given
        .iter()
        .filter(|(name, value)| !names.contains(name.as_str()) && !value.is_null());
    bound.extend(further.map(|(name, value)| (name.clone(), value.clone())));
    // The schema decides: a parameter has the types of its values only as far as they can be read from the schema.
    let faults = violated(input.violations(&bound), &faults);
    match faults.is_empty() {
        true => Ok(bound),
        false => Err(faults),
    }
}

/// Whether a call of the tool may have an argument of this name.
pub(super) fn takes(input: &ToolInput, name: &str) -> bool {
    match input.form() {
        InputForm::List => false,
        InputForm::Schema => {
            let mut patterns = input.name_patterns().iter();
            input.takes_any_name() || patterns.any(|pattern| matches(pattern, name))
        }
    }
}

fn names(input: &ToolInput) -> impl Iterator<Item = &str> {
    let parameters = input.parameters().iter();
    parameters.flat_map(|parameter| [parameter.name.as_str(), parameter.called()])
}

fn is_about_names(fault: &ParameterFault) -> bool {
    matches!(
        fault,
        ParameterFault::Missing { .. } | ParameterFault::Unknown { .. }
    )
}

/// Converts violations of the schema to faults. Where the declaration of a parameter has a fault for the same value,
/// that one names the parameter and the allowed values.
fn violated(violations: Vec<Violation>, declared: &[ParameterFault]) -> Vec<ParameterFault> {
    let mut faults: Vec<ParameterFault> = Vec::new();
    for found in violations {
        let whole = found
            .pointer
            .strip_prefix('/')
            .filter(|path| !path.contains('/'));
        let known = whole.and_then(|segment| {
            let name = segment.replace("~1", "/").replace("~0", "~");
            let mut declared = declared.iter();
            declared.find(|fault| name_of(fault) == Some(name.as_str()))
        });
        let fault = known.cloned().unwrap_or(ParameterFault::Schema {
            pointer: found.pointer,
            message: found.message,
        });
        if !faults.contains(&fault) {
            faults.push(fault);
        }
    }
    faults
}

/// Returns the parameter whose value has the fault.
fn name_of(fault: &ParameterFault) -> Option<&str> {
    match fault {
        ParameterFault::Type { name, .. }
        | ParameterFault::NotAllowed { name, .. }
        | ParameterFault::Pattern { name, .. }
        | ParameterFault::LongForPattern { name, .. } => Some(name),
        ParameterFault::Missing { .. }
        | ParameterFault::Unknown { .. }
        | ParameterFault::Schema { .. }
        | ParameterFault::Unclear(_) => None,
    }
}

#[cfg(test)]
mod tests;
