//! The body of an operation: its format, and its fields as arguments.

use charter_contract::catalogue::tool::BodyFormat;
use serde_json::{Map, Value, json};

use super::Dialect;
use super::arguments::ArgumentList;
use super::output::is_json;
use super::reader::OperationReader;
use crate::api::{Argument, ArgumentLocation, Body};
use crate::documents::Part;
use crate::schema::{Direction, value_types};
use crate::text::shortened;

/// Fields of a body that become arguments of their own; a body with more is one argument.
const MAX_FIELDS: usize = 100;
/// The argument that is a whole body.
const BODY: &str = "body";
/// The media type of a list of changes (RFC 6902).
const JSON_PATCH: &str = "application/json-patch+json";
/// The media type of the fields to change (RFC 7396).
const MERGE_PATCH: &str = "application/merge-patch+json";
/// Longest description of the whole body, in characters.
const DESCRIPTION: usize = 300;

/// Adds the arguments of the body, and returns its format.
pub(super) fn add_body<'d>(
    reader: &OperationReader<'_, 'd>,
    operation: Part<'d>,
    parameters: &[Part<'d>],
    list: &mut ArgumentList,
) -> Result<Option<Body>, String> {
    match reader.dialect {
        Dialect::Swagger2 => of_swagger(reader, operation, parameters, list),
        Dialect::OpenApi3 => {
            let Some(declared) = operation.member("requestBody") else {
                return Ok(None);
            };
            let declared = reader.documents.follow(declared);
            let declared = declared.map_err(|error| format!("the body: {error}"))?;
            let content = declared.member("content").into_iter();
            let types: Vec<(&str, Part<'d>)> = content.flat_map(Part::members).collect();
            let Some((name, media)) = preferred(reader, &types) else {
                list.notes
                    .push("the body has no media type; it is left out".to_owned());
                return Ok(None);
            };
            let whole = WholeBody {
                media_type: name,
                schema: media.member("schema"),
                is_required: declared.is_true("required"),
                description: shortened(declared.text("description"), DESCRIPTION),
            };
            add_whole(reader, &whole, list).map(Some)
        }
    }
}

/// A body of one media type.
struct WholeBody<'d> {
    media_type: &'d str,
    schema: Option<Part<'d>>,
    is_required: bool,
    description: String,
}

/// Returns a media type without its parameters, in lower case.
fn essence(media_type: &str) -> String {
    let name = media_type.split(';').next().unwrap_or_default();
    name.trim().to_ascii_lowercase()
}

/// Returns the format of a media type.
fn format_of(media_type: &str) -> BodyFormat {
    match essence(media_type).as_str() {
        name if is_json(name) => BodyFormat::Json,
        "application/x-www-form-urlencoded" => BodyFormat::Form,
        name if name.starts_with("multipart/") => BodyFormat::Multipart,
        _ => BodyFormat::Text,
    }
}

/// Returns the media type that tools can send best, with its description.
fn preferred<'d>(
    reader: &OperationReader<'_, 'd>,
    types: &[(&'d str, Part<'d>)],
) -> Option<(&'d str, Part<'d>)> {
    let types = types.iter().copied();
    types.min_by_key(|(name, media)| preference(name, is_list(reader, media.member("schema"))))
}

/// Returns the place of a media type among those of a body; the first is preferred: plain JSON, a JSON Merge Patch,
/// other JSON, a form, parts, then any other, which is sent as text. A JSON Patch is a list of changes, so one whose
/// schema is of an object precedes only texts.
fn preference(media_type: &str, is_list: bool) -> u8 {
    let name = essence(media_type);
    match format_of(media_type) {
        BodyFormat::Json if name == JSON_PATCH && !is_list => 5,
        BodyFormat::Json => match name.as_str() {
            "application/json" => 0,
            MERGE_PATCH => 1,
            _ => 2,
        },
        BodyFormat::Form => 3,
        BodyFormat::Multipart => 4,
        BodyFormat::Text => 6,
    }
}

/// Whether a schema describes a list.
fn is_list<'d>(reader: &OperationReader<'_, 'd>, schema: Option<Part<'d>>) -> bool {
    let schema = schema.and_then(|schema| reader.documents.follow(schema).ok());
    schema.is_some_and(|schema| {
        schema.text("type") == "array" || schema.texts("type").any(|name| name == "array")
    })
}

fn add_whole<'d>(
    reader: &OperationReader<'_, 'd>,
    body: &WholeBody<'d>,
    list: &mut ArgumentList,
) -> Result<Body, String> {
    let format = format_of(body.media_type);
    let direction = match format {
        BodyFormat::Multipart => Direction::Parts,
        BodyFormat::Json | BodyFormat::Form | BodyFormat::Text => Direction::Input,
    };
    let schema = match body.schema {
        Some(schema) if format != BodyFormat::Text => reader.input_schema(schema, direction)?,
        Some(_) | None => Map::new(),
    };
    let schema = match essence(body.media_type).as_str() {
        JSON_PATCH if !value_types(&schema).contains(&"array") => list_of_changes(),
        _ => schema,
    };
    match fields_of(&schema) {
        Some(fields) => add_fields(fields, &schema, body.is_required, list),
        None => list.add(Argument {
            name: String::new(),
            wire_name: BODY.to_owned(),
            location: ArgumentLocation::Body,
            required: body.is_required,
            schema: whole_schema(format, schema, body),
            separator: None,
        }),
    }
    Ok(Body {
        format,
        content_type: content_type(format, body.media_type),
    })
}

/// Returns the schema of a JSON Patch whose description has another one.
fn list_of_changes() -> Map<String, Value> {
    Map::from_iter([
        ("type".to_owned(), json!("array")),
        ("items".to_owned(), json!({ "type": "object" })),
    ])
}

/// Returns the fields of a body that is an object of few named fields.
fn fields_of(schema: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let fields = schema.get("properties")?.as_object()?;
    let is_plain = ["anyOf", "allOf"]
        .iter()
        .all(|keyword| !schema.contains_key(*keyword));
    let has_further = schema
        .get("additionalProperties")
        .is_some_and(Value::is_object);
    let is_object = matches!(value_types(schema).as_slice(), [] | ["object"]);
    let fits = (1..=MAX_FIELDS).contains(&fields.len());
    (is_plain && !has_further && is_object && fits).then_some(fields)
}

fn add_fields(
    fields: &Map<String, Value>,
    schema: &Map<String, Value>,
    is_required: bool,
    list: &mut ArgumentList,
) {
    let required = schema.get("required").and_then(Value::as_array);
    for (name, field) in fields {
        let named = required.is_some_and(|required| required.contains(&json!(name)));
        list.add(Argument {
            name: String::new(),
            wire_name: name.clone(),
            location: ArgumentLocation::BodyField,
            required: is_required && named,
            schema: field.as_object().cloned().unwrap_or_default(),
            separator: None,
        });
    }
}

/// Returns the schema of a body that is one argument.
fn whole_schema(
    format: BodyFormat,
    mut schema: Map<String, Value>,
    body: &WholeBody<'_>,
) -> Map<String, Value> {
    match format {
        BodyFormat::Json => {}
        BodyFormat::Form | BodyFormat::Multipart => {
            schema.insert("type".to_owned(), "object".into());
        }
        BodyFormat::Text => {
            schema.insert("type".to_owned(), "string".into());
        }
    }
    if !schema.contains_key("description") {
        let of_type = shortened(body.media_type, 80);
        let description = match body.description.as_str() {
            "" => format!("The body ({of_type})"),
            described => described.to_owned(),
        };
        schema.insert("description".to_owned(), description.into());
    }
    schema
}

/// Returns the media type that a request has to declare, unless the format implies it.
fn content_type(format: BodyFormat, media_type: &str) -> Option<String> {
    let is_plain = media_type.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && media_type.len() <= 200
        && !media_type.contains("${")
        && !media_type.contains('*');
    let is_implied = match format {
        BodyFormat::Json => media_type == "application/json",
        BodyFormat::Form | BodyFormat::Multipart => true,
        BodyFormat::Text => false,
    };
    (is_plain && !is_implied).then(|| media_type.to_owned())
}

fn of_swagger<'d>(
    reader: &OperationReader<'_, 'd>,
    operation: Part<'d>,
    parameters: &[Part<'d>],
    list: &mut ArgumentList,
) -> Result<Option<Body>, String> {
    let consumes = match operation.member("consumes") {
        Some(_) => operation.texts("consumes").collect::<Vec<_>>(),
        None => reader.documents.root().texts("consumes").collect(),
    };
    let is_in = |part: &&Part<'d>, place: &str| part.text("in") == place;
    if let Some(parameter) = parameters.iter().find(|part| is_in(part, "body")) {
        let is_list = is_list(reader, parameter.member("schema"));
        let media_type = consumes
            .iter()
            .copied()
            .min_by_key(|name| preference(name, is_list));
        let whole = WholeBody {
            media_type: media_type.unwrap_or("application/json"),
            schema: parameter.member("schema"),
            is_required: parameter.is_true("required"),
            description: shortened(parameter.text("description"), DESCRIPTION),
        };
        return add_whole(reader, &whole, list).map(Some);
    }
    let fields: Vec<Part<'d>> = parameters
        .iter()
        .filter(|part| is_in(part, "formData"))
        .copied()
        .collect();
    if fields.is_empty() {
        return Ok(None);
    }
    let has_file = fields.iter().any(|field| field.text("type") == "file");
    let only_parts =
        !consumes.is_empty() && consumes.iter().all(|name| name.starts_with("multipart/"));
    let (format, direction) = match has_file || only_parts {
        true => (BodyFormat::Multipart, Direction::Parts),
        false => (BodyFormat::Form, Direction::Input),
    };
    for field in fields {
        let schema = reader.input_schema(field, direction)?;
        list.add(Argument {
            name: String::new(),
            wire_name: field.text("name").to_owned(),
            location: ArgumentLocation::BodyField,
            required: field.is_true("required"),
            schema,
            separator: None,
        });
    }
    Ok(Some(Body {
        format,
        content_type: None,
    }))
}
