//! Routing without acting.

use axum::extract::State;
use charter_engine::{Purpose, ThresholdOverrides, VerdictView};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{Authenticated, QueryParams};
use crate::json::Json;
use crate::state::AppState;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RouteQuery {
    /// The query to route.
    query: String,
    /// `request` (what the query's intent requires, the default), `skills`, `playbooks` or `agents`.
    #[param(value_type = Option<String>)]
    purpose: Option<Purpose>,
    /// The largest number of candidates, at least 1.
    top_k: Option<usize>,
    /// The floor to try, 0 to 1; the one in force when absent.
    #[param(minimum = 0, maximum = 1)]
    floor: Option<f32>,
    /// The narrow threshold to try, 0 to 1.
    #[param(minimum = 0, maximum = 1)]
    narrow: Option<f32>,
    /// The margin to try, 0 to 1.
    #[param(minimum = 0, maximum = 1)]
    margin: Option<f32>,
}

/// Route a query without acting: the verdict, with candidates, scores, thresholds and reason, for the thresholds in
/// force or for others.
///
/// With the purpose `request`, the intent is decided first: skills are ranked for a question, playbooks for a change,
/// and lenses are searched for a rule. `thresholds` are those that decided; `in_force` are those without overrides.
/// `dropped` lists candidates below the floor.
#[utoipa::path(get, path = "/v1/route", tag = "routing", operation_id = "route_query", params(RouteQuery),
    responses((status = 200, description = "The verdict", body = ref("#/components/schemas/verdict"))))]
pub(crate) async fn route(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<RouteQuery>,
) -> Result<Json<VerdictView>, ApiError> {
    let purpose = asked.purpose.unwrap_or(Purpose::Request);
    let top_k = asked.top_k.unwrap_or(state.engine.settings().candidates);
    let tried = ThresholdOverrides {
        floor: asked.floor,
        narrow: asked.narrow,
        margin: asked.margin,
    };
    let verdict = state
        .engine
        .routing()
        .try_route(&caller, purpose, &asked.query, top_k, tried)
        .await?;
    Ok(Json(verdict))
}
