//! Reads OpenAPI 3.0 and 3.1 and Swagger 2.0. A part that cannot be used is noted, and an operation that cannot be
//! called is left out with the reason; neither refuses the rest of the document.
//!
//! Must not know packages.

mod arguments;
mod body;
mod operation;
mod output;
mod pagination;
mod reader;
mod security;
mod servers;

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::bounds::{IMPORT_LEFT_OUT, IMPORT_OPERATIONS};

use crate::api::{Api, LeftOutOperation, Operation};
use crate::documents::{DocumentSet, Part};
use crate::schema::SchemaTranslator;
use crate::selection::{Selectable, Selection};
use crate::text::shortened;
use operation::method_of;
use reader::OperationReader;
use security::SecuritySchemes;
use servers::Servers;

/// Longest title, in characters.
const TITLE: usize = 120;
/// Longest description of the document and of a tag, in characters.
const DESCRIPTION: usize = 600;
/// Methods of a path item in the order in which operations are read.
const METHODS: [&str; 8] = [
    "get", "head", "post", "put", "patch", "delete", "options", "trace",
];

/// The member of an operation in descriptions of Kubernetes that names what it does.
const KUBERNETES_ACTION: &str = "x-kubernetes-action";

/// Settings of reading.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Prefix of the names of variables for credentials.
    pub prefix: String,
    /// Address of the server, in place of those that the document names.
    pub base_url: Option<String>,
    /// Values of variables of servers, in place of their defaults.
    pub server_variables: BTreeMap<String, String>,
    /// Operations to read.
    pub selection: Selection,
}

/// The reason why no operation of a document can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenApiError {
    /// The document is of another kind or version.
    #[error(
        "not an OpenAPI 3.0 or 3.1 or Swagger 2.0 document: `openapi` is {openapi}, `swagger` is {swagger}"
    )]
    Version {
        /// The member `openapi`, as JSON.
        openapi: String,
        /// The member `swagger`, as JSON.
        swagger: String,
    },
    /// The document has no paths.
    #[error("the document has no `paths`")]
    NoPaths,
}

/// The form of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Swagger2,
    OpenApi3,
}

/// Reads the operations of a document.
///
/// # Errors
/// [`OpenApiError`], if the document is no OpenAPI document at all.
pub fn read(documents: &DocumentSet, options: &ReadOptions) -> Result<Api, OpenApiError> {
    let root = documents.root();
    let (dialect, format) = dialect(root)?;
    let paths = root.member("paths").filter(|paths| paths.value.is_object());
    let Some(paths) = paths.and_then(|paths| documents.follow(paths).ok()) else {
        return Err(OpenApiError::NoPaths);
    };
    let info = root.member("info").unwrap_or(root);
    let translator = SchemaTranslator::new(documents);
    let schemes = SecuritySchemes::read(documents, dialect, &options.prefix);
    let servers = Servers::new(documents, dialect, options);
    let reader = OperationReader {
        documents,
        dialect,
        translator: &translator,
        schemes: &schemes,
        servers: &servers,
    };
    let mut api = Api {
        title: shortened(info.text("title"), TITLE),
        version: shortened(info.text("version"), TITLE),
        description: shortened(info.text("description"), DESCRIPTION),
        format,
        operations: Vec::new(),
        left_out: Vec::new(),
        left_out_count: 0,
        credentials: BTreeMap::new(),
        unused_credentials: BTreeMap::new(),
        server_variables: BTreeMap::new(),
        tags: tags(root),
        notes: Vec::new(),
    };
    for (path, item) in paths.members() {
        if path.starts_with("x-") {
            continue;
        }
        read_path(&reader, path, item, &options.selection, &mut api);
    }
    let operations = api.operations.iter();
    let used: BTreeSet<&String> = operations.flat_map(|one| &one.credentials).collect();
    let credentials = schemes.credentials();
    let credentials =
        credentials.map(|(variable, credential)| (variable.clone(), credential.clone()));
    (api.credentials, api.unused_credentials) =
        credentials.partition(|(variable, _)| used.contains(variable));
    api.server_variables = servers.used_variables();
    api.notes = servers.notes();
    Ok(api)
}

fn dialect(root: Part<'_>) -> Result<(Dialect, String), OpenApiError> {
    let version = |name: &str| match root.value.get(name) {
        // YAML reads an unquoted `2.0` as a number.
        Some(serde_json::Value::Number(number)) => number.to_string(),
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(_) | None => String::new(),
    };
    let (openapi, swagger) = (version("openapi"), version("swagger"));
    if openapi.starts_with("3.") || openapi == "3" {
        let digits = openapi
            .chars()
            .take_while(|c| c.is_ascii_digit() || *c == '.');
        let version: String = digits.take(20).collect();
        return Ok((Dialect::OpenApi3, format!("OpenAPI {version}")));
    }
    if swagger == "2" || swagger.starts_with("2.") {
        return Ok((Dialect::Swagger2, "Swagger 2.0".to_owned()));
    }
    let shown = |name: &str| {
        let value = root.value.get(name).map(ToString::to_string);
        shortened(&value.unwrap_or_else(|| "absent".to_owned()), 40)
    };
    Err(OpenApiError::Version {
        openapi: shown("openapi"),
        swagger: shown("swagger"),
    })
}

fn tags(root: Part<'_>) -> BTreeMap<String, String> {
    let tags = root.member("tags").into_iter().flat_map(Part::items);
    let named = tags.filter(|tag| !tag.text("name").is_empty());
    named
        .map(|tag| {
            let description = shortened(tag.text("description"), DESCRIPTION);
            (shortened(tag.text("name"), TITLE), description)
        })
        .collect()
}

/// Reads the operations of one path.
fn read_path<'d>(
    reader: &OperationReader<'_, 'd>,
    path: &str,
    item: Part<'d>,
    selection: &Selection,
    api: &mut Api,
) {
    let pointer = format!("/paths/{}", path.replace('~', "~0").replace('/', "~1"));
    let item = match reader.documents.follow(item) {
        Ok(item) => item,
        Err(error) => {
            leave_out(api, pointer, &format!("* {path}"), &error.to_string());
            return;
        }
    };
    for name in METHODS {
        let Some(operation) = item.member(name) else {
            continue;
        };
        let heading = format!("{} {path}", name.to_ascii_uppercase());
        let tags = operation.texts("tags").collect::<Vec<_>>();
        let selectable = Selectable {
            tags: &tags,
            path,
            method: name,
            id: operation.text("operationId"),
        };
        if !selection.admits(&selectable) {
            continue;
        }
        let pointer = format!("{pointer}/{name}");
        match read_operation(reader, path, name, item, operation, api.operations.len()) {
            Ok(read) => api.operations.push(Operation { pointer, ..read }),
            Err(reason) => leave_out(api, pointer, &heading, &reason),
        }
    }
}

fn read_operation<'d>(
    reader: &OperationReader<'_, 'd>,
    path: &str,
    name: &str,
    item: Part<'d>,
    operation: Part<'d>,
    known: usize,
) -> Result<Operation, String> {
    if known >= IMPORT_OPERATIONS {
        return Err(format!(
            "the import has already {IMPORT_OPERATIONS} operations (IMPORT_OPERATIONS); select some by `--include`"
        ));
    }
    let action = operation.text(KUBERNETES_ACTION);
    if matches!(action, "watch" | "watchlist") {
        return Err(format!(
            "its answer would not end (`{KUBERNETES_ACTION}: {action}`)"
        ));
    }
    let Some(method) = method_of(name) else {
        let method = name.to_ascii_uppercase();
        return Err(format!("HTTP tools do not send the method {method}"));
    };
    operation::read(reader, method, path, item, operation)
}

fn leave_out(api: &mut Api, pointer: String, operation: &str, reason: &str) {
    api.left_out_count += 1;
    if api.left_out.len() < IMPORT_LEFT_OUT {
        api.left_out.push(LeftOutOperation {
            pointer,
            operation: shortened(operation, 200),
            reason: shortened(reason, 300),
        });
    }
}

#[cfg(test)]
mod tests;
