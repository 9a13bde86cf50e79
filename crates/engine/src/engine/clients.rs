//! Conversations, as runs see them.

use async_trait::async_trait;
use charter_contract::ids::{PlaybookId, RunId, TenantId};
use charter_domain::run::Run;
use charter_store::request::RequestRecord;
use tokio_util::sync::CancellationToken;

use super::Engine;
use crate::execution::runs::{AnalysisDone, AnalysisWork, RunClients, StageFailure};

#[async_trait]
impl RunClients for Engine {
    async fn run_analysis(
        &self,
        work: AnalysisWork,
        cancel: &CancellationToken,
    ) -> Result<AnalysisDone, StageFailure> {
        self.conversation
            .analyses
            .analyse_results(work, cancel)
            .await
    }

    async fn record_end(&self, tenant: &TenantId, run: &Run) {
        self.conversation
            .request_results
            .note_end(tenant, run)
            .await;
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
