//! The services of execution, built from the ground up on those below them.

mod runs;

use std::sync::{Arc, Weak};

use charter_contract::ids::{TenantId, ToolId};
use charter_effects::ToolRunner;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::Ports;
use super::services::Services;
use crate::execution::call_links::CallLinks;
use crate::execution::events::EventService;
use crate::execution::evidence::{EvidencePages, EvidenceService};
use crate::execution::evidence_log::EvidenceLogService;
use crate::execution::executors::{ClientCalls, ExecutorService};
use crate::execution::explain::{GateParts, GateService};
use crate::execution::findings::FindingService;
use crate::execution::linked_calls::LinkedCallService;
use crate::execution::notifications::{NotificationParts, NotificationService};
use crate::execution::outputs::ValueMemory;
use crate::execution::previews::{PreviewParts, PreviewService};
use crate::execution::replicas::{ReplicaParts, ReplicaService};
use crate::execution::runs::{
    ApprovalParts, ApprovalService, Drivers, JournalService, PinnedDocumentService, RunClaims,
    RunClients, RunEvidenceService, RunManagementService, RunRecoveryService, RunService,
    RunViewService, ToolCallService,
};
use crate::execution::starts::RunStartService;
use crate::execution::tags::TagService;
use crate::ground::confined::Computations;
use crate::ground::core_ports::{BackgroundTasks, CorePorts};
use crate::ground::questions::QuestionSlots;
use crate::ground::settings::Settings;
use crate::identity::quotas::TenantQuotas;
use crate::identity::rate_limits::RateLimits;

use runs::RunBasis;

/// The services of execution.
pub(crate) struct ExecutionServices {
    pub(crate) events: Arc<EventService>,
    pub(crate) evidence: Arc<EvidenceService>,
    pub(crate) evidence_log: Arc<EvidenceLogService>,
    pub(crate) executors: Arc<ExecutorService>,
    pub(crate) findings: Arc<FindingService>,
    pub(crate) tags: Arc<TagService>,
    pub(crate) calls: Arc<ToolCallService>,
    pub(crate) journals: Arc<JournalService>,
    pub(crate) pinned: Arc<PinnedDocumentService>,
    pub(crate) run_evidence: Arc<RunEvidenceService>,
    pub(crate) runs: Arc<RunService>,
    pub(crate) approvals: Arc<ApprovalService>,
    pub(crate) notifications: Arc<NotificationService>,
    pub(crate) previews: Arc<PreviewService>,
    pub(crate) views: Arc<RunViewService>,
    pub(crate) management: Arc<RunManagementService>,
    pub(crate) starts: Arc<RunStartService>,
    pub(crate) linked_calls: Arc<LinkedCallService>,
    pub(crate) gate: Arc<GateService>,
    pub(crate) recovery: Arc<RunRecoveryService>,
    pub(crate) replicas: Arc<ReplicaService>,
}

/// The parts of a process that services are built from.
pub(crate) struct ProcessParts<'p> {
    pub(crate) ports: &'p Ports,
    pub(crate) settings: &'p Settings,
    pub(crate) background: BackgroundTasks,
    /// Cancelled when no new work may begin.
    pub(crate) draining: CancellationToken,
    /// Wakes the readers of events.
    pub(crate) news: Arc<Notify>,
    /// The name of this process.
    pub(crate) holder: String,
    /// The port for tools, behind the router to executors and the check of outputs.
    pub(crate) tools: Arc<dyn ToolRunner>,
    /// The calls that wait for executors.
    pub(crate) calls: Arc<ClientCalls>,
    pub(crate) computations: Arc<Computations>,
    pub(crate) questions: QuestionSlots,
    pub(crate) quotas: Arc<TenantQuotas>,
    pub(crate) clients: Weak<dyn RunClients>,
}

/// The state of this process that several services share.
#[derive(Default)]
struct SharedState {
    memory: ValueMemory,
    drivers: Drivers,
    claims: Arc<RunClaims>,
    rate_limits: Arc<RateLimits<(TenantId, ToolId)>>,
    linked: Arc<CallLinks>,
}

impl ExecutionServices {
    /// Builds the services on those of the lower storeys.
    pub(crate) fn new(below: &Services, parts: &ProcessParts<'_>) -> Self {
        let state = SharedState::default();
        let evidence = Arc::new(parts.evidence());
        let findings = Arc::new(parts.findings(below));
        let basis = parts.basis(below, &state, Arc::clone(&evidence), Arc::clone(&findings));
        let runs = Arc::new(parts.runs(&state, &basis));
        let views = Arc::new(parts.views(below, &basis));
        let starts = Arc::new(parts.starts(below, &basis, &runs, &views));
        let approvals = Arc::new(parts.approvals(&basis, &evidence, &runs));
        let management = Arc::new(parts.management(&basis, &runs, &views));
        let previews = PreviewService::new(PreviewParts {
            background: parts.background.clone(),
            ids: Arc::clone(&parts.ports.ids),
            documents: Arc::clone(&below.documents),
            approvals: Arc::clone(&approvals),
            starts: Arc::clone(&starts),
            views: Arc::clone(&views),
            management: Arc::clone(&management),
        });
        Self {
            events: Arc::new(parts.events()),
            evidence_log: Arc::new(parts.evidence_log(Arc::clone(&evidence))),
            executors: Arc::new(parts.executors()),
            findings,
            notifications: Arc::new(parts.notifications(&basis, &approvals)),
            approvals,
            previews: Arc::new(previews),
            evidence,
            management,
            gate: Arc::new(parts.gate(below, &state, &basis, &runs, &starts)),
            recovery: Arc::new(parts.recovery(below, &state, &runs)),
            replicas: Arc::new(parts.replicas(below, &state, &basis, &runs)),
            linked_calls: Arc::new(LinkedCallService::new(
                Arc::clone(&parts.ports.ids),
                Arc::clone(&state.linked),
                Arc::clone(&starts),
            )),
            runs,
            views,
            starts,
            tags: basis.tags,
            calls: basis.calls,
            journals: basis.journals,
            pinned: basis.pinned,
            run_evidence: basis.evidence,
        }
    }
}

impl ProcessParts<'_> {
    pub(super) fn core(&self) -> CorePorts {
        CorePorts {
            store: Arc::clone(&self.ports.store),
            clock: Arc::clone(&self.ports.clock),
            ids: Arc::clone(&self.ports.ids),
        }
    }

    fn approvals(
        &self,
        basis: &RunBasis,
        evidence: &Arc<EvidenceService>,
        runs: &Arc<RunService>,
    ) -> ApprovalService {
        let parts = ApprovalParts {
            news: Arc::clone(&self.news),
            deadlines: Arc::clone(&basis.deadlines),
            journals: Arc::clone(&basis.journals),
            pinned: Arc::clone(&basis.pinned),
            approvals: Arc::clone(&basis.approvals),
            evidence: Arc::clone(evidence),
            runs: Arc::clone(runs),
        };
        ApprovalService::new(self.core(), parts)
    }

    fn notifications(
        &self,
        basis: &RunBasis,
        approvals: &Arc<ApprovalService>,
    ) -> NotificationService {
        let parts = NotificationParts {
            shutdown: self.background.shutdown.clone(),
            news: Arc::clone(&self.news),
            channels: Arc::clone(&self.ports.channels),
            settings: self.settings.notifications.clone(),
            approvals: Arc::clone(approvals),
            journals: Arc::clone(&basis.journals),
        };
        NotificationService::new(self.core(), parts)
    }

    fn gate(
        &self,
        below: &Services,
        state: &SharedState,
        basis: &RunBasis,
        runs: &Arc<RunService>,
        starts: &Arc<RunStartService>,
    ) -> GateService {
        let parts = GateParts {
            catalogue: Arc::clone(&below.catalogue),
            documents: Arc::clone(&below.documents),
            tags: Arc::clone(&basis.tags),
            questions: self.questions.clone(),
            rate_limits: Arc::clone(&state.rate_limits),
            pinned: Arc::clone(&basis.pinned),
            runs: Arc::clone(runs),
            starts: Arc::clone(starts),
        };
        GateService::new(self.core(), parts)
    }

    fn replicas(
        &self,
        below: &Services,
        state: &SharedState,
        basis: &RunBasis,
        runs: &Arc<RunService>,
    ) -> ReplicaService {
        let parts = ReplicaParts {
            shutdown: self.background.shutdown.clone(),
            news: Arc::clone(&self.news),
            holder: self.holder.clone(),
            catalogue: Arc::clone(&below.catalogue),
            agent_skills: Arc::clone(&below.agent_skills),
            memories: Arc::clone(&below.memories),
            results: Arc::clone(&basis.results),
            runs: Arc::clone(runs),
            claims: Arc::clone(&state.claims),
        };
        ReplicaService::new(Arc::clone(&self.ports.store), parts)
    }

    fn events(&self) -> EventService {
        EventService::new(
            Arc::clone(&self.ports.store),
            Arc::clone(&self.news),
            self.background.shutdown.clone(),
        )
    }

    fn evidence(&self) -> EvidenceService {
        EvidenceService::new(
            self.core(),
            Arc::clone(&self.computations),
            EvidencePages::new(
                self.settings.public_url.clone(),
                self.settings.evidence_pages.clone(),
            ),
        )
    }

    fn evidence_log(&self, evidence: Arc<EvidenceService>) -> EvidenceLogService {
        EvidenceLogService::new(
            self.core(),
            self.background.shutdown.clone(),
            evidence,
            self.ports.evidence_key.clone(),
            self.settings.evidence_retention,
        )
    }

    fn executors(&self) -> ExecutorService {
        ExecutorService::new(
            Arc::clone(&self.ports.ids),
            self.background.shutdown.clone(),
            Arc::clone(&self.calls),
            self.settings.client_tools,
        )
    }

    fn findings(&self, below: &Services) -> FindingService {
        FindingService::new(
            Arc::clone(&below.catalogue),
            Arc::clone(&below.expert_graph),
            Arc::clone(&self.computations),
        )
    }

    fn tags(&self) -> TagService {
        TagService::new(
            self.core(),
            self.settings.persona.clone(),
            self.settings.tags_ttl,
        )
    }
}
