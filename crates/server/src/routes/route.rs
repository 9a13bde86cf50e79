//! Routing without acting.

use axum::Json;
use axum::extract::State;
use charter_engine::{Purpose, RoutedVerdict};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{Asked, By};
use crate::state::AppState;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RouteQuery {
    /// What to route.
    query: String,
    /// `actions` (skills and playbooks, the default), `skills`, `playbooks` or `agents`.
    #[param(value_type = Option<String>)]
    purpose: Option<Purpose>,
    /// How many candidates, at least 1.
    top_k: Option<usize>,
}

/// Route a query: the verdict, with candidates, scores, thresholds and reason.
#[utoipa::path(get, path = "/v1/route", tag = "routing", operation_id = "route", params(RouteQuery),
    responses((status = 200, description = "The verdict", body = Object)))]
pub(crate) async fn route(
    State(state): State<AppState>,
    By(caller): By,
    Asked(asked): Asked<RouteQuery>,
) -> Result<Json<RoutedVerdict>, ApiError> {
    let purpose = asked.purpose.unwrap_or(Purpose::Actions);
    let top_k = asked.top_k.unwrap_or(state.engine.settings().candidates);
    let verdict = state
        .engine
        .route(&caller, purpose, &asked.query, top_k)
        .await;
    verdict
        .map(Json)
        .map_err(|error| ApiError::new(&state, error))
}
