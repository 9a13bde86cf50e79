//! The state that all handlers share. Must not know the routes: `router.rs` makes the state with their operations.

use std::ops::Deref;
use std::sync::Arc;

use charter_contract::bounds::ANONYMOUS_REQUESTS;
use charter_engine::{Engine, Shares};
use tokio::sync::Semaphore;

use crate::agent_card::{A2aIdentity, Publisher};
use crate::auth::Access;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::operations::Operations;
use crate::readiness::Readiness;
use crate::shares::{Memory, Use};
use crate::telemetry::JoinTrace;

/// The state of all handlers; cheap to clone.
#[derive(Clone)]
pub struct AppState(Arc<Shared>);

/// The parts of [`AppState`].
pub struct Shared {
    /// The use cases.
    pub engine: Arc<Engine>,
    /// Authentication of callers.
    pub access: Access,
    /// Limits of the server.
    pub limits: Limits,
    pub(crate) operations: Operations,
    pub(crate) publisher: Publisher,
    /// Running requests.
    pub(crate) requests: Shares,
    /// Running requests without a credential.
    pub(crate) anonymous: Semaphore,
    /// Open streams of events.
    pub(crate) streams: Shares,
    /// The memory of bodies and answers.
    pub(crate) memory: Memory,
    pub(crate) readiness: Readiness,
    pub(crate) metrics: Metrics,
    /// Joins a request to its client's trace, if traces are kept.
    pub(crate) join_trace: Option<JoinTrace>,
}

impl Deref for AppState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl AppState {
    /// The state of a server over an engine, with the operations of its routes.
    pub(crate) fn with_operations(
        operations: Operations,
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
            operations,
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
