//! Values for declared parameters: their sources, and their validation.
//!
//! A tool call is validated against the tool's declaration before anything happens (B003-4): [`bind_arguments`]. The
//! parameters of a skill or playbook come from the request: explicit values first, then values in its words, then its
//! session, its context, a memory, the declared default or a model ([`Collected`]).

mod arguments;
mod context;
mod memories;
mod only_values;
mod pattern;
mod reply;
mod sentence;
mod sources;
mod written;

use std::collections::BTreeSet;

use charter_contract::bounds::SCHEMA_STEPS;
use charter_contract::ids::Label;
use charter_contract::parameter::Parameter;
use charter_contract::violation::pointer_segment;
use serde_json::{Map, Value};

pub(crate) use pattern::Compiled;
use pattern::{Matched, matched};

pub use arguments::bind_arguments;
pub use memories::{MemoryText, ProposedValue, proposed_values};
pub use only_values::{value_as_a_whole, values_alone};
pub use reply::{Reply, from_reply};
pub use sentence::{Excluded, Misread, SentenceReading, Stated, Unclear, Unread, read};
pub use sources::{Bound, Collected, LeftOut, ValueSource};
pub(crate) use written::{Misfit, argument_faults, argument_faults_with, exact_argument_faults};

/// One problem with supplied values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParameterFault {
    /// A required parameter has no value.
    #[error("`{name}` is missing: {description}")]
    Missing {
        /// Its name.
        name: String,
        /// Its description.
        description: String,
    },
    /// No parameter of that name is declared.
    #[error("unknown parameter `{name}`")]
    Unknown {
        /// The unknown name.
        name: String,
    },
    /// The value has another type.
    #[error("`{name}` must be of the type {wanted}")]
    Type {
        /// Its name.
        name: String,
        /// The declared types, as text.
        wanted: String,
    },
    /// The value is not one of the allowed values.
    #[error("`{name}` must be one of {allowed}")]
    NotAllowed {
        /// Its name.
        name: String,
        /// The allowed values, as JSON.
        allowed: String,
    },
    /// The text does not match the declared pattern.
    #[error("`{name}` must match `{pattern}`")]
    Pattern {
        /// Its name.
        name: String,
        /// The declared pattern.
        pattern: String,
    },
    /// The text is too long to be matched against the declared pattern.
    #[error(
        "`{name}` has {bytes} bytes, and matching it with `{pattern}` takes more than {} steps (SCHEMA_STEPS); \
         shorten the text",
        SCHEMA_STEPS
    )]
    LongForPattern {
        /// Its name.
        name: String,
        /// The declared pattern.
        pattern: String,
        /// The length of the text.
        bytes: usize,
    },
    /// The value breaks a rule of the JSON Schema.
    #[error("{}: {message}", shown_place(.pointer))]
    Schema {
        /// The place of the fault: a JSON pointer into the values.
        pointer: String,
        /// The rule.
        message: String,
    },
    /// The words refer to a value that cannot be determined.
    #[error("{0}")]
    Unclear(Unclear),
}

/// Returns the place of a fault in words: the parameter, and the path in its value.
fn shown_place(pointer: &str) -> String {
    match pointer.strip_prefix('/') {
        Some(path) => format!("`{path}`"),
        None => "the arguments".to_owned(),
    }
}

/// Validates values against a declaration and fills in defaults. `null` counts as absent.
///
/// # Errors
/// Every [`ParameterFault`], declared parameters first.
pub fn bind(
    declared: &[Parameter],
    given: &Map<String, Value>,
) -> Result<Map<String, Value>, Vec<ParameterFault>> {
    let (bound, faults) = fit(declared, given);
    if faults.is_empty() {
        Ok(bound)
    } else {
        Err(faults)
    }
}

/// Values that may still be incomplete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartialValues {
    /// Valid values, and defaults.
    pub values: Map<String, Value>,
    /// Required parameters without a value.
    pub missing: Vec<Label>,
}

/// Validates values that may be incomplete. Returns the valid ones, and the required parameters without a value.
///
/// # Errors
/// Every [`ParameterFault`] except missing values.
pub fn bind_so_far(
    declared: &[Parameter],
    given: &Map<String, Value>,
) -> Result<PartialValues, Vec<ParameterFault>> {
    let (values, faults) = fit(declared, given);
    let is_missing = |fault: &ParameterFault| matches!(fault, ParameterFault::Missing { .. });
    let (missing, faults): (Vec<_>, Vec<_>) = faults.into_iter().partition(is_missing);
    if !faults.is_empty() {
        return Err(faults);
    }
    let names = missing.iter().filter_map(|fault| match fault {
        ParameterFault::Missing { name, .. } => Some(name.as_str()),
        ParameterFault::Unknown { .. }
        | ParameterFault::Type { .. }
        | ParameterFault::NotAllowed { .. }
        | ParameterFault::Pattern { .. }
        | ParameterFault::LongForPattern { .. }
        | ParameterFault::Schema { .. }
        | ParameterFault::Unclear(_) => None,
    });
    let names: BTreeSet<&str> = names.collect();
    let is_named = |parameter: &&Parameter| names.contains(parameter.called());
    let missing = declared.iter().filter(is_named).map(|p| p.name.clone());
    Ok(PartialValues {
        values,
        missing: missing.collect(),
    })
}

/// Returns the values of the declared parameters, with defaults, and every fault. An invalid value is among both.
fn fit(
    declared: &[Parameter],
    given: &Map<String, Value>,
) -> (Map<String, Value>, Vec<ParameterFault>) {
    fit_with(declared, given, check)
}

/// As [`fit`], with another check of single values.
fn fit_with(
    declared: &[Parameter],
    given: &Map<String, Value>,
    check: fn(&Parameter, &Value) -> Result<(), ParameterFault>,
) -> (Map<String, Value>, Vec<ParameterFault>) {
    let mut bound = Map::new();
    let mut faults = Vec::new();
    for parameter in declared {
        let name = parameter.name.as_ref();
        let value = parameter.given_in(given).filter(|value| !value.is_null());
        match (value, &parameter.default) {
            (Some(value), _) => {
                faults.extend(check(parameter, value).err());
                bound.insert(name.to_owned(), value.clone());
            }
            (None, Some(default)) => {
                bound.insert(name.to_owned(), default.clone());
            }
            (None, None) if parameter.required => faults.push(ParameterFault::Missing {
                name: parameter.called().to_owned(),
                description: parameter.description.clone(),
            }),
            (None, None) => {}
        }
    }
    let names = declared.iter().flat_map(|p| [p.name.as_str(), p.called()]);
    let known: BTreeSet<&str> = names.collect();
    let unknown = given.keys().filter(|key| !known.contains(key.as_str()));
    faults.extend(unknown.map(|name| ParameterFault::Unknown { name: name.clone() }));
    (bound, faults)
}

/// Validates one value: its type, the allowed values, the pattern and the parameter's schema, in this order.
fn check(parameter: &Parameter, value: &Value) -> Result<(), ParameterFault> {
    check_declaration(parameter, value)?;
    let Some(schema) = &parameter.schema else {
        return Ok(());
    };
    match schema.violations(value).into_iter().next() {
        None => Ok(()),
        Some(found) => {
            let name = pointer_segment(parameter.called());
            Err(ParameterFault::Schema {
                pointer: format!("/{name}{}", found.pointer),
                message: found.message,
            })
        }
    }
}

/// Validates what a parameter declares without a schema.
fn check_declaration(parameter: &Parameter, value: &Value) -> Result<(), ParameterFault> {
    let name = || parameter.called().to_owned();
    if !parameter.fits(value) {
        return Err(ParameterFault::Type {
            name: name(),
            wanted: parameter.types_in_words(),
        });
    }
    if let Some(allowed) = &parameter.allowed
        && !allowed.contains(value)
    {
        return Err(ParameterFault::NotAllowed {
            name: name(),
            allowed: Value::Array(allowed.clone()).to_string(),
        });
    }
    let (Some(pattern), Some(text)) = (&parameter.pattern, value.as_str()) else {
        return Ok(());
    };
    match matched(pattern, text) {
        Matched::Fits => Ok(()),
        Matched::Differs => Err(ParameterFault::Pattern {
            name: name(),
            pattern: pattern.clone(),
        }),
        Matched::Costly => Err(ParameterFault::LongForPattern {
            name: name(),
            pattern: pattern.clone(),
            bytes: text.len(),
        }),
    }
}

/// Returns whether a text matches a pattern; false if the match would cost too much.
fn matches(pattern: &str, text: &str) -> bool {
    matched(pattern, text) == Matched::Fits
}

/// Returns whether two parameters of one name accept the same values.
pub(crate) fn means_the_same(one: &Parameter, other: &Parameter) -> bool {
    one.kind == other.kind
        && one.default == other.default
        && one.allowed == other.allowed
        && one.pattern == other.pattern
        && one.schema == other.schema
}

/// Removes declared parameters that are `null`, because they count as absent. [`bind`] rejects undeclared parameters.
#[must_use]
pub fn present(declared: &[Parameter], given: &Map<String, Value>) -> Map<String, Value> {
    let mut present = given.clone();
    for parameter in declared {
        for name in [parameter.name.as_str(), parameter.called()] {
            if present.get(name).is_some_and(Value::is_null) {
                present.remove(name);
            }
        }
    }
    present
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn declared() -> Vec<Parameter> {
        serde_json::from_value(json!([
            {"name": "region", "type": "string", "required": true, "description": "AWS region code",
             "pattern": "^[a-z]{2}(-[a-z]+)+-[0-9]$"},
            {"name": "severity", "type": "string", "enum": ["high", "low"]},
            {"name": "limit", "type": "integer", "default": 10},
            {"name": "profile", "type": "string"}
        ]))
        .unwrap()
    }

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(fields) => fields,
            other => panic!("not an object: {other}"),
        }
    }

    /// B003-4: required, types, allowed values, patterns, defaults; unknown arguments are rejected.
    #[test]
    fn b003_4_given_values_are_checked_and_defaults_filled() {
        assert_eq!(
            bind(
                &declared(),
                &object(json!({"region": "us-east-1", "profile": null}))
            ),
            Ok(object(json!({"region": "us-east-1", "limit": 10})))
        );
        let faults = bind(
            &declared(),
            &object(
                json!({"severity": "grave", "limit": "x", "profile": "p", "regin": "us-east-1"}),
            ),
        )
        .unwrap_err();
        let messages: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(
            messages,
            [
                "`region` is missing: AWS region code",
                "`severity` must be one of [\"high\",\"low\"]",
                "`limit` must be of the type integer",
                "unknown parameter `regin`",
            ]
        );
        assert_eq!(
            bind(
                &declared(),
                &object(json!({"region": "us-east-1; rm -rf /"}))
            ),
            Err(vec![ParameterFault::Pattern {
                name: "region".into(),
                pattern: "^[a-z]{2}(-[a-z]+)+-[0-9]$".into()
            }])
        );
    }

    /// An imported tool's parameter may have a name that is invalid here, and values of several types.
    #[test]
    fn b003_4_either_name_and_any_of_its_types_are_taken() {
        let declared: Vec<Parameter> = serde_json::from_value(json!([
            {"name": "select", "wire_name": "$select", "type": "string", "other_types": ["array"],
             "required": true, "description": "the columns"},
        ]))
        .unwrap();
        for given in [json!({"select": ["a"]}), json!({"$select": ["a"]})] {
            let bound = bind(&declared, &object(given));
            assert_eq!(bound, Ok(object(json!({"select": ["a"]}))));
        }
        let said = |given: Value| {
            let faults = bind(&declared, &object(given)).unwrap_err();
            faults.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let wrong = "`$select` must be of the type string or array";
        assert_eq!(said(json!({"$select": 7})), [wrong]);
        assert_eq!(said(json!({})), ["`$select` is missing: the columns"]);
        let unknown = "unknown parameter `$top`";
        assert_eq!(said(json!({"select": "a", "$top": 1})), [unknown]);
    }
}
