//! Arguments as a document writes them: what of them can be judged before a run.

use charter_contract::catalogue::tool::Tool;
use charter_contract::parameter::Parameter;
use charter_contract::violation::pointer_segment;
use serde_json::{Map, Value};

use super::{ParameterFault, check};
use crate::reference::references;

/// Something that does not fit: the pointer to it, the keyword, the message.
pub(crate) type Misfit = (String, &'static str, String);

/// Unknown, missing and unfit arguments of a call, as far as they can be known before a run: what a
/// reference brings is not. `here` leads to what has the field `parameters`.
pub(crate) fn misfits(tool: &Tool, given: &Map<String, Value>, here: &str) -> Vec<Misfit> {
    let whose = format!("the tool `{}`", tool.tool_id);
    misfits_with(&whose, &tool.parameters, given, here)
}

/// The same for whatever declares parameters; `whose` they are, as in "the playbook `x`".
pub(crate) fn misfits_with(
    whose: &str,
    declared: &[Parameter],
    given: &Map<String, Value>,
    here: &str,
) -> Vec<Misfit> {
    let mut misfits = Vec::new();
    for (name, value) in given {
        let pointer = format!("{here}/parameters/{}", pointer_segment(name));
        let of_that_name = declared.iter().find(|p| p.name.as_ref() == name.as_str());
        match of_that_name {
            None => {
                let message = format!("{whose} has no parameter `{name}`");
                misfits.push((pointer, "parameter", message));
            }
            Some(parameter) => {
                let literal = references(value).is_ok_and(|found| found.is_empty());
                if literal && let Err(fault) = check(parameter, value) {
                    misfits.push((pointer, keyword(&fault), fault.to_string()));
                }
            }
        }
    }
    for parameter in declared {
        let absent = !given.contains_key(parameter.name.as_ref());
        if parameter.required && parameter.default.is_none() && absent {
            let message = format!("{whose} needs the parameter `{}`", parameter.name);
            misfits.push((format!("{here}/parameters"), "required", message));
        }
    }
    misfits
}

fn keyword(fault: &ParameterFault) -> &'static str {
    match fault {
        ParameterFault::Missing { .. } => "required",
        ParameterFault::Unknown { .. } => "parameter",
        ParameterFault::Type { .. } => "type",
        ParameterFault::NotAllowed { .. } => "enum",
        ParameterFault::Pattern { .. } => "pattern",
    }
}
