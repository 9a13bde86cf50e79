//! One document of the catalogue, of any kind.

use axum::extract::State;
use charter_engine::{DependencySide, Depth, DocumentDependencies, DocumentView};
use serde::Deserialize;
use utoipa::IntoParams;

use super::catalogue::kind_of;
use crate::error::ApiError;
use crate::extract::{Authenticated, Path, QueryParams};
use crate::json::Json;
use crate::state::AppState;

/// Show a document in the tenant's layer and in the global one, with its original text.
#[utoipa::path(get, path = "/v1/documents/{kind}/{document}", tag = "catalogue", operation_id = "get_document",
    params(("kind" = String, Path, description = "A kind that can be listed"), ("document" = String, Path, description = "The exact id")),
    responses((status = 200, description = "The document", body = ref("#/components/schemas/document")),
        (status = 410, description = "A deprecated collection", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn show(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path((kind, id)): Path<(String, String)>,
) -> Result<Json<DocumentView>, ApiError> {
    let kind = kind_of(&kind)?;
    Ok(Json(
        state
            .engine
            .documents()
            .show_document(&caller, kind, &id)
            .await?,
    ))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct DependenciesQuery {
    /// `needs`: the documents that it depends on; `needed_by`: the documents that depend on it; both when absent.
    #[param(value_type = Option<String>)]
    direction: Option<DependencySide>,
    /// The largest distance in references, 1 to 10; 10 when absent.
    #[param(value_type = Option<u8>, minimum = 1, maximum = 10)]
    depth: Option<Depth>,
}

/// Show the documents that a document depends on, and those that depend on it: they may break if it changes.
#[utoipa::path(get, path = "/v1/documents/{kind}/{document}/dependencies", tag = "catalogue", operation_id = "get_document_dependencies",
    params(("kind" = String, Path, description = "A kind that can be listed"), ("document" = String, Path, description = "The exact id"), DependenciesQuery),
    responses((status = 200, description = "The documents around it", body = ref("#/components/schemas/document_dependencies")),
        (status = 410, description = "A deprecated collection", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn dependencies(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path((kind, id)): Path<(String, String)>,
    QueryParams(asked): QueryParams<DependenciesQuery>,
) -> Result<Json<DocumentDependencies>, ApiError> {
    let kind = kind_of(&kind)?;
    let DependenciesQuery { direction, depth } = asked;
    let found =
        state
            .engine
            .documents()
            .document_dependencies(&caller, (kind, &id), direction, depth)?;
    Ok(Json(found))
}
