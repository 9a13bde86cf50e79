//! Tool definitions (003 Tool Definition Schema) and the two notations for required parameters (ruling 26): a boolean
//! on each parameter here, a list of names in JSON Schema.

mod catalogue_form;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::catalogue::tool::Tool;
use crate::catalogue::vocabulary::PermissionLevel;
use crate::foreign_schema::ForeignSchema;
use crate::ids::ToolDefinitionId;
use crate::input_schema::property_of;
use crate::number::Integer;
use crate::optional::present;
use crate::parameter::{Parameter, ParameterType, check_types};
use crate::schema::SchemaName;
use crate::validate::Contract;
use crate::violation::{Report, Stage, pointer_segment};

/// A tool as presented to agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// Id of the tool.
    pub id: ToolDefinitionId,
    /// Its readable name.
    pub name: String,
    /// Its purpose and when to use it.
    pub description: String,
    /// Parameters, by name.
    pub parameters: BTreeMap<String, ParameterDefinition>,
    /// JSON Schema of the result.
    pub result_schema: Map<String, Value>,
    /// Example calls with their results.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub examples: Option<Vec<ToolExample>>,
    /// Permission level that a caller needs; `user` when absent.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub permission_level: Option<PermissionLevel>,
    /// Rate limit.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub rate_limit: Option<RateLimit>,
    /// Fields outside the seed's schema.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A parameter of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParameterDefinition {
    /// Type of the value.
    #[serde(rename = "type")]
    pub kind: ParameterType,
    /// Purpose of the parameter.
    pub description: String,
    /// Whether a caller must supply it.
    #[serde(default, skip_serializing_if = "is_optional")]
    pub required: bool,
    /// Default value; may be null.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub default: Option<Value>,
    /// Further types that the value may have (this project).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_types: Vec<ParameterType>,
    /// Allowed values.
    #[serde(
        rename = "enum",
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub allowed: Option<Vec<Value>>,
    /// Fields outside the seed's schema, which are keywords of JSON Schema.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
fn is_optional(required: &bool) -> bool {
    !required
}

/// An example call with its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolExample {
    /// Arguments.
    pub input: Map<String, Value>,
    /// Result.
    pub output: Value,
    /// Fields outside the seed's schema.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Rate limit of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct RateLimit {
    /// Sustained number of calls per minute.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub requests_per_minute: Option<Integer>,
    /// Maximum number of calls in a burst.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub burst: Option<Integer>,
    /// Fields outside the seed's schema.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Error: a JSON Schema that tool parameters cannot express.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParameterSchemaError {
    /// The schema does not describe an object.
    #[error("the schema of parameters must be of the type object")]
    NotAnObject,
    /// A property has no known type.
    #[error("the parameter `{0}` needs one of the six types, or several")]
    NoType(String),
    /// A property that is an object lists required fields of its own; a parameter has a boolean instead.
    #[error("the parameter `{0}` has required fields of its own, which parameters do not support")]
    NestedRequired(String),
    /// `required` names an undeclared property.
    #[error("`{0}` is required but has no description")]
    Undescribed(String),
    /// The schema constrains the object beyond its properties.
    #[error("parameters do not support the keyword `{0}`")]
    Keyword(String),
}

/// Converts parameters to the JSON Schema of the arguments object: `required` is a list of names in alphabetical
/// order, and unknown arguments are refused (B003-4).
#[must_use]
pub fn parameters_to_schema(parameters: &BTreeMap<String, ParameterDefinition>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, parameter) in parameters {
        let mut property = parameter.extra.clone();
        let types: Value = match parameter.types().as_slice() {
            [only] => only.as_str().into(),
            several => several.iter().map(|kind| kind.as_str()).collect(),
        };
        property.insert("type".into(), types);
        property.insert("description".into(), parameter.description.clone().into());
        if let Some(default) = &parameter.default {
            property.insert("default".into(), default.clone());
        }
        if let Some(allowed) = &parameter.allowed {
            property.insert("enum".into(), allowed.clone().into());
        }
        properties.insert(name.clone(), property.into());
        if parameter.required {
            required.push(Value::from(name.as_str()));
        }
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Converts the JSON Schema of an arguments object back to parameters.
///
/// # Errors
/// Names the first keyword that tool parameters cannot express; nothing is dropped silently.
pub fn parameters_from_schema(
    schema: &Value,
) -> Result<BTreeMap<String, ParameterDefinition>, ParameterSchemaError> {
    let object = schema
        .as_object()
        .ok_or(ParameterSchemaError::NotAnObject)?;
    if object.get("type") != Some(&Value::from("object")) {
        return Err(ParameterSchemaError::NotAnObject);
    }
    for (keyword, value) in object {
        let known = match keyword.as_str() {
            "type" | "properties" | "required" => true,
            "additionalProperties" => *value == Value::Bool(false),
            _ => false,
        };
        if !known {
            return Err(ParameterSchemaError::Keyword(keyword.clone()));
        }
    }
    let mut parameters = BTreeMap::new();
    for (name, property) in object
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        parameters.insert(name.clone(), parameter_from_property(name, property)?);
    }
    for name in object
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let name = name.as_str().unwrap_or_default();
        let parameter = parameters
            .get_mut(name)
            .ok_or_else(|| ParameterSchemaError::Undescribed(name.to_owned()))?;
        parameter.required = true;
    }
    Ok(parameters)
}

fn parameter_from_property(
    name: &str,
    property: &Value,
) -> Result<ParameterDefinition, ParameterSchemaError> {
    let no_type = || ParameterSchemaError::NoType(name.to_owned());
    let mut extra = property.as_object().ok_or_else(no_type)?.clone();
    if extra.contains_key("required") {
        return Err(ParameterSchemaError::NestedRequired(name.to_owned()));
    }
    let types = match extra.remove("type").ok_or_else(no_type)? {
        Value::Array(types) => types,
        one => vec![one],
    };
    let mut types = types
        .iter()
        .map(|kind| kind.as_str().and_then(|kind| kind.parse().ok()));
    let kind = types.next().flatten().ok_or_else(no_type)?;
    let other_types = types.collect::<Option<Vec<ParameterType>>>();
    let other_types = other_types.ok_or_else(no_type)?;
    let description = match extra.remove("description") {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    let default = extra.remove("default");
    let allowed = match extra.remove("enum") {
        Some(Value::Array(values)) => Some(values),
        _ => None,
    };
    Ok(ParameterDefinition {
        kind,
        description,
        required: false,
        default,
        other_types,
        allowed,
        extra,
    })
}

/// Keywords that a definition has as fields of its own. Its `required` is a boolean, unlike the keyword.
const OWN_FIELDS: [&str; 7] = [
    "type",
    "description",
    "required",
    "default",
    "enum",
    "other_types",
    "$schema",
];

impl From<&Parameter> for ParameterDefinition {
    /// Converts a parameter of the catalogue. `pattern`, `example` and `schema` become keywords of JSON Schema; a
    /// schema with references is left out.
    fn from(parameter: &Parameter) -> Self {
        let mut extra = property_of(parameter);
        extra.retain(|keyword, _| !OWN_FIELDS.contains(&keyword.as_str()));
        Self {
            kind: parameter.kind,
            description: parameter.description.clone(),
            required: parameter.required,
            default: parameter.default.clone(),
            other_types: parameter.other_types.clone(),
            allowed: parameter.allowed.clone(),
            extra,
        }
    }
}

impl ParameterDefinition {
    fn types(&self) -> Vec<ParameterType> {
        [std::slice::from_ref(&self.kind), &self.other_types].concat()
    }
}

/// The field for the whole schema of the arguments (this project).
const INPUT_SCHEMA: &str = "input_schema";

/// Converts a catalogue's parameter list to definitions, keyed by the names that callers use.
#[must_use]
pub fn definitions(parameters: &[Parameter]) -> BTreeMap<String, ParameterDefinition> {
    parameters
        .iter()
        .map(|p| (p.called().to_owned(), p.into()))
        .collect()
}

impl ToolDefinition {
    /// Converts a tool of the catalogue to the form for agents (ruling 25). The id is mapped; see
    /// [`ToolDefinitionId::from_tool_id`]. A tool's `input_schema` is added as written.
    #[must_use]
    pub fn from_tool(tool: &Tool) -> Self {
        let mut extra = Map::new();
        if let Some(schema) = &tool.input_schema {
            extra.insert(INPUT_SCHEMA.to_owned(), schema.json().clone().into());
        }
        Self {
            id: ToolDefinitionId::from_tool_id(&tool.tool_id),
            name: tool.title().to_owned(),
            description: tool.description.as_str().to_owned(),
            parameters: definitions(tool.parameters()),
            result_schema: tool
                .output_schema
                .as_ref()
                .map_or_else(Map::new, |schema| schema.json().clone()),
            examples: None,
            permission_level: Some(tool.permission_level),
            rate_limit: tool.rate_limit.as_ref().map(|limit| RateLimit {
                requests_per_minute: as_integer(limit.requests_per_minute.get()),
                burst: limit.burst.and_then(|burst| as_integer(burst.get())),
                extra: Map::new(),
            }),
            extra,
        }
    }

    /// Returns the schema of the arguments: the one that the definition has, else that of its parameters.
    fn input(&self) -> ForeignSchema {
        match self.extra.get(INPUT_SCHEMA) {
            Some(Value::Object(schema)) => schema.clone().into(),
            Some(_) | None => match parameters_to_schema(&self.parameters) {
                Value::Object(schema) => schema.into(),
                _ => Map::new().into(),
            },
        }
    }

    fn check_parameter(name: &str, parameter: &ParameterDefinition, report: &mut Report) {
        let here = format!("/parameters/{}", pointer_segment(name));
        let types = parameter.types();
        let allowed = parameter.allowed.as_deref().unwrap_or_default();
        for (at, value) in allowed.iter().enumerate() {
            check_types(&types, value, &format!("{here}/enum/{at}"), report);
        }
        let Some(default) = &parameter.default else {
            return;
        };
        let pointer = format!("{here}/default");
        if check_types(&types, default, &pointer, report)
            && parameter.allowed.is_some()
            && !allowed.contains(default)
        {
            report.meaning(
                pointer,
                "enum",
                format!("{default} is not one of the allowed values"),
            );
        }
    }

    fn check_examples(&self, report: &mut Report) {
        let input = self.input();
        let output = ForeignSchema::from(self.result_schema.clone());
        if let Some(fault) = input.fault() {
            let message = format!("the parameters cannot be used: {fault}");
            report.meaning("/parameters", fault.keyword(), message);
        }
        output.check("/result_schema", report);
        if input.fault().is_some() || output.fault().is_some() {
            return;
        }
        for (at, example) in self.examples.iter().flatten().enumerate() {
            let arguments = Value::Object(example.input.clone());
            let sides = [
                ("input", &input, &arguments),
                ("output", &output, &example.output),
            ];
            for (side, schema, value) in sides {
                for mut found in schema.violations(value) {
                    found.stage = Stage::Meaning;
                    found.pointer = format!("/examples/{at}/{side}{}", found.pointer);
                    report.push(found);
                }
            }
        }
    }
}

fn as_integer(value: u64) -> Option<Integer> {
    i64::try_from(value).ok().and_then(Integer::new)
}

impl Contract for ToolDefinition {
    const NAME: SchemaName = SchemaName::ToolDefinition;

    // The static part of B003-4.
    fn check(&self, report: &mut Report) {
        for (name, parameter) in &self.parameters {
            Self::check_parameter(name, parameter, report);
        }
        self.check_examples(report);
        let Some(limit) = &self.rate_limit else {
            return;
        };
        let limits = [
            ("requests_per_minute", limit.requests_per_minute),
            ("burst", limit.burst),
        ];
        for (field, value) in limits {
            if value.is_some_and(|value| value.get() < 1) {
                let message = "a limit below one call allows nothing".to_owned();
                report.meaning(format!("/rate_limit/{field}"), "minimum", message);
            }
        }
    }
}
