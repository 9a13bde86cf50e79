//! The engine as the storeys above runs, missions and conversations, and as the missions that are tasks.

use std::sync::Arc;

use async_trait::async_trait;
use charter_contract::ids::{MissionId, PlaybookId, RunId, TenantId};
use charter_contract::mission::ArtifactKind;
use charter_domain::run::Run;
use charter_store::mission::{ArtifactFilter, ArtifactRecord, MissionRecord};
use charter_store::request::RequestRecord;
use tokio_util::sync::CancellationToken;

use super::Engine;
use crate::conversation::tasks::TaskMissions;
use crate::execution::runs::{
    AnalysisDone, AnalysisWork, MissionDocuments, RunClients, StageFailure, StageRunner,
};
use crate::missions::{FirstMessage, MissionStart};
use crate::{ArtifactView, Caller, EngineError, MissionOrder, MissionView};

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

#[async_trait]
impl TaskMissions for Engine {
    async fn start_for_message(
        self: Arc<Self>,
        caller: &Caller,
        order: &MissionOrder,
        message: FirstMessage,
    ) -> Result<(), EngineError> {
        let started = self.begin_mission(caller, order, Some(message));
        started.await.map(drop)
    }

    async fn mission_with_start(
        &self,
        record: MissionRecord,
    ) -> Result<(MissionView, MissionStart), EngineError> {
        self.shown_mission(record).await
    }

    async fn artifacts_of_kind(
        &self,
        caller: &Caller,
        mission: &MissionId,
        kind: ArtifactKind,
        limit: usize,
    ) -> Result<Vec<ArtifactView>, EngineError> {
        let filter = ArtifactFilter {
            kind: Some(kind),
            task_id: None,
        };
        let page = self.mission_artifacts(caller, mission, filter, 0, limit);
        page.await.map(|page| page.entries)
    }

    async fn stop_mission(
        self: Arc<Self>,
        caller: &Caller,
        mission: &MissionId,
        reason: &str,
    ) -> Result<(), EngineError> {
        let stopped = self.cancel_mission(caller, mission, reason.to_owned());
        stopped.await.map(drop)
    }
}
