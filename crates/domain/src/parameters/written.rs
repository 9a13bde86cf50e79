//! Arguments as a document writes them: what of them can be judged before a run.

use std::collections::BTreeMap;

use charter_contract::catalogue::tool::Tool;
use charter_contract::parameter::Parameter;
use charter_contract::violation::{MAX_VIOLATIONS, pointer_segment};
use serde_json::{Map, Value};

use super::{ParameterFault, check};
use crate::reference::references;

/// Something that does not fit: the pointer to it, the keyword, the message.
pub(crate) type Misfit = (String, &'static str, String);

/// Unknown, missing and unfit arguments of a call, as many as a report shows, as far as they can be known before a run:
/// what a reference brings is not. `here` leads to what has the field `parameters`.
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
    let mut by_name: BTreeMap<&str, &Parameter> = BTreeMap::new();
    for parameter in declared {
        for name in [parameter.name.as_str(), parameter.called()] {
            by_name.entry(name).or_insert(parameter);
        }
    }
    for (name, value) in given {
        if misfits.len() >= MAX_VIOLATIONS {
            return misfits;
        }
        let pointer = format!("{here}/parameters/{}", pointer_segment(name));
        match by_name.get(name.as_str()) {
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
        let needed = parameter.required && parameter.default.is_none();
        if needed && parameter.given_in(given).is_none() {
            let message = format!("{whose} needs the parameter `{}`", parameter.called());
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
