//! The output of an operation: the schema of its success, if there is one success only.

use charter_contract::bounds::IMPORT_OUTPUT_VALUES;
use charter_contract::catalogue::tool::HttpMethod;
use serde_json::{Map, Value};

use super::Dialect;
use super::reader::OperationReader;
use crate::documents::Part;
use crate::schema::Direction;

/// Returns the responses that mean success, followed to their definitions.
pub(super) fn successes<'d>(
    reader: &OperationReader<'_, 'd>,
    operation: Part<'d>,
) -> Vec<Part<'d>> {
    let responses = operation.member("responses").into_iter();
    responses
        .flat_map(Part::members)
        .filter(|(status, _)| status.starts_with('2'))
        .filter_map(|(_, response)| reader.documents.follow(response).ok())
        .collect()
}

/// Returns the schema of the output. Without a schema for every success, there is none: an answer without JSON has
/// another form.
pub(super) fn schema<'d>(
    reader: &OperationReader<'_, 'd>,
    method: HttpMethod,
    successes: &[Part<'d>],
) -> Result<Option<Map<String, Value>>, String> {
    let [success] = successes else {
        return Ok(None);
    };
    let declared = match reader.dialect {
        Dialect::Swagger2 => success.member("schema"),
        Dialect::OpenApi3 => success.member("content").and_then(json_schema),
    };
    let Some(declared) = declared.filter(|_| method != HttpMethod::Head) else {
        return Ok(None);
    };
    let translated = reader
        .translator
        .translate(declared, Direction::Output, IMPORT_OUTPUT_VALUES);
    let translated = translated.map_err(|error| error.to_string())?;
    Ok(Some(translated).filter(is_of_json))
}

fn json_schema(content: Part<'_>) -> Option<Part<'_>> {
    let mut types = content.members();
    let (_, json) = types.find(|(name, _)| is_json(name))?;
    json.member("schema")
}

/// Whether a media type is that of JSON. `*/*` is what generators of documents write for it.
pub(super) fn is_json(media_type: &str) -> bool {
    let name = media_type.split(';').next().unwrap_or_default().trim();
    let name = name.to_ascii_lowercase();
    matches!(name.as_str(), "application/json" | "text/json" | "*/*") || name.ends_with("+json")
}

/// Whether a schema restricts anything. A text is also what tools return for an answer that is no JSON.
fn is_of_json(schema: &Map<String, Value>) -> bool {
    let types = crate::schema::value_types(schema);
    !schema.is_empty()
        && (types.contains(&"object") || types.contains(&"array") || types.is_empty())
}
