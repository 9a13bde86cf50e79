//! The services that start, drive, show and recover runs.

use std::sync::Arc;

use super::{ProcessParts, SharedState};
use crate::engine::services::Services;
use crate::execution::evidence::EvidenceService;
use crate::execution::findings::FindingService;
use crate::execution::runs::{
    JournalService, PinnedDocumentParts, PinnedDocumentService, RecoveryParts, RecoverySettings,
    RunApprovals, RunEvidenceService, RunManagementService, RunParts, RunPorts, RunRecoveryService,
    RunService, RunSettings, RunViewParts, RunViewService, ToolCallPorts, ToolCallService,
};
use crate::execution::starts::{RunStartParts, RunStartService};
use crate::execution::tags::TagService;
use crate::execution::tool_contents::ToolContentService;
use crate::execution::tool_results::ToolResults;
use crate::ground::grants::TenantGrants;
use crate::ground::moments::Deadlines;

/// The services that runs are driven and shown with.
pub(super) struct RunBasis {
    pub(super) deadlines: Arc<Deadlines>,
    pub(super) results: Arc<ToolResults>,
    pub(super) calls: Arc<ToolCallService>,
    pub(super) tags: Arc<TagService>,
    pub(super) journals: Arc<JournalService>,
    pub(super) pinned: Arc<PinnedDocumentService>,
    pub(super) approvals: Arc<RunApprovals>,
    pub(super) evidence: Arc<RunEvidenceService>,
}

impl ProcessParts<'_> {
    pub(super) fn basis(
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

    pub(super) fn runs(&self, state: &SharedState, basis: &RunBasis) -> RunService {
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

    pub(super) fn views(&self, below: &Services, basis: &RunBasis) -> RunViewService {
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

    pub(super) fn starts(
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

    pub(super) fn management(
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

    pub(super) fn recovery(
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
}
