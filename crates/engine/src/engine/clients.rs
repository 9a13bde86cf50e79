//! The engine as the storeys above runs: missions and conversations.

use std::sync::Arc;

use async_trait::async_trait;
use charter_contract::ids::{PlaybookId, RunId, TenantId};
use charter_domain::run::Run;
use charter_store::mission::ArtifactRecord;
use charter_store::request::RequestRecord;
use tokio_util::sync::CancellationToken;

use super::Engine;
use crate::EngineError;
use crate::execution::runs::{
    AnalysisDone, AnalysisWork, MissionDocuments, RunClients, StageFailure, StageRunner,
};

#[async_trait]
impl RunClients for Engine {
    async fn stage_runner(
        self: Arc<Self>,
        tenant: &TenantId,
        run: &Run,
        documents: MissionDocuments,
        unstored: &[ArtifactRecord],
    ) -> Result<Option<Arc<dyn StageRunner>>, EngineError> {
        self.mission_context(tenant, run, documents, unstored).await
    }

    async fn run_analysis(
        &self,
        work: AnalysisWork,
        cancel: &CancellationToken,
    ) -> Result<AnalysisDone, StageFailure> {
        self.analyses().analyse_results(work, cancel).await
    }

    async fn record_end(&self, tenant: &TenantId, run: &Run) {
        self.request_results().note_end(tenant, run).await;
    }

    async fn planned_by(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Option<(RequestRecord, PlaybookId)> {
        self.route_confirmations()
            .request_that_planned(tenant, run)
            .await
    }

    async fn suggest_started(&self, request: &RequestRecord, playbook: &PlaybookId) {
        self.route_confirmations()
            .suggest_example_of(request, playbook)
            .await;
    }

    fn has_active_requests(&self) -> bool {
        self.requests().has_active_requests()
    }
}
