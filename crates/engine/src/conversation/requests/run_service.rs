//! The service of the runs of requests. Its methods are in the files of their stages.

use std::sync::Arc;

use charter_store::SharedStore;

use super::guard::AnswerGuardService;
use super::parameters::ParameterService;
use crate::catalogue::live::CatalogueService;
use crate::conversation::analysis::AnalysisService;
use crate::execution::findings::FindingService;
use crate::execution::runs::{
    JournalService, RunEvidenceService, RunManagementService, RunService, RunViewService,
};
use crate::execution::starts::RunStartService;

/// The services that the runs of requests are created and driven with.
pub(crate) struct RequestRunParts {
    pub(crate) catalogue: Arc<CatalogueService>,
    pub(crate) findings: Arc<FindingService>,
    pub(crate) journals: Arc<JournalService>,
    pub(crate) run_evidence: Arc<RunEvidenceService>,
    pub(crate) runs: Arc<RunService>,
    pub(crate) run_starts: Arc<RunStartService>,
    pub(crate) run_views: Arc<RunViewService>,
    pub(crate) run_management: Arc<RunManagementService>,
    pub(crate) analyses: Arc<AnalysisService>,
    pub(crate) answer_guard: Arc<AnswerGuardService>,
    pub(crate) parameters: Arc<ParameterService>,
}

/// The runs of requests.
pub(crate) struct RequestRunService {
    pub(super) store: SharedStore,
    pub(super) catalogue: Arc<CatalogueService>,
    pub(super) findings: Arc<FindingService>,
    pub(super) journals: Arc<JournalService>,
    pub(super) run_evidence: Arc<RunEvidenceService>,
    pub(super) runs: Arc<RunService>,
    pub(super) run_starts: Arc<RunStartService>,
    pub(super) run_views: Arc<RunViewService>,
    pub(super) run_management: Arc<RunManagementService>,
    pub(super) analyses: Arc<AnalysisService>,
    pub(super) answer_guard: Arc<AnswerGuardService>,
    pub(super) parameters: Arc<ParameterService>,
}

impl RequestRunService {
    pub(crate) fn new(store: SharedStore, parts: RequestRunParts) -> Self {
        Self {
            store,
            catalogue: parts.catalogue,
            findings: parts.findings,
            journals: parts.journals,
            run_evidence: parts.run_evidence,
            runs: parts.runs,
            run_starts: parts.run_starts,
            run_views: parts.run_views,
            run_management: parts.run_management,
            analyses: parts.analyses,
            answer_guard: parts.answer_guard,
            parameters: parts.parameters,
        }
    }
}
