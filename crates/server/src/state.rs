//! What every handler has at hand, and the router over them.

use std::ops::Deref;
use std::sync::Arc;

use axum::Router;
use axum::middleware;
use charter_contract::bounds::ANONYMOUS_REQUESTS;
use charter_engine::{Engine, Shares};
use tokio::sync::Semaphore;

use crate::a2a::{A2aIdentity, Publisher};
use crate::address;
use crate::auth::Access;
use crate::error;
use crate::headers;
use crate::limits::{self, Limits};
use crate::metrics::Metrics;
use crate::operations::Operations;
use crate::query;
use crate::routes::{self, Readiness};
use crate::shares::{Memory, Use};
use crate::telemetry::JoinTrace;

/// Shared by all handlers; cheap to clone.
#[derive(Clone)]
pub struct AppState(Arc<Shared>);

/// The parts of [`AppState`].
pub struct Shared {
    /// The use cases.
    pub engine: Arc<Engine>,
    /// Who may call.
    pub access: Access,
    /// How much.
    pub limits: Limits,
    pub(crate) operations: Operations,
    pub(crate) publisher: Publisher,
    /// Requests that are being answered.
    pub(crate) requests: Shares,
    /// Those without a credential.
    pub(crate) anonymous: Semaphore,
    /// Streams of events that are open.
    pub(crate) streams: Shares,
    /// The memory of bodies and answers.
    pub(crate) memory: Memory,
    pub(crate) readiness: Readiness,
    pub(crate) metrics: Metrics,
    /// How a request becomes part of its client's trace, where traces are kept.
    pub(crate) join_trace: Option<JoinTrace>,
}

impl Deref for AppState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

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
        let metrics = Metrics::new();
        let refused = |of: Use| metrics.refused(of.as_str());
        let shared = |of: Use, total| of.shared(total, refused(of));
        Self(Arc::new(Shared {
            engine,
            access,
            limits,
            operations: Operations::new(),
            publisher: Publisher::new(identity),
            requests: shared(Use::Requests, limits.concurrency),
            anonymous: Semaphore::new(ANONYMOUS_REQUESTS),
            streams: shared(Use::Streams, limits.concurrency),
            memory: Memory::new(refused),
            readiness: Readiness::default(),
            metrics,
            join_trace,
        }))
    }
}

/// What a process answers that serves no callers: whether it lives and works, and its metrics.
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
            limits::observe,
        ))
        .layer(middleware::map_response(headers::add))
        .with_state(state);
    address::with_end_slashes(probes)
}

/// Everything the server answers.
pub fn router(state: AppState) -> Router {
    let (api, _) = routes::api().split_for_parts();
    // Probes take no place from anyone, and find one whatever is full.
    let probes = routes::probes().method_not_allowed_fallback(routes::wrong_method);
    let routes = api
        .merge(routes::pages())
        .merge(crate::protected_resource::routes())
        .merge(crate::mcp::mounted(&state))
        .route_layer(middleware::from_fn_with_state(
            state.clone(),
            query::known_alone,
        ))
        .fallback(routes::unknown)
        .method_not_allowed_fallback(routes::wrong_method)
        // A large body of an error takes a share of the memory of answers, so it is written before that is measured.
        .layer(middleware::map_response_with_state(
            Arc::clone(&state.engine),
            error::write_body,
        ))
        .layer(middleware::from_fn_with_state(state.clone(), limits::admit))
        .merge(probes)
        // For the probes.
        .layer(middleware::map_response_with_state(
            Arc::clone(&state.engine),
            error::write_body,
        ))
        .layer(middleware::from_fn_with_state(
            state.clone(),
            limits::observe,
        ))
        .layer(middleware::map_response(headers::add))
        .with_state(state);
    address::with_end_slashes(routes)
}
