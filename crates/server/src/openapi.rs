//! The OpenAPI 3.1 document: operations from the handlers' annotations, schemas from the contract.

use charter_contract::{canonical, schema};
use serde_json::Value;
use utoipa::OpenApi;

use crate::routes;

#[derive(OpenApi)]
#[openapi(
    info(title = "Charter", description = "The contract-first context engine and mission runtime for AI agents.", license(name = "Apache-2.0")),
    security(("api_key" = []), ())
)]
struct Api;

/// The whole document as JSON.
#[must_use]
pub fn document() -> Value {
    let (_, operations) = routes::api().split_for_parts();
    let mut api = Api::openapi();
    api.merge(operations);
    let mut document = serde_json::to_value(&api).unwrap_or_default();
    name_rests(&mut document);
    let schemas =
        schema::all().map(|entry| (entry.name.as_str().to_owned(), embedded(entry.json())));
    document["components"]["schemas"] = Value::Object(schemas.collect());
    document["components"]["securitySchemes"]["api_key"] =
        serde_json::json!({"type": "http", "scheme": "bearer", "description": "An API key"});
    canonical::sorted(document)
}

/// A parameter that takes the rest of a path has no form of its own in OpenAPI: `{*path}` is `{path}`.
fn name_rests(document: &mut Value) {
    if let Some(paths) = document["paths"].as_object_mut() {
        let named = std::mem::take(paths).into_iter();
        paths.extend(named.map(|(path, operations)| (path.replace("{*", "{"), operations)));
    }
}

/// A schema as a part of the document: its own definitions are found inside it.
fn embedded(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let Some(fields) = schema.as_object_mut() else {
        return schema;
    };
    // With an `$id` of its own, `#/$defs/…` inside the schema means this schema.
    if !fields.contains_key("$id")
        && let Some(title) = fields.get("title").and_then(Value::as_str)
    {
        let id = format!("urn:charter:schema:{title}");
        fields.insert("$id".to_owned(), Value::String(id));
    }
    schema
}
