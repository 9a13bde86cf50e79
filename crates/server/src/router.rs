//! Everything together: the routes, the layers around them, and the state with the operations of the routes.

use std::sync::Arc;

use axum::Router;
use axum::middleware;
use charter_engine::Engine;

use crate::agent_card::A2aIdentity;
use crate::auth::Access;
use crate::limits::Limits;
use crate::operations::Operations;
use crate::state::AppState;
use crate::telemetry::JoinTrace;
use crate::{address, admission, error, headers, mcp, openapi, protected_resource, routes};

impl AppState {
    /// The state of a server over an engine.
    #[must_use]
    pub fn new(
        engine: Arc<Engine>,
        access: Access,
        limits: Limits,
        identity: A2aIdentity,
        join_trace: Option<JoinTrace>,
    ) -> Self {
        Self::with_operations(operations(), engine, access, limits, identity, join_trace)
    }
}

/// The operations of all routes.
pub(crate) fn operations() -> Operations {
    let (_, described) = openapi::api().split_for_parts();
    Operations::new(&described).with_aliases(routes::ONE_SKILL, routes::taken_paths())
}

/// The routes of a process without callers: liveness, readiness and metrics.
pub fn probes(state: AppState) -> Router {
    let probes = routes::probes()
        .fallback(routes::unknown)
        .method_not_allowed_fallback(routes::wrong_method)
        .layer(middleware::map_response_with_state(
            Arc::clone(&state.engine),
            error::write_body,
        ))
        .layer(middleware::from_fn_with_state(
            state.clone(),
            admission::observe,
        ))
        .layer(middleware::map_response(headers::add))
        .with_state(state);
    address::with_end_slashes(probes)
}

/// Everything the server answers.
pub fn router(state: AppState) -> Router {
    let (api, _) = openapi::api().split_for_parts();
    // Probes are outside admission: they take no place, and are answered under any load.
    let probes = routes::probes().method_not_allowed_fallback(routes::wrong_method);
    let routes = api
        .merge(routes::pages())
        .merge(protected_resource::routes())
        .merge(mcp::mounted(&state))
        .route_layer(middleware::from_fn_with_state(
            state.clone(),
            admission::check_query,
        ))
        .fallback(routes::unknown)
        .method_not_allowed_fallback(routes::wrong_method)
        // Admission measures the memory of a response, so the body of an error is there before.
        .layer(middleware::map_response_with_state(
            Arc::clone(&state.engine),
            error::write_body,
        ))
        .layer(middleware::from_fn_with_state(
            state.clone(),
            admission::admit,
        ))
        .merge(probes)
        // Errors of probes.
        .layer(middleware::map_response_with_state(
            Arc::clone(&state.engine),
            error::write_body,
        ))
        .layer(middleware::from_fn_with_state(
            state.clone(),
            admission::observe,
        ))
        .layer(middleware::map_response(headers::add))
        .with_state(state);
    address::with_end_slashes(routes)
}
