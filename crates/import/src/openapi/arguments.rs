//! The arguments of an operation from its parameters in path, query, headers and cookies.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::bounds::PARAMETERS;
use charter_contract::http_header::is_of_client;
use serde_json::{Map, Value, json};

use super::reader::OperationReader;
use super::security::is_token;
use super::{Dialect, KUBERNETES_ACTION};
use crate::api::{Argument, ArgumentLocation};
use crate::documents::Part;
use crate::schema::{Direction, value_types};
use crate::text::shortened;

/// Headers that a request has in any case; OpenAPI ignores parameters of these names.
const OWN_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];
/// Parameters of Kubernetes that let an answer never end.
const STREAMING: [&str; 2] = ["watch", "follow"];
/// Longest name of an argument, in bytes.
const MAX_NAME: usize = 100;
/// Longest description of an argument, in characters.
const DESCRIPTION: usize = 300;

/// The arguments of an operation while they are read: their names are unique.
#[derive(Debug, Default)]
pub(super) struct ArgumentList {
    pub(super) arguments: Vec<Argument>,
    pub(super) notes: Vec<String>,
    names: BTreeSet<String>,
}

impl ArgumentList {
    /// Adds an argument. Its name is that of the request as far as it can be a name here.
    pub(super) fn add(&mut self, argument: Argument) {
        if self.arguments.len() > PARAMETERS {
            // The operation is left out, so the name does not matter.
            self.arguments.push(argument);
            return;
        }
        let own = argument_name(&argument.wire_name);
        let name = match self.names.contains(&own) {
            false => own,
            true => self.free_name(&own, argument.location),
        };
        self.names.insert(name.clone());
        self.arguments.push(Argument { name, ..argument });
    }

    fn free_name(&self, own: &str, location: ArgumentLocation) -> String {
        let suffix = match location {
            ArgumentLocation::Path => "path",
            ArgumentLocation::Query => "query",
            ArgumentLocation::Header => "header",
            ArgumentLocation::Cookie => "cookie",
            ArgumentLocation::BodyField | ArgumentLocation::Body => "body",
        };
        let base = format!("{own}_{suffix}");
        let mut name = base.clone();
        let mut number = 2;
        while self.names.contains(&name) {
            name = format!("{base}_{number}");
            number += 1;
        }
        name
    }

    fn note(&mut self, note: String) {
        self.notes.push(note);
    }
}

/// Returns a name of letters, digits and `_` that begins with a letter.
fn argument_name(wire_name: &str) -> String {
    let mut name = String::new();
    for letter in wire_name.chars() {
        if letter.is_ascii_alphanumeric() || letter == '_' {
            name.push(letter);
        } else if !name.ends_with('_') && !name.is_empty() {
            name.push('_');
        }
    }
    name.truncate(MAX_NAME);
    let name = name.trim_matches('_');
    match name.chars().next() {
        Some(first) if first.is_ascii_alphabetic() => name.to_owned(),
        Some(_) => format!("p_{name}"),
        None => "value".to_owned(),
    }
}

/// The reason why an operation with so many arguments is left out.
pub(super) fn too_many(count: usize) -> String {
    format!("it has {count} arguments; the limit PARAMETERS is {PARAMETERS}")
}

/// Reads the parameters of a path and of one of its operations; the operation's own replace those of the path.
pub(super) fn add_parameters<'d>(
    reader: &OperationReader<'_, 'd>,
    path: &str,
    item: Part<'d>,
    operation: Part<'d>,
    list: &mut ArgumentList,
) -> Result<(), String> {
    let mut parameters: BTreeMap<(String, String), (usize, Part<'d>)> = BTreeMap::new();
    let levels = [item, operation].into_iter();
    let declared = levels.filter_map(|level| level.member("parameters"));
    for (order, parameter) in declared.flat_map(Part::items).enumerate() {
        match reader.documents.follow(parameter) {
            Ok(parameter) => {
                let key = (
                    parameter.text("in").to_owned(),
                    parameter.text("name").to_owned(),
                );
                parameters.insert(key, (order, parameter));
            }
            Err(error) => list.note(format!("a parameter is left out: {error}")),
        }
    }
    if parameters.len() > PARAMETERS {
        return Err(too_many(parameters.len()));
    }
    let may_stream = operation.member(KUBERNETES_ACTION).is_some();
    let mut placed = path_parameters(path)?;
    let mut ordered: Vec<(usize, Part<'d>)> = parameters.into_values().collect();
    ordered.sort_by_key(|(order, _)| *order);
    for (_, parameter) in ordered {
        let name = parameter.text("name");
        match parameter.text("in") {
            "path" => {
                if placed.remove(name) {
                    let schema = scalar(described(reader, parameter)?);
                    list.add(argument(parameter, ArgumentLocation::Path, schema));
                }
            }
            "query" if may_stream && is_streaming(reader, parameter) => list.note(format!(
                "the parameter `{name}` is left out: the answer would not end"
            )),
            "query" if !name.is_empty() => add_query(reader, parameter, list)?,
            "header" => add_header(reader, parameter, list)?,
            "cookie" => add_cookie(reader, parameter, list)?,
            // Swagger's parameters of the body are read with the body.
            "body" | "formData" => {}
            _ => list.note(format!(
                "the parameter `{}` is left out: it is in no known part of a request",
                shortened(name, 80)
            )),
        }
    }
    // A path may name a parameter that nothing describes.
    for name in placed {
        list.add(Argument {
            name: String::new(),
            wire_name: name,
            location: ArgumentLocation::Path,
            required: true,
            schema: schema_of_text(),
            separator: None,
        });
    }
    Ok(())
}

/// Returns the names in braces of a path.
pub(super) fn path_parameters(path: &str) -> Result<BTreeSet<String>, String> {
    let mut names = BTreeSet::new();
    let mut rest = path;
    let malformed = || "the braces of the path do not match".to_owned();
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or_else(malformed)?;
        if before.contains('}') || name.contains(['{', '/']) || name.is_empty() {
            return Err(malformed());
        }
        names.insert(name.to_owned());
        rest = after;
    }
    if rest.contains('}') {
        return Err(malformed());
    }
    Ok(names)
}

fn argument(
    parameter: Part<'_>,
    location: ArgumentLocation,
    schema: Map<String, Value>,
) -> Argument {
    Argument {
        name: String::new(),
        wire_name: parameter.text("name").to_owned(),
        location,
        required: location == ArgumentLocation::Path || parameter.is_true("required"),
        schema,
        separator: None,
    }
}

/// Returns the schema of a parameter with the parameter's own description.
fn described<'d>(
    reader: &OperationReader<'_, 'd>,
    parameter: Part<'d>,
) -> Result<Map<String, Value>, String> {
    let declared = match reader.dialect {
        Dialect::Swagger2 => Some(parameter),
        Dialect::OpenApi3 => parameter.member("schema"),
    };
    let mut schema = match declared {
        Some(declared) => reader.input_schema(declared, Direction::Input)?,
        None => Map::new(),
    };
    let description = shortened(parameter.text("description"), DESCRIPTION);
    if !description.is_empty() {
        schema.insert("description".to_owned(), description.into());
    }
    // `content` describes a parameter that is sent as JSON.
    if reader.dialect == Dialect::OpenApi3 && parameter.member("content").is_some() {
        schema = with_hint(schema_of_text(), &schema, "As JSON text.");
    }
    Ok(schema)
}

fn schema_of_text() -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), Value::from("string"))])
}

/// Replaces a schema by another one, with its description and a hint.
fn with_hint(
    mut schema: Map<String, Value>,
    described: &Map<String, Value>,
    hint: &str,
) -> Map<String, Value> {
    let description = described.get("description").and_then(Value::as_str);
    let description = format!("{} {hint}", description.unwrap_or_default());
    let description = description.trim();
    if !description.is_empty() {
        schema.insert("description".to_owned(), description.into());
    }
    schema
}

/// Returns a schema of single values: a list is a text of values with commas between them.
fn scalar(schema: Map<String, Value>) -> Map<String, Value> {
    let types = value_types(&schema);
    if types.contains(&"array") {
        let hint = "Several values are separated by commas.";
        return with_hint(schema_of_text(), &schema, hint);
    }
    if types.contains(&"object") || (types.is_empty() && !schema.contains_key("enum")) {
        return with_hint(schema_of_text(), &schema, "");
    }
    schema
}

/// Whether a parameter of Kubernetes asks for an answer that does not end.
fn is_streaming(reader: &OperationReader<'_, '_>, parameter: Part<'_>) -> bool {
    let declared = match reader.dialect {
        Dialect::Swagger2 => Some(parameter),
        Dialect::OpenApi3 => parameter.member("schema"),
    };
    STREAMING.contains(&parameter.text("name"))
        && declared.is_some_and(|declared| declared.text("type") == "boolean")
}

fn add_query<'d>(
    reader: &OperationReader<'_, 'd>,
    parameter: Part<'d>,
    list: &mut ArgumentList,
) -> Result<(), String> {
    let schema = described(reader, parameter)?;
    let base = argument(parameter, ArgumentLocation::Query, Map::new());
    let types = value_types(&schema);
    if types.contains(&"array") {
        let separator = separator(reader.dialect, parameter);
        list.add(Argument {
            schema,
            separator,
            ..base
        });
    } else if types.contains(&"object") {
        add_object(parameter, &base, &schema, list);
    } else {
        let schema = scalar(schema);
        list.add(Argument { schema, ..base });
    }
    Ok(())
}

/// Returns the separator of a list in the query.
fn separator(dialect: Dialect, parameter: Part<'_>) -> Option<&'static str> {
    match dialect {
        Dialect::Swagger2 => match parameter.text("collectionFormat") {
            "multi" => None,
            "ssv" => Some(" "),
            "tsv" => Some("\t"),
            "pipes" => Some("|"),
            _ => Some(","),
        },
        Dialect::OpenApi3 => match (parameter.text("style"), parameter.value.get("explode")) {
            ("spaceDelimited", _) => Some(" "),
            ("pipeDelimited", _) => Some("|"),
            (_, Some(Value::Bool(false))) => Some(","),
            (_, _) => None,
        },
    }
}

/// Adds an argument for each property of an object in the query.
fn add_object(
    parameter: Part<'_>,
    base: &Argument,
    schema: &Map<String, Value>,
    list: &mut ArgumentList,
) {
    let properties = schema.get("properties").and_then(Value::as_object);
    let Some(properties) = properties.filter(|properties| !properties.is_empty()) else {
        let schema = with_hint(schema_of_text(), schema, "As text.");
        list.add(Argument {
            schema,
            ..base.clone()
        });
        return;
    };
    let is_deep = parameter.text("style") == "deepObject";
    let required = schema.get("required").and_then(Value::as_array);
    for (name, property) in properties {
        let is_required = required.is_some_and(|required| required.contains(&json!(name)));
        let wire_name = match is_deep {
            true => format!("{}[{name}]", base.wire_name),
            false => name.clone(),
        };
        list.add(Argument {
            wire_name,
            required: base.required && is_required,
            schema: scalar_or_list(property),
            ..base.clone()
        });
    }
}

fn scalar_or_list(property: &Value) -> Map<String, Value> {
    let schema = property.as_object().cloned().unwrap_or_default();
    match value_types(&schema).contains(&"array") {
        true => schema,
        false => scalar(schema),
    }
}

fn add_header<'d>(
    reader: &OperationReader<'_, 'd>,
    parameter: Part<'d>,
    list: &mut ArgumentList,
) -> Result<(), String> {
    let name = parameter.text("name");
    if OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) || is_of_client(name) {
        return Ok(());
    }
    if !is_token(name) {
        let name = shortened(name, 80);
        list.note(format!(
            "the header `{name}` is left out: it has no valid name"
        ));
        return Ok(());
    }
    let schema = scalar(described(reader, parameter)?);
    list.add(argument(parameter, ArgumentLocation::Header, schema));
    Ok(())
}

/// A tool sends all its cookies in one header, which needs a value for each.
fn add_cookie<'d>(
    reader: &OperationReader<'_, 'd>,
    parameter: Part<'d>,
    list: &mut ArgumentList,
) -> Result<(), String> {
    let name = parameter.text("name");
    if !is_token(name) || !parameter.is_true("required") {
        let name = shortened(name, 80);
        list.note(format!(
            "the cookie `{name}` is left out: only required cookies are sent"
        ));
        return Ok(());
    }
    let schema = scalar(described(reader, parameter)?);
    list.add(argument(parameter, ArgumentLocation::Cookie, schema));
    Ok(())
}
