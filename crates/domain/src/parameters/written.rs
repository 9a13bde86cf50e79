//! Validates the arguments in a document as far as possible before a run.

use std::borrow::Cow;
use std::collections::BTreeMap;

use charter_contract::catalogue::tool::Tool;
use charter_contract::parameter::Parameter;
use charter_contract::violation::{MAX_VIOLATIONS, pointer_segment};
use serde_json::{Map, Value};

use super::arguments::takes;
use super::{ParameterFault, bind_arguments, check};
use crate::reference::literal;

/// A violation: its pointer, keyword and message.
pub(crate) type Misfit = (String, &'static str, String);

/// Returns the value of an argument, if it does not depend on the run.
type KnownValue = fn(&Value) -> Option<Cow<'_, Value>>;

/// Returns unknown, missing and invalid arguments of a call, up to the limit of a report. Values of references are
/// unknown before a run. `null` counts as absent. `here` is the pointer to the object with the field `parameters`.
pub(crate) fn argument_faults(tool: &Tool, given: &Map<String, Value>, here: &str) -> Vec<Misfit> {
    faults_of_tool(tool, given, here, literal)
}

/// As above, for any declaration of parameters; `whose` names its owner, as in "the playbook `x`".
pub(crate) fn argument_faults_with(
    whose: &str,
    declared: &[Parameter],
    given: &Map<String, Value>,
    here: &str,
) -> Vec<Misfit> {
    look(whose, declared, given, here, literal)
}

/// Returns the violations of exact values.
pub(crate) fn exact_argument_faults(
    tool: &Tool,
    given: &Map<String, Value>,
    here: &str,
) -> Vec<Misfit> {
    faults_of_tool(tool, given, here, |value| Some(Cow::Borrowed(value)))
}

/// Looks at each argument; if all of them are known, the tool's whole schema decides.
fn faults_of_tool(
    tool: &Tool,
    given: &Map<String, Value>,
    here: &str,
    known: KnownValue,
) -> Vec<Misfit> {
    let whose = format!("the tool `{}`", tool.tool_id);
    let declared = tool.parameters();
    if tool.input_schema.is_none() {
        return look(&whose, declared, given, here, known);
    }
    let is_declared = |name: &str| {
        declared
            .iter()
            .any(|p| p.name.as_str() == name || p.called() == name)
    };
    let mut named = given.clone();
    named.retain(|name, _| is_declared(name) || !takes(tool.input(), name));
    let misfits = look(&whose, declared, &named, here, known);
    let is_about_names = |keyword: &str| matches!(keyword, UNKNOWN | MISSING);
    if misfits
        .iter()
        .any(|(_, keyword, _)| is_about_names(keyword))
    {
        return misfits;
    }
    let exact = given.iter().map(|(name, value)| {
        let value = known(value)?.into_owned();
        Some((name.clone(), value))
    });
    let Some(exact) = exact.collect::<Option<Map<String, Value>>>() else {
        return misfits;
    };
    let faults = bind_arguments(tool, &exact).err().unwrap_or_default();
    let faults = faults.into_iter().take(MAX_VIOLATIONS).map(|fault| {
        let pointer = pointer_of(&fault);
        let pointer = format!("{here}/parameters{pointer}");
        (pointer, keyword(&fault), fault.to_string())
    });
    faults.collect()
}

/// Returns the pointer from the arguments to a fault.
fn pointer_of(fault: &ParameterFault) -> String {
    match fault {
        ParameterFault::Schema { pointer, .. } => pointer.clone(),
        ParameterFault::Unknown { name }
        | ParameterFault::Type { name, .. }
        | ParameterFault::NotAllowed { name, .. }
        | ParameterFault::Pattern { name, .. }
        | ParameterFault::LongForPattern { name, .. } => format!("/{}", pointer_segment(name)),
        ParameterFault::Missing { .. } | ParameterFault::Unclear(_) => String::new(),
    }
}

/// Keyword of an unknown argument.
const UNKNOWN: &str = "parameter";
/// Keyword of a missing argument.
const MISSING: &str = "required";

/// `known` returns the value of an argument, if it does not depend on the run.
fn look(
    whose: &str,
    declared: &[Parameter],
    given: &Map<String, Value>,
    here: &str,
    known: KnownValue,
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
                misfits.push((pointer, UNKNOWN, message));
            }
            Some(_) if value.is_null() => {}
            Some(parameter) => {
                if let Some(value) = known(value)
                    && let Err(fault) = check(parameter, &value)
                {
                    misfits.push((pointer, keyword(&fault), fault.to_string()));
                }
            }
        }
    }
    for parameter in declared {
        let needed = parameter.required && parameter.default.is_none();
        let value = parameter.given_in(given);
        if needed && value.is_none_or(Value::is_null) {
            let message = format!("{whose} needs the parameter `{}`", parameter.called());
            misfits.push((format!("{here}/parameters"), MISSING, message));
        }
    }
    misfits
}

fn keyword(fault: &ParameterFault) -> &'static str {
    match fault {
        ParameterFault::Missing { .. } => MISSING,
        ParameterFault::Unknown { .. } => UNKNOWN,
        ParameterFault::Type { .. } => "type",
        ParameterFault::NotAllowed { .. } => "enum",
        ParameterFault::Pattern { .. } | ParameterFault::LongForPattern { .. } => "pattern",
        ParameterFault::Schema { .. } => "schema",
        ParameterFault::Unclear(_) => "unclear",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool() -> Tool {
        serde_json::from_value(json!({
            "tool_id": "files.write", "name": "t", "provider": "p", "tool_class": "write", "domain": "d",
            "description": "d", "language": "http", "parameters": [
                {"name": "path", "type": "string", "required": true, "pattern": "^[a-z/${}.]+$"},
                {"name": "mode", "type": "integer"},
                {"name": "size", "type": "integer", "required": true, "default": 1},
            ],
        }))
        .unwrap()
    }

    fn said(misfits: Vec<Misfit>) -> Vec<String> {
        let said = |(pointer, keyword, message)| format!("{pointer} {keyword} {message}");
        misfits.into_iter().map(said).collect()
    }

    fn both(given: &Value) -> [Vec<String>; 2] {
        let given = given.as_object().unwrap();
        [
            said(argument_faults(&tool(), given, "/s")),
            said(exact_argument_faults(&tool(), given, "/s")),
        ]
    }

    /// `null` counts as absent: it is accepted for an optional parameter, and a required parameter is missing.
    #[test]
    fn null_counts_as_not_given() {
        let none: [Vec<String>; 2] = Default::default();
        assert_eq!(
            both(&json!({"path": "a", "mode": null, "size": null})),
            none
        );
        let missing = vec![
            "/s/parameters required the tool `files.write` needs the parameter `path`".to_owned(),
        ];
        assert_eq!(both(&json!({"path": null})), [missing.clone(), missing]);
        let unknown = vec![
            "/s/parameters/x parameter the tool `files.write` has no parameter `x`".to_owned(),
        ];
        assert_eq!(
            both(&json!({"path": "a", "x": null})),
            [unknown.clone(), unknown]
        );
    }

    /// A template without references is checked after its escapes are resolved; an exact value is checked unchanged.
    #[test]
    fn an_escape_is_checked_as_what_it_stands_for_and_an_exact_value_as_it_is() {
        let fits: [Vec<String>; 2] = Default::default();
        assert_eq!(both(&json!({"path": "a/b"})), fits);
        let unfit =
            |pattern: &str| format!("/s/parameters/path pattern `path` must match `{pattern}`");
        let unfit = vec![unfit("^[a-z/${}.]+$")];
        assert_eq!(both(&json!({"path": "A"})), [unfit.clone(), unfit.clone()]);
        // The template resolves to `${a}`, which is valid; the value of a reference is unknown.
        assert_eq!(both(&json!({"path": "$${a}"})), fits);
        assert_eq!(both(&json!({"path": "${user.a}"})), fits);
        assert_eq!(
            both(&json!({"path": "${A:-b}"})),
            [Vec::new(), unfit.clone()]
        );
        assert_eq!(both(&json!({"path": "$${A}"})), [unfit.clone(), unfit]);
    }
}
