//! Parameters of tools, skills and playbooks (seed 000 §2.4, §2.8), and their static checks. Conversion to JSON Schema
//! is in `agentic::tool_definition`; the runtime fills in values.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::bounds::{PARAMETERS, SCHEMA_PATTERN_MEMORY, SYNONYMS};
use crate::foreign_schema::{ForeignSchema, pattern_fault, pattern_memory};
use crate::text::ShortText;
use crate::violation::{Report, pointer_segment};

object_only!(Parameter);

string_enum! {
    /// Type of a parameter (003 Tool Definition Schema; 000 uses a part of it).
    pub enum ParameterType {
        /// Text.
        String = "string",
        /// Any number.
        Number = "number",
        /// A number without a fraction.
        Integer = "integer",
        /// True or false.
        Boolean = "boolean",
        /// A list.
        Array = "array",
        /// A map from names to values.
        Object = "object",
    }
}

impl ParameterType {
    /// Whether a value has this type, as defined by JSON Schema (`3.0` is an integer).
    #[must_use]
    pub fn fits(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Number => value.is_number(),
            Self::Integer => {
                value.is_i64()
                    || value.is_u64()
                    || value.as_f64().is_some_and(|number| number.fract() == 0.0)
            }
            Self::Boolean => value.is_boolean(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
        }
    }
}

/// A parameter of a tool, skill or playbook (000 §2.4).
///
/// `default`, `enum` and `pattern` are this project's additions to tools; the seed itself has `default` in playbooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Parameter {
    /// Name of the parameter, unique within its list.
    pub name: crate::ids::Label,
    /// Type of the value.
    #[serde(rename = "type")]
    pub kind: ParameterType,
    /// Further types that the value may have (this project).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_types: Vec<ParameterType>,
    /// Name on the server of an imported tool, if that is not a valid parameter name here: `$filter` (this project).
    /// Callers may use either name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_name: Option<ShortText>,
    /// Whether a caller must supply the parameter. In a playbook, the containing list decides.
    #[serde(default)]
    pub required: bool,
    /// Its description.
    #[serde(default)]
    pub description: String,
    /// Example of an accepted value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<Value>,
    /// Default value. `null` counts as no default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Allowed values.
    #[serde(rename = "enum", default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Vec<Value>>,
    /// Synonyms for allowed values, by value; for a boolean, by `true` and `false`. Requests in natural language may
    /// use them, callers may not (this project).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub synonyms: BTreeMap<String, Vec<ShortText>>,
    /// Regular expression that a string value must match anywhere, like `pattern` in JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// JSON Schema of the value, with rules that the other fields cannot express (this project). Both apply. A property
    /// of a tool's `input_schema` has its part of that schema here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<ForeignSchema>,
}

impl Parameter {
    /// Whether a value has one of the parameter's types.
    #[must_use]
    pub fn fits(&self, value: &Value) -> bool {
        self.types().iter().any(|kind| kind.fits(value))
    }

    /// Returns the types for use in a sentence: `string or array`.
    #[must_use]
    pub fn types_in_words(&self) -> String {
        in_words(&self.types())
    }

    /// Returns the name that callers use.
    #[must_use]
    pub fn called(&self) -> &str {
        let wire_name = self.wire_name.as_ref();
        wire_name.map_or(self.name.as_str(), ShortText::as_str)
    }

    /// Returns the parameter's value in `given`, under either name.
    #[must_use]
    pub fn given_in<'g>(&self, given: &'g Map<String, Value>) -> Option<&'g Value> {
        given
            .get(self.name.as_str())
            .or_else(|| given.get(self.called()))
    }

    /// Returns the types that a value may have.
    #[must_use]
    pub fn types(&self) -> Vec<ParameterType> {
        [std::slice::from_ref(&self.kind), &self.other_types].concat()
    }
}

/// Checks a list of parameters: their number, unique names, and matching defaults, examples and allowed values.
/// `pointer` leads to the list.
pub(crate) fn check_parameters(parameters: &[Parameter], pointer: &str, report: &mut Report) {
    if parameters.len() > PARAMETERS {
        let found = parameters.len();
        let message = format!("declares {found} parameters; the limit PARAMETERS is {PARAMETERS}");
        return report.meaning(pointer, "maxItems", message);
    }
    let mut seen = BTreeSet::new();
    for (at, parameter) in parameters.iter().enumerate() {
        let here = format!("{pointer}/{at}");
        if !seen.insert(&parameter.name) {
            report.meaning(
                format!("{here}/name"),
                "unique",
                format!("the parameter `{}` is declared twice", parameter.name),
            );
        }
        check_values(parameter, &here, report);
    }
    let patterns: BTreeSet<&str> = parameters
        .iter()
        .filter_map(|parameter| parameter.pattern.as_deref())
        .collect();
    let memory: usize = patterns.into_iter().map(pattern_memory).sum();
    if memory > SCHEMA_PATTERN_MEMORY {
        let message = format!(
            "the patterns of these parameters take {memory} bytes when compiled, by estimate; the limit \
             SCHEMA_PATTERN_MEMORY is {SCHEMA_PATTERN_MEMORY}"
        );
        report.meaning(pointer, "pattern", message);
    }
}

/// Checks the defaults, examples, allowed values and pattern of one parameter.
fn check_values(parameter: &Parameter, pointer: &str, report: &mut Report) {
    let types = parameter.types();
    let allowed = parameter.allowed.as_deref().unwrap_or_default();
    if parameter.allowed.is_some() && allowed.is_empty() {
        let message = "an empty list of allowed values allows nothing".to_owned();
        report.meaning(format!("{pointer}/enum"), "minItems", message);
    }
    for (at, value) in allowed.iter().enumerate() {
        check_types(&types, value, &format!("{pointer}/enum/{at}"), report);
    }
    let given = [
        ("default", &parameter.default),
        ("example", &parameter.example),
    ];
    for (field, value) in given {
        let Some(value) = value else { continue };
        let here = format!("{pointer}/{field}");
        if check_types(&types, value, &here, report)
            && !allowed.is_empty()
            && !allowed.contains(value)
        {
            report.meaning(
                here,
                "enum",
                format!("{value} is not one of the allowed values"),
            );
        }
    }
    check_synonyms(parameter, pointer, report);
    if let Some(pattern) = &parameter.pattern {
        check_pattern(
            parameter.kind,
            pattern,
            &format!("{pointer}/pattern"),
            report,
        );
    }
    if let Some(schema) = &parameter.schema {
        check_schema(schema, parameter, pointer, report);
    }
}

/// Checks the schema of a parameter's values, and the values that the parameter names.
fn check_schema(schema: &ForeignSchema, parameter: &Parameter, pointer: &str, report: &mut Report) {
    schema.check(&format!("{pointer}/schema"), report);
    if schema.fault().is_some() {
        return;
    }
    let given = [
        ("default", &parameter.default),
        ("example", &parameter.example),
    ];
    for (field, value) in given {
        let Some(value) = value else { continue };
        for found in schema.violations(value) {
            let pointer = format!("{pointer}/{field}{}", found.pointer);
            report.meaning(pointer, "schema", found.message);
        }
    }
}

/// Reports synonyms for values that are not allowed, and synonyms of more than one value.
fn check_synonyms(parameter: &Parameter, pointer: &str, report: &mut Report) {
    let allowed = parameter.allowed.as_deref().unwrap_or_default();
    let named = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let mut known: BTreeSet<String> = allowed.iter().map(named).collect();
    if parameter.kind == ParameterType::Boolean && parameter.allowed.is_none() {
        known.extend([true, false].map(|value| value.to_string()));
    }
    let count: usize = parameter.synonyms.values().map(Vec::len).sum();
    if count > SYNONYMS {
        let message = format!("declares {count} synonyms; the limit SYNONYMS is {SYNONYMS}");
        return report.meaning(format!("{pointer}/synonyms"), "maxItems", message);
    }
    let mut seen: BTreeSet<String> = known.iter().map(|value| value.to_lowercase()).collect();
    for (value, words) in &parameter.synonyms {
        let here = format!("{pointer}/synonyms/{}", pointer_segment(value));
        if !known.contains(value) {
            let message = format!("`{value}` is not one of the allowed values");
            report.meaning(here.clone(), "enum", message);
        }
        for (at, word) in words.iter().enumerate() {
            if !seen.insert(word.as_str().to_lowercase()) {
                let message = format!("`{word}` is already another value or its synonym");
                report.meaning(format!("{here}/{at}"), "unique", message);
            }
        }
    }
}

/// Reports a value that has none of these types.
pub(crate) fn check_types(
    types: &[ParameterType],
    value: &Value,
    pointer: &str,
    report: &mut Report,
) -> bool {
    let fits = types.iter().any(|kind| kind.fits(value));
    if !fits {
        let message = format!("{value} is not of the type {}", in_words(types));
        report.meaning(pointer, "type", message);
    }
    fits
}

/// Joins types for use in a sentence: `string or array`.
fn in_words(types: &[ParameterType]) -> String {
    let types: Vec<&str> = types.iter().map(|kind| kind.as_str()).collect();
    types.join(" or ")
}

/// Checks that a pattern compiles and belongs to a string.
fn check_pattern(kind: ParameterType, pattern: &str, pointer: &str, report: &mut Report) {
    if kind != ParameterType::String {
        report.meaning(
            pointer,
            "pattern",
            format!("a pattern on a parameter of the type {kind}"),
        );
    } else if let Some(fault) = pattern_fault(pattern) {
        report.meaning(pointer, "pattern", fault);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn messages(pattern: &str) -> Vec<String> {
        let declared = json!([{"name": "region", "type": "string", "pattern": pattern}]);
        let declared: Vec<Parameter> = serde_json::from_value(declared).unwrap();
        let mut report = Report::new();
        check_parameters(&declared, "/parameters", &mut report);
        let violations = report.violations.into_iter();
        violations.map(|violation| violation.message).collect()
    }

    #[test]
    fn long_large_and_invalid_patterns_are_refused() {
        assert_eq!(messages("^[a-z]{2}(-[a-z]+)+-[0-9]$"), [""; 0]);
        let long = messages(&"x".repeat((16 << 10) + 1));
        let expected =
            "the pattern has 16385 bytes, more than 16384 (SCHEMA_PATTERN_TEXT); shorten it";
        assert_eq!(long, [expected]);
        for wrong in ["(a{1000}){1000}", "(a", "(?=a)"] {
            let expected = format!("`{wrong}` is not a regular expression");
            assert_eq!(messages(wrong), [expected]);
        }
    }

    #[test]
    fn the_patterns_of_a_list_are_bounded_together() {
        let with = |count: usize| {
            let declared = (0..count).map(|at| {
                let pattern = format!("^{at}-\\p{{L}}{{20}}$");
                json!({"name": format!("p{at}"), "type": "string", "pattern": pattern})
            });
            let declared: Vec<Parameter> =
                serde_json::from_value(declared.collect::<Vec<_>>().into()).unwrap();
            let mut report = Report::new();
            check_parameters(&declared, "/parameters", &mut report);
            report.violations
        };
        assert_eq!(with(2), []);
        let refused = with(200);
        let [refused] = refused.as_slice() else {
            panic!("{refused:?}");
        };
        assert!(
            refused.message.contains("SCHEMA_PATTERN_MEMORY"),
            "{refused}"
        );
    }
}
