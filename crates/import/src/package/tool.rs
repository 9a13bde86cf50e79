//! The tool of an operation.

use charter_contract::catalogue::tool::{BodyFormat, HttpMethod};
use charter_contract::foreign_schema::ForeignSchema;
use serde_json::{Map, Value, json};

use super::PackageIds;
use super::names::NamedOperation;
use crate::api::{Api, ArgumentLocation, CredentialUse, Operation};
use crate::text::shortened;

/// Longest description, in characters.
const DESCRIPTION: usize = 500;
/// Time limit of one call, in milliseconds.
const TIMEOUT_MS: u32 = 30_000;

/// Returns the document of an operation's tool.
pub(super) fn tool(api: &Api, ids: &PackageIds, named: &NamedOperation<'_>) -> Value {
    let operation = named.operation;
    let class = match operation.is_readonly() {
        true => "readonly",
        false => "write",
    };
    let mut document = json!({
        "tool_id": ids.tool(named),
        "name": named.name,
        "provider": ids.prefix,
        "service": named.group,
        "tool_class": class,
        "domain": ids.domain,
        "description": description(named),
        "examples": [named.title],
        "input_schema": input_schema(operation),
    });
    if let Some(output) = output_schema(operation) {
        document["output_schema"] = Value::Object(output);
    }
    document["execution_target"] = "server".into();
    document["language"] = "http".into();
    if is_idempotent(operation.method) {
        document["idempotent"] = true.into();
    }
    document["implementation"] = implementation(api, operation);
    let (named, granted): (Vec<&String>, Vec<&String>) = operation
        .credentials
        .iter()
        .partition(|variable| credential_name(api, variable).is_some());
    if !granted.is_empty() {
        document["environment"] = json!(granted);
    }
    if !named.is_empty() {
        let named = named.into_iter();
        let named = named
            .map(|variable| json!({"name": credential_name(api, variable), "variable": variable}));
        document["credentials"] = named.collect();
    }
    document["egress"] = json!([operation.host]);
    document["timeout_ms"] = TIMEOUT_MS.into();
    document
}

/// Whether repeating a write has the effect of one (RFC 9110, section 9.2.2).
fn is_idempotent(method: HttpMethod) -> bool {
    matches!(method, HttpMethod::Put | HttpMethod::Delete)
}

/// Returns the name of the credential of the configuration that a variable holds.
fn credential_name<'a>(api: &'a Api, variable: &str) -> Option<&'a str> {
    api.credentials.get(variable)?.named.as_deref()
}

/// Returns the author's words about an operation, and how it returns pages.
pub(super) fn description(named: &NamedOperation<'_>) -> String {
    let operation = named.operation;
    let title = &named.title;
    let mut parts = vec![format!("{title} ({}).", operation.heading())];
    if operation.deprecated {
        parts.push("Deprecated.".to_owned());
    }
    let described = shortened(&operation.description, DESCRIPTION);
    if !described.is_empty() && described.trim_end_matches('.') != title.as_str() {
        parts.push(described);
    }
    parts.extend(operation.pagination.clone());
    parts.join(" ")
}

/// Returns the schema of the arguments. A schema that cannot be used is reduced to types and descriptions.
fn input_schema(operation: &Operation) -> Value {
    let schema = |reduce: fn(&Map<String, Value>) -> Map<String, Value>| {
        let arguments = operation.arguments.iter();
        let properties: Map<String, Value> = arguments
            .map(|argument| {
                (
                    argument.name.clone(),
                    Value::Object(reduce(&argument.schema)),
                )
            })
            .collect();
        let required = operation
            .arguments
            .iter()
            .filter(|argument| argument.required);
        let required: Vec<&str> = required.map(|argument| argument.name.as_str()).collect();
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), Value::Object(properties));
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        schema.insert("additionalProperties".to_owned(), false.into());
        schema
    };
    let whole = schema(Clone::clone);
    if operation.arguments.is_empty() || is_usable(&whole) {
        return Value::Object(whole);
    }
    Value::Object(schema(reduced))
}

/// Returns a schema without everything but types and descriptions.
fn reduced(schema: &Map<String, Value>) -> Map<String, Value> {
    let kept = ["type", "description"].into_iter().filter_map(|keyword| {
        let value = schema.get(keyword)?;
        Some((keyword.to_owned(), value.clone()))
    });
    kept.collect()
}

/// Returns the schema of the output, if it can be used.
pub(super) fn output_schema(operation: &Operation) -> Option<Map<String, Value>> {
    operation.output.clone().filter(is_usable)
}

fn is_usable(schema: &Map<String, Value>) -> bool {
    ForeignSchema::from(schema.clone()).fault().is_none()
}

/// Returns the HTTP exchange, in which each value is a placeholder.
fn implementation(api: &Api, operation: &Operation) -> Value {
    let mut implementation = json!({
        "type": "http",
        "method": operation.method.as_str(),
        "url": url(operation),
    });
    let mut query = fields(operation, ArgumentLocation::Query);
    let mut headers = fields(operation, ArgumentLocation::Header);
    let mut cookies: Vec<String> = in_location(operation, ArgumentLocation::Cookie)
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    for variable in &operation.credentials {
        let Some(credential) = api.credentials.get(variable) else {
            continue;
        };
        let value = format!("${{env.{variable}}}");
        match &credential.sent {
            CredentialUse::Header { name, prefix } => {
                headers.insert(name.clone(), format!("{prefix}{value}").into());
            }
            CredentialUse::Query { name } => {
                query.insert(name.clone(), value.into());
            }
            CredentialUse::Cookie { name } => cookies.push(format!("{name}={value}")),
        }
    }
    if !cookies.is_empty() {
        headers.insert("cookie".to_owned(), cookies.join("; ").into());
    }
    let content_type = operation
        .body
        .as_ref()
        .and_then(|body| body.content_type.clone());
    if let Some(content_type) = content_type {
        headers.insert("content-type".to_owned(), content_type.into());
    }
    if !headers.is_empty() {
        implementation["headers"] = Value::Object(headers);
    }
    if !query.is_empty() {
        implementation["query"] = Value::Object(query);
    }
    let separated = operation.arguments.iter().filter_map(|argument| {
        let separator = argument.separator?;
        Some((argument.wire_name.clone(), Value::from(separator)))
    });
    let separators: Map<String, Value> = separated.collect();
    if !separators.is_empty() {
        implementation["list_separators"] = Value::Object(separators);
    }
    if let Some(body) = &operation.body {
        implementation["body"] = body_template(operation);
        if body.format != BodyFormat::Json {
            implementation["body_format"] = body.format.as_str().into();
        }
    }
    implementation
}

/// Returns the placeholder of an argument.
pub(super) fn placeholder(name: &str) -> String {
    format!("${{user.{name}}}")
}

/// Returns the names in the request of the arguments of one location, with their placeholders.
fn in_location(
    operation: &Operation,
    location: ArgumentLocation,
) -> impl Iterator<Item = (String, String)> + '_ {
    let arguments = operation.arguments.iter();
    arguments
        .filter(move |argument| argument.location == location)
        .map(|argument| (argument.wire_name.clone(), placeholder(&argument.name)))
}

fn fields(operation: &Operation, location: ArgumentLocation) -> Map<String, Value> {
    in_location(operation, location)
        .map(|(name, value)| (name, Value::from(value)))
        .collect()
}

/// Returns the address with a placeholder for each parameter of the path. The part after `#`, which some documents use
/// to distinguish operations of one path, is never sent. A dollar sign of the address is encoded, since it could open
/// or escape a placeholder.
fn url(operation: &Operation) -> String {
    let path = operation.path.split('#').next().unwrap_or_default();
    let encoded = |text: &str| text.replace('$', "%24").replace(' ', "%20");
    let mut url = encoded(&operation.base);
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        url.push_str(&encoded(before));
        let argument = operation.arguments.iter().find(|argument| {
            argument.location == ArgumentLocation::Path && argument.wire_name == name
        });
        if let Some(argument) = argument {
            url.push_str(&placeholder(&argument.name));
        }
        rest = after;
    }
    url.push_str(&encoded(rest));
    url
}

fn body_template(operation: &Operation) -> Value {
    let mut arguments = operation.arguments.iter();
    let whole = arguments.find(|argument| argument.location == ArgumentLocation::Body);
    match whole {
        Some(argument) => placeholder(&argument.name).into(),
        None => Value::Object(fields(operation, ArgumentLocation::BodyField)),
    }
}
