//! Definitions of packages and of `POST /v1/tools`, as tools of the catalogue. Such a tool has no implementation: an
//! executor's handler carries it out. Must not know packages or storage.

use serde_json::{Map, Value};

use super::{INPUT_SCHEMA, ToolDefinition, parameters_to_schema};
use crate::catalogue::tool::{Tool, ToolClass};
use crate::catalogue::vocabulary::{ExecutionTarget, Language};
use crate::ids::{Label, ToolId};
use crate::validate::read_value;
use crate::violation::{Report, Violation, pointer_segment};

const TOOL_CLASS: &str = "tool_class";

/// Fields of the catalogue's form that a definition may have (this project).
const CATALOGUE_FIELDS: [&str; 8] = [
    "domain",
    "idempotent",
    "provider",
    "requires_approval",
    "service",
    "status",
    "timeout_ms",
    TOOL_CLASS,
];

/// Domain of a definition that names none: one of the seeded domains.
const DOMAIN: &str = "platform";

/// Provider of a definition that names none: a client of Charter.
const PROVIDER: &str = "client";

/// The fields of a tool whose names differ in a definition; a part comes before the whole.
const RENAMED: [(&str, &str); 5] = [
    ("/tool_id", "/id"),
    ("/display_name", "/name"),
    ("/output_schema", "/result_schema"),
    ("/input_schema/properties", "/parameters"),
    ("/input_schema", "/parameters"),
];

impl ToolDefinition {
    /// Whether a document has this form, and not that of the catalogue, whose `parameters` are a list.
    #[must_use]
    pub fn is_definition(document: &Value) -> bool {
        let has = |field: &str| document.get(field).is_some();
        let by_name = document.get("parameters").is_some_and(Value::is_object);
        !has("tool_id") && !has("_id") && (by_name || has("result_schema"))
    }

    /// Returns the schema that the parameters of an unchecked definition amount to, in order to measure it.
    #[must_use]
    pub fn unchecked_schema(document: &Value) -> Option<Map<String, Value>> {
        let parameters = document.get("parameters")?.as_object()?;
        let properties = parameters.iter().map(|(name, parameter)| {
            let mut property = parameter.clone();
            if let Some(fields) = property.as_object_mut() {
                // A boolean here, a list of names in JSON Schema (ruling 26).
                fields.remove("required");
            }
            (name.clone(), property)
        });
        let properties: Map<String, Value> = properties.collect();
        Some(Map::from_iter([(
            "properties".to_owned(),
            properties.into(),
        )]))
    }

    /// Reads a definition as a tool of the catalogue, with warnings.
    ///
    /// # Errors
    /// Every violation, with pointers into the definition.
    pub fn read_tool(document: &Value) -> Result<(Tool, Vec<Violation>), Vec<Violation>> {
        let (definition, mut warnings) = read_value::<Self>(document)?;
        let (tool, further) = definition.to_tool()?;
        warnings.extend(further);
        Ok((tool, warnings))
    }

    /// Converts the definition to a tool of the catalogue, with warnings. The tool writes unless the definition has
    /// `tool_class: readonly`.
    ///
    /// # Errors
    /// Every violation of the catalogue's form, with pointers into the definition.
    pub fn to_tool(&self) -> Result<(Tool, Vec<Violation>), Vec<Violation>> {
        let mut report = Report::new();
        let class = self.extra.get(TOOL_CLASS).and_then(Value::as_str);
        if class == Some(ToolClass::Internal.as_str()) {
            let message = "a tool definition is `readonly` or `write`, not `internal`".to_owned();
            report.meaning(format!("/{TOOL_CLASS}"), "enum", message);
        }
        let id = match self.id.to_tool_id() {
            Ok(id) if report.violations.is_empty() => id,
            Ok(_) => return Err(report.violations),
            Err(error) => {
                let message = format!("the rest of the id is no id of the catalogue: {error}");
                report.meaning("/id", "pattern", message);
                return Err(report.violations);
            }
        };
        let form = Value::Object(self.catalogue_form(&id));
        match read_value::<Tool>(&form) {
            Ok((tool, mut warnings)) => {
                self.warn_of_unused_fields(&mut report);
                warnings.append(&mut report.warnings);
                Ok((tool, self.in_definition(warnings)))
            }
            Err(violations) => Err(self.in_definition(violations)),
        }
    }

    fn catalogue_form(&self, id: &ToolId) -> Map<String, Value> {
        let label = Label::parse(&self.name).ok();
        let name = label.as_ref().map_or(id.as_str(), Label::as_str);
        let own_schema = self.extra.get(INPUT_SCHEMA).cloned();
        let input = own_schema.unwrap_or_else(|| parameters_to_schema(&self.parameters));
        let fixed: [(&str, Value); 9] = [
            ("tool_id", id.as_str().into()),
            ("name", name.into()),
            ("description", self.description.clone().into()),
            (INPUT_SCHEMA, input),
            // A tool needs a language. Without an implementation it has no effect.
            ("language", Language::Python.as_str().into()),
            ("execution_target", ExecutionTarget::Client.as_str().into()),
            (TOOL_CLASS, ToolClass::Write.as_str().into()),
            ("domain", DOMAIN.into()),
            ("provider", PROVIDER.into()),
        ];
        let fixed = fixed.map(|(field, value)| (field.to_owned(), value));
        let mut form = Map::from_iter(fixed);
        for field in CATALOGUE_FIELDS {
            if let Some(value) = self.extra.get(field) {
                form.insert(field.to_owned(), value.clone());
            }
        }
        if label.is_none() {
            form.insert("display_name".to_owned(), self.name.clone().into());
        }
        if !self.result_schema.is_empty() {
            let schema = self.result_schema.clone();
            form.insert("output_schema".to_owned(), schema.into());
        }
        if let Some(level) = self.permission_level {
            form.insert("permission_level".to_owned(), level.as_str().into());
        }
        if let Some(limits) = self.limits() {
            form.insert("rate_limit".to_owned(), limits.into());
        }
        form
    }

    /// Returns the rate limit without fields outside the seed's schema.
    fn limits(&self) -> Option<Map<String, Value>> {
        let limit = self.rate_limit.as_ref()?;
        let limits = [
            ("requests_per_minute", limit.requests_per_minute),
            ("burst", limit.burst),
        ];
        let limits = limits.into_iter();
        let set =
            limits.filter_map(|(field, value)| Some((field.to_owned(), Value::from(value?.get()))));
        Some(set.collect())
    }

    fn warn_of_unused_fields(&self, report: &mut Report) {
        for field in self.extra.keys() {
            if field != INPUT_SCHEMA && !CATALOGUE_FIELDS.contains(&field.as_str()) {
                let message =
                    format!("`{field}` is not used: an executor's handler carries out this tool");
                let pointer = format!("/{}", pointer_segment(field));
                let advice = "remove it, or write the tool in the form of the catalogue";
                report.advise(pointer, "unused", message, advice);
            }
        }
    }

    /// Returns violations of the catalogue's form with pointers into the definition.
    fn in_definition(&self, found: Vec<Violation>) -> Vec<Violation> {
        let own_schema = self.extra.contains_key(INPUT_SCHEMA);
        let moved = found.into_iter().map(|mut violation| {
            if let Some(pointer) = definition_pointer(&violation.pointer, own_schema) {
                violation.pointer = pointer;
            }
            violation
        });
        moved.collect()
    }
}

/// Returns the pointer into a definition for one into its tool; `None` if they are equal.
fn definition_pointer(pointer: &str, own_schema: bool) -> Option<String> {
    RENAMED.iter().find_map(|(tool, definition)| {
        let rest = pointer.strip_prefix(*tool)?;
        let is_part = rest.is_empty() || rest.starts_with('/');
        let is_moved = is_part && !(own_schema && tool.starts_with("/input_schema"));
        is_moved.then(|| format!("{definition}{rest}"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition() -> Value {
        json!({
            "id": "tool-get-weather",
            "name": "Get the weather",
            "description": "Reads the weather of a city.",
            "parameters": {
                "city": {"type": "string", "description": "The city", "required": true},
                "$unit": {"type": "string", "description": "The unit", "enum": ["c", "f"], "default": "c"},
            },
            "result_schema": {"type": "object"},
            "examples": [{"input": {"city": "Bern"}, "output": {"degrees": 20}}],
            "permission_level": "system",
            "rate_limit": {"requests_per_minute": 60},
        })
    }

    fn read(document: &Value) -> Result<(Tool, Vec<String>), Vec<String>> {
        let texts = |found: Vec<Violation>| found.iter().map(ToString::to_string).collect();
        match ToolDefinition::read_tool(document) {
            Ok((tool, warnings)) => Ok((tool, texts(warnings))),
            Err(violations) => Err(texts(violations)),
        }
    }

    #[test]
    fn b003_4_a_definition_is_a_tool_that_writes_and_a_handler_carries_out() {
        let (tool, warnings) = read(&definition()).unwrap();
        assert_eq!(warnings, [""; 0]);
        assert_eq!(tool.tool_id.as_str(), "get-weather");
        assert_eq!(tool.name.as_str(), "get-weather");
        assert_eq!(tool.tool_class, ToolClass::Write);
        assert_eq!(tool.execution_target, ExecutionTarget::Client);
        assert_eq!(tool.implementation, None);
        assert_eq!(tool.domain.as_str(), "platform");
        let parameters = tool.parameters().iter();
        let mut names: Vec<(&str, bool)> = parameters
            .map(|parameter| (parameter.called(), parameter.required))
            .collect();
        names.sort_unstable();
        assert_eq!(names, [("$unit", false), ("city", true)]);
        let mut readonly = definition();
        readonly["tool_class"] = json!("readonly");
        readonly["domain"] = json!("cost");
        let (tool, _) = read(&readonly).unwrap();
        assert_eq!(tool.tool_class, ToolClass::Readonly);
        assert_eq!(tool.domain.as_str(), "cost");
    }

    #[test]
    fn ruling_25_a_registered_definition_keeps_its_id_and_name() {
        let (tool, _) = read(&definition()).unwrap();
        let shown = ToolDefinition::from_tool(&tool);
        assert_eq!(shown.id.as_str(), "tool-get-weather");
        assert_eq!(shown.name, "Get the weather");
        assert!(shown.parameters["city"].required);
        assert_eq!(Value::from(shown.result_schema), json!({"type": "object"}));
    }

    #[test]
    fn violations_point_into_the_definition() {
        for (field, value, expected) in [
            ("tool_class", json!("internal"), "/tool_class: "),
            ("tool_class", json!("readnoly"), "/tool_class: "),
            ("id", json!("tool--x"), "/id: "),
            ("name", json!(""), "/name: "),
            ("result_schema", json!({"type": "strin"}), "/result_schema"),
            ("rate_limit", json!({"burst": 2}), "/rate_limit"),
            ("description", json!(""), "/description: "),
        ] {
            let mut broken = definition();
            broken[field] = value;
            let found = read(&broken).unwrap_err();
            assert!(found[0].starts_with(expected), "{field}: {found:?}");
        }
    }

    #[test]
    fn an_implementation_in_a_definition_is_not_used() {
        let mut given = definition();
        given["implementation"] = json!({"type": "script", "body": "print(1)"});
        let (tool, warnings) = read(&given).unwrap();
        assert_eq!(tool.implementation, None);
        let expected = "/implementation: `implementation` is not used";
        assert!(warnings[0].starts_with(expected), "{warnings:?}");
    }

    #[test]
    fn a_tool_of_the_catalogue_is_not_taken_for_a_definition() {
        for (document, expected) in [
            (json!({"tool_id": "a.b", "parameters": []}), false),
            (json!({"id": "tool-x", "parameters": []}), false),
            (json!({"_id": "a.b", "result_schema": {}}), false),
            (json!({"id": "tool-x", "parameters": {}}), true),
            (json!({"result_schema": {}}), true),
        ] {
            let found = ToolDefinition::is_definition(&document);
            assert_eq!(found, expected, "{document}");
        }
    }
}
