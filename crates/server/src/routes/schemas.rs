//! The contracts themselves.

use charter_contract::registry;
use charter_engine::EngineError;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::error::ApiError;
use crate::extract::Path;
use crate::json::Json;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SchemaSummary")]
pub(crate) struct Summary {
    name: &'static str,
    title: &'static str,
    source: &'static str,
}

/// List the schemas.
#[utoipa::path(get, path = "/v1/schemas", tag = "schemas", operation_id = "list_schemas",
    responses((status = 200, description = "Names, titles and sources", body = ref("#/components/schemas/schema_list"))))]
pub(crate) async fn list() -> Json<Vec<Summary>> {
    let summaries = registry::all().map(|entry| Summary {
        name: entry.name.as_str(),
        title: entry.title,
        source: entry.source,
    });
    Json(summaries.collect())
}

/// Show a schema. Of what packages have files of, it takes a document and a list of them.
#[utoipa::path(get, path = "/v1/schemas/{name}", tag = "schemas", operation_id = "get_schema",
    params(("name" = String, Path, description = "Its name")),
    responses((status = 200, description = "A JSON Schema", body = Object)))]
pub(crate) async fn show(Path(name): Path<String>) -> Result<Json<Value>, ApiError> {
    match registry::get(&name) {
        Some(entry) => Ok(Json(entry.of_file())),
        None => {
            let names = registry::all().map(|entry| entry.name.as_str());
            let absent = EngineError::not_found("schema", &name);
            Err(absent.or_nearest(&name, names).into())
        }
    }
}
