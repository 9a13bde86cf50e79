//! Runs and their journals.

use axum::Json;
use axum::extract::{Path, State};
use charter_contract::ids::RunId;
use charter_engine::{RunListing, RunShown};
use charter_store::page::PageRequest;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{Asked, By, parsed};
use crate::state::AppState;

/// Runs of a page when nothing else is asked for.
const PAGE: usize = 50;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// Where the page starts: `next` of the page before.
    after: Option<String>,
    /// At most so many, up to 1000; 50 when absent.
    limit: Option<usize>,
}

/// List runs, newest first.
#[utoipa::path(get, path = "/v1/runs", tag = "runs", operation_id = "list_runs", params(PageQuery),
    responses((status = 200, description = "A page", body = Object)))]
pub(crate) async fn list(
    State(state): State<AppState>,
    By(caller): By,
    Asked(asked): Asked<PageQuery>,
) -> Result<Json<RunListing>, ApiError> {
    let page = PageRequest::new(asked.after, asked.limit.unwrap_or(PAGE));
    let runs = state.engine.runs(&caller, &page).await;
    runs.map(Json).map_err(|error| ApiError::new(&state, error))
}

/// Show a run with its journal.
#[utoipa::path(get, path = "/v1/runs/{id}", tag = "runs", operation_id = "show_run",
    params(("id" = String, Path, description = "`run-…`")),
    responses((status = 200, description = "The run", body = Object)))]
pub(crate) async fn show(
    State(state): State<AppState>,
    By(caller): By,
    Path(id): Path<String>,
) -> Result<Json<RunShown>, ApiError> {
    let id: RunId = parsed(&state, &id)?;
    let shown = state.engine.show_run(&caller, &id).await;
    shown
        .map(Json)
        .map_err(|error| ApiError::new(&state, error))
}
