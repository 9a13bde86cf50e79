//! The service that answers requests. Its methods are in the file of answers.

use std::sync::{Arc, Weak};

use charter_domain::clock::Clock;
use charter_store::SharedStore;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::classify::RequestClassificationService;
use super::confirm::RouteConfirmationService;
use super::explanation_service::ExplanationService;
use super::guard::AnswerGuardService;
use super::in_hand::ActiveRequests;
use super::offer::OfferService;
use super::respond::ResponseService;
use super::result::RequestResultService;
use super::run_service::RequestRunService;
use crate::catalogue::live::CatalogueService;
use crate::conversation::candidates::CandidateService;
use crate::conversation::sessions::SessionService;
use crate::execution::runs::{RunClients, RunRecoveryService};
use crate::identity::quotas::TenantQuotas;
use crate::knowledge::memory::MemoryService;

/// The parts of a process that answers requests.
pub(crate) struct RequestPorts {
    pub(crate) store: SharedStore,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tasks: TaskTracker,
    /// Cancelled when no new work may begin.
    pub(crate) draining: CancellationToken,
    /// Wakes the readers of events.
    pub(crate) news: Arc<Notify>,
    /// The name of this process in leases.
    pub(crate) holder: String,
    pub(crate) quotas: Arc<TenantQuotas>,
    pub(crate) clients: Weak<dyn RunClients>,
}

/// The services that requests are answered with.
pub(crate) struct RequestParts {
    pub(crate) catalogue: Arc<CatalogueService>,
    pub(crate) run_recovery: Arc<RunRecoveryService>,
    pub(crate) memories: Arc<MemoryService>,
    pub(crate) sessions: Arc<SessionService>,
    pub(crate) candidates: Arc<CandidateService>,
    pub(crate) classifications: Arc<RequestClassificationService>,
    pub(crate) answer_guard: Arc<AnswerGuardService>,
    pub(crate) offers: Arc<OfferService>,
    pub(crate) explanations: Arc<ExplanationService>,
    pub(crate) request_runs: Arc<RequestRunService>,
    pub(crate) request_results: Arc<RequestResultService>,
    pub(crate) responses: Arc<ResponseService>,
    pub(crate) route_confirmations: Arc<RouteConfirmationService>,
}

/// Answers requests.
pub struct RequestService {
    pub(super) store: SharedStore,
    pub(super) clock: Arc<dyn Clock>,
    tasks: TaskTracker,
    pub(super) draining: CancellationToken,
    pub(super) news: Arc<Notify>,
    pub(super) holder: String,
    pub(super) quotas: Arc<TenantQuotas>,
    clients: Weak<dyn RunClients>,
    pub(super) catalogue: Arc<CatalogueService>,
    pub(super) run_recovery: Arc<RunRecoveryService>,
    pub(super) memories: Arc<MemoryService>,
    pub(super) sessions: Arc<SessionService>,
    pub(super) candidates: Arc<CandidateService>,
    pub(super) classifications: Arc<RequestClassificationService>,
    pub(super) answer_guard: Arc<AnswerGuardService>,
    pub(super) offers: Arc<OfferService>,
    pub(super) explanations: Arc<ExplanationService>,
    pub(super) request_runs: Arc<RequestRunService>,
    pub(super) request_results: Arc<RequestResultService>,
    pub(super) responses: Arc<ResponseService>,
    pub(super) route_confirmations: Arc<RouteConfirmationService>,
    /// The requests that this process is answering.
    pub(super) active: ActiveRequests,
}

impl std::fmt::Debug for RequestService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestService").finish_non_exhaustive()
    }
}

impl RequestService {
    pub(crate) fn new(ports: RequestPorts, parts: RequestParts) -> Self {
        Self {
            store: ports.store,
            clock: ports.clock,
            tasks: ports.tasks,
            draining: ports.draining,
            news: ports.news,
            holder: ports.holder,
            quotas: ports.quotas,
            clients: ports.clients,
            catalogue: parts.catalogue,
            run_recovery: parts.run_recovery,
            memories: parts.memories,
            sessions: parts.sessions,
            candidates: parts.candidates,
            classifications: parts.classifications,
            answer_guard: parts.answer_guard,
            offers: parts.offers,
            explanations: parts.explanations,
            request_runs: parts.request_runs,
            request_results: parts.request_results,
            responses: parts.responses,
            route_confirmations: parts.route_confirmations,
            active: ActiveRequests::default(),
        }
    }

    /// Returns whether this process is answering requests.
    pub(crate) fn has_active_requests(&self) -> bool {
        !self.active.is_empty()
    }

    /// Spawns work on requests. The clients of its runs exist at least until it ends.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        let clients = self.clients.upgrade();
        self.tasks.spawn(async move {
            let done = work.await;
            drop(clients);
            done
        })
    }
}
