//! One document of the catalogue, of any kind.

use axum::Json;
use axum::extract::State;
use charter_engine::DocumentShown;

use super::catalogue::kind_of;
use crate::error::ApiError;
use crate::extract::{By, Path};
use crate::state::AppState;

/// Show a document as the tenant's layer and the global one have it, with its text as it was written.
#[utoipa::path(get, path = "/v1/documents/{kind}/{document}", tag = "catalogue", operation_id = "show_document",
    params(("kind" = String, Path, description = "A kind that can be listed"), ("document" = String, Path, description = "The exact id")),
    responses((status = 200, description = "The document", body = ref("#/components/schemas/document")),
        (status = 410, description = "A deprecated collection", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn show(
    State(state): State<AppState>,
    By(caller): By,
    Path((kind, id)): Path<(String, String)>,
) -> Result<Json<DocumentShown>, ApiError> {
    let kind = kind_of(&kind).map_err(|error| ApiError::new(&state, error))?;
    let shown = state.engine.show_document(&caller, kind, &id).await;
    shown
        .map(Json)
        .map_err(|error| ApiError::new(&state, error))
}
