//! Reads one operation: its arguments, body, output, server and credentials.

use charter_contract::bounds::PARAMETERS;
use charter_contract::catalogue::tool::HttpMethod;

use super::arguments::{ArgumentList, add_parameters, too_many};
use super::body::add_body;
use super::reader::OperationReader;
use super::{output, pagination};
use crate::api::Operation;
use crate::documents::Part;
use crate::text::shortened;

/// Longest summary, in characters.
const SUMMARY: usize = 160;
/// Longest description, in characters.
const DESCRIPTION: usize = 600;
/// Longest tag and id, in characters.
const NAME: usize = 120;
/// Notes of one operation that are kept.
const MAX_NOTES: usize = 10;

/// Returns the method of a name in a path item, if HTTP tools can send it.
pub(super) fn method_of(name: &str) -> Option<HttpMethod> {
    name.to_ascii_uppercase().parse().ok()
}

/// Reads an operation.
///
/// # Errors
/// The reason why it cannot be called.
pub(super) fn read<'d>(
    reader: &OperationReader<'_, 'd>,
    method: HttpMethod,
    path: &str,
    item: Part<'d>,
    operation: Part<'d>,
) -> Result<Operation, String> {
    if !operation.value.is_object() {
        return Err("the operation is no object".to_owned());
    }
    if !path.starts_with('/') {
        return Err("the path does not begin with `/`".to_owned());
    }
    reader.translator.take_notes();
    let server = reader.servers.of_operation(item, operation)?;
    let mut list = ArgumentList::default();
    add_parameters(reader, path, item, operation, &mut list)?;
    let body = match method {
        HttpMethod::Get | HttpMethod::Head => None,
        HttpMethod::Post | HttpMethod::Put | HttpMethod::Patch | HttpMethod::Delete => {
            let parameters = reader.parameters(item, operation);
            add_body(reader, operation, &parameters, &mut list)?
        }
    };
    if list.arguments.len() > PARAMETERS {
        return Err(too_many(list.arguments.len()));
    }
    let successes = output::successes(reader, operation);
    let credentials = reader
        .schemes
        .of_operation(reader.documents.root(), operation);
    let output = output::schema(reader, method, &successes)?;
    let pagination = pagination::described(&list.arguments, successes.first().copied());
    let mut notes = list.notes;
    notes.extend(credentials.notes);
    notes.extend(reader.translator.take_notes());
    notes.truncate(MAX_NOTES);
    let id = shortened(operation.text("operationId"), NAME);
    Ok(Operation {
        pointer: String::new(),
        operation_id: Some(id).filter(|id| !id.is_empty()),
        method,
        path: path.to_owned(),
        tags: tags(operation),
        summary: shortened(operation.text("summary"), SUMMARY),
        description: shortened(operation.text("description"), DESCRIPTION),
        arguments: list.arguments,
        body,
        output,
        credentials: credentials.variables,
        base: server.base,
        host: server.host,
        deprecated: operation.is_true("deprecated"),
        pagination,
        notes,
    })
}

fn tags(operation: Part<'_>) -> Vec<String> {
    let tags = operation.texts("tags").map(|tag| shortened(tag, NAME));
    tags.filter(|tag| !tag.is_empty()).collect()
}
