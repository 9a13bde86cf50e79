//! The services of execution, built from the ground up on those below them.

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
    ApprovalParts, ApprovalService, Drivers, JournalService, PinnedDocumentParts,
    PinnedDocumentService, RecoveryParts, RecoverySettings, RunApprovals, RunClaims, RunClients,
    RunEvidenceService, RunManagementService, RunParts, RunPorts, RunRecoveryService, RunService,
    RunSettings, RunViewParts, RunViewService, ToolCallPorts, ToolCallService,
};
use crate::execution::starts::{RunStartParts, RunStartService};
use crate::execution::tags::TagService;
use crate::execution::tool_contents::ToolContentService;
use crate::execution::tool_results::ToolResults;
use crate::ground::confined::Computations;
use crate::ground::core_ports::{BackgroundTasks, CorePorts};
use crate::ground::grants::TenantGrants;
use crate::ground::moments::Deadlines;
use crate::ground::questions::QuestionSlots;
use crate::ground::settings::Settings;
use crate::identity::quotas::TenantQuotas;
use crate::identity::rate_limits::RateLimits;

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

/// The services that runs are driven and shown with.
struct RunBasis {
    deadlines: Arc<Deadlines>,
    results: Arc<ToolResults>,
    calls: Arc<ToolCallService>,
    tags: Arc<TagService>,
    journals: Arc<JournalService>,
    pinned: Arc<PinnedDocumentService>,
    approvals: Arc<RunApprovals>,
    evidence: Arc<RunEvidenceService>,
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

    fn basis(
        &self,
        below: &Services,
        state: &SharedState,
        evidence: Arc<EvidenceService>,
        findings: Arc<FindingService>,
    ) -> RunBasis {
        let shutdown = &self.background.shutdown;
        let results = Arc::new(ToolResults::new(self.settings.cached_results));
        let tags = Arc::new(self.tags());
        let journals = Arc::new(JournalService::new(
            Arc::clone(&self.ports.store),
            state.memory.clone(),
            Arc::clone(&self.news),
            shutdown.clone(),
        ));
        let pinned = Arc::new(PinnedDocumentService::new(
            Arc::clone(&self.ports.store),
            PinnedDocumentParts {
                catalogue: Arc::clone(&below.catalogue),
                keys: Arc::clone(&below.keys),
                tags: Arc::clone(&tags),
            },
        ));
        let approvals = RunApprovals::new(
            Arc::clone(&self.ports.store),
            Arc::clone(&self.ports.clock),
            Arc::clone(&below.keys),
            self.settings.approver_groups.clone(),
        );
        let evidence = RunEvidenceService::new(
            self.core(),
            evidence,
            findings,
            Arc::clone(&pinned),
            shutdown.clone(),
        );
        RunBasis {
            deadlines: Arc::new(Deadlines::new(Arc::clone(&self.ports.clock))),
            calls: Arc::new(self.tool_calls(below, state, Arc::clone(&results))),
            results,
            tags,
            journals,
            pinned,
            approvals: Arc::new(approvals),
            evidence: Arc::new(evidence),
        }
    }

    fn tool_calls(
        &self,
        below: &Services,
        state: &SharedState,
        results: Arc<ToolResults>,
    ) -> ToolCallService {
        let ports = ToolCallPorts {
            clock: Arc::clone(&self.ports.clock),
            tools: Arc::clone(&self.tools),
            grants: TenantGrants {
                shared: self.settings.grants.clone(),
                tenants: self.settings.tenant_grants.clone(),
            },
            credentials: Arc::clone(&below.credentials),
            client_tools: self.settings.client_tools,
            memory: state.memory.clone(),
            results,
            contents: ToolContentService::new(
                Arc::clone(&self.ports.store),
                Arc::clone(&self.ports.clock),
            ),
            drivers: state.drivers.clone(),
            linked: Arc::clone(&state.linked),
        };
        ToolCallService::new(ports, self.settings.tool_calls)
    }

    fn runs(&self, state: &SharedState, basis: &RunBasis) -> RunService {
        let ports = RunPorts {
            core: self.core(),
            background: self.background.clone(),
            draining: self.draining.clone(),
            news: Arc::clone(&self.news),
            holder: self.holder.clone(),
            deadlines: Arc::clone(&basis.deadlines),
            questions: self.questions.clone(),
            rate_limits: Arc::clone(&state.rate_limits),
            memory: state.memory.clone(),
            settings: RunSettings {
                duty: self.settings.duty,
                lease: self.settings.lease,
                approval_ttl: self.settings.approval_ttl,
            },
            clients: self.clients.clone(),
        };
        let parts = RunParts {
            drivers: state.drivers.clone(),
            claims: Arc::clone(&state.claims),
            calls: Arc::clone(&basis.calls),
            journals: Arc::clone(&basis.journals),
            pinned: Arc::clone(&basis.pinned),
            approvals: Arc::clone(&basis.approvals),
            evidence: Arc::clone(&basis.evidence),
        };
        RunService::new(ports, parts)
    }

    fn views(&self, below: &Services, basis: &RunBasis) -> RunViewService {
        let parts = RunViewParts {
            shutdown: self.background.shutdown.clone(),
            news: Arc::clone(&self.news),
            questions: self.questions.clone(),
            approvers: self.settings.approvers.clone(),
            keys: Arc::clone(&below.keys),
            memories: Arc::clone(&below.memories),
            journals: Arc::clone(&basis.journals),
            pinned: Arc::clone(&basis.pinned),
            approvals: Arc::clone(&basis.approvals),
            evidence: Arc::clone(&basis.evidence),
        };
        RunViewService::new(self.core(), parts)
    }

    fn starts(
        &self,
        below: &Services,
        basis: &RunBasis,
        runs: &Arc<RunService>,
        views: &Arc<RunViewService>,
    ) -> RunStartService {
        let parts = RunStartParts {
            catalogue: Arc::clone(&below.catalogue),
            documents: Arc::clone(&below.documents),
            quotas: Arc::clone(&self.quotas),
            tags: Arc::clone(&basis.tags),
            journals: Arc::clone(&basis.journals),
            runs: Arc::clone(runs),
            views: Arc::clone(views),
        };
        RunStartService::new(self.core(), parts)
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

    fn management(
        &self,
        basis: &RunBasis,
        runs: &Arc<RunService>,
        views: &Arc<RunViewService>,
    ) -> RunManagementService {
        RunManagementService::new(
            Arc::clone(&self.ports.store),
            Arc::clone(&basis.journals),
            Arc::clone(&basis.pinned),
            Arc::clone(runs),
            Arc::clone(views),
            self.clients.clone(),
        )
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

    fn recovery(
        &self,
        below: &Services,
        state: &SharedState,
        runs: &Arc<RunService>,
    ) -> RunRecoveryService {
        let parts = RecoveryParts {
            shutdown: self.background.shutdown.clone(),
            draining: self.draining.clone(),
            holder: self.holder.clone(),
            settings: RecoverySettings {
                duty: self.settings.duty,
                lease: self.settings.lease,
                tool_calls: self.settings.tool_calls,
                driven_runs: self.settings.driven_runs,
            },
            peers: Arc::clone(&below.peers),
            drivers: state.drivers.clone(),
            claims: Arc::clone(&state.claims),
            runs: Arc::clone(runs),
            clients: self.clients.clone(),
        };
        RunRecoveryService::new(self.core(), parts)
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
