//! Runs: creating them, driving them to their end, recovering them after a crash.
//!
//! A worker drives a run under a lease. Every decision is appended to the journal before it takes effect. After a
//! crash, the next worker folds the journal and resumes from there.

mod approvals;
mod call;
mod claims;
mod control;
mod divergence;
mod drive;
mod drivers;
mod effect;
mod evidence;
mod follow;
mod gate;
mod journal;
mod manage;
mod orders;
mod pinned;
mod progress;
mod recovery;
mod resumable;
mod rule_warnings;
mod tool_calls;
mod view;

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::mission_type::MissionType;
use charter_contract::catalogue::prompt::PromptTemplate;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{MissionId, PlaybookId, RunId, TenantId, ToolId, UserId};
use charter_domain::catalogue::{CatalogueEntry, Origin, View};
use charter_domain::clock::Clock;
use charter_domain::graph::StepGraph;
use charter_domain::guardrail::RequestTags;
use charter_domain::run::{DocumentPin, Run, RunEvent, RunPrerequisites, RunStart};
use charter_store::SharedStore;
use charter_store::journal::{GENESIS, RunPhase, RunRecord};
use charter_store::mission::ArtifactRecord;
use charter_store::request::RequestRecord;
use serde_json::{Map, Value};
use tokio::sync::{Notify, SetOnce};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::journal::PendingEvent;
use self::orders::Orders;
use crate::execution::events;
use crate::execution::outputs::ValueMemory;
use crate::ground::core_ports::{BackgroundTasks, CorePorts};
use crate::ground::ids::IdSource;
use crate::ground::moments::Deadlines;
use crate::ground::questions::QuestionSlots;
use crate::ground::settings::ProcessRole;
use crate::identity::rate_limits::RateLimits;
use crate::{EngineError, Role};

pub use approvals::{
    ApprovalDecision, ApprovalEntry, ApprovalPage, ApprovalService, PendingConfirmation,
};
pub(crate) use approvals::{ApprovalParts, RunApprovals};
pub(crate) use claims::RunClaims;
pub use divergence::ReplayDivergence;
pub(crate) use drive::DrivenRun;
pub(crate) use drivers::Drivers;
pub(crate) use effect::{
    AnalysisDone, AnalysisOrder, AnalysisWork, PinnedTool, StageFailure, StageResult, StageRunner,
    StageWork, Workspace, failure,
};
pub use evidence::RunEvidence;
pub(crate) use evidence::{ExaminedRun, RunEvidenceService};
pub(crate) use follow::FollowedEvent;
pub(crate) use gate::ExplainedDecision;
pub use journal::HistoryEvent;
pub(crate) use journal::JournalService;
pub use manage::{Confirmation, RollBack, RunManagementService};
pub(crate) use pinned::{LoadedRun, PinnedDocumentParts, PinnedDocumentService};
pub use progress::{Progress, ProgressEvent};
pub use recovery::RunRecoveryService;
pub(crate) use recovery::{RecoveryParts, RecoverySettings};
pub(crate) use tool_calls::{ToolCallPorts, ToolCallService};
pub(crate) use view::RunViewParts;
pub use view::{
    AwaitedRunView, Replayed, RunAt, RunEventPage, RunEventView, RunExplanation, RunPage, RunQuery,
    RunState, RunSummary, RunView, RunViewService, StepExplanation, StepView,
};

/// The documents of a mission that its run pins.
#[derive(Debug)]
pub(crate) struct MissionDocuments {
    /// The mission's type, if it names one.
    pub(crate) kind: Option<MissionType>,
    pub(crate) prompts: Vec<PromptTemplate>,
}

/// Creates the stage runners of missions. Missions implement it, so that runs do not know them.
#[async_trait]
pub(crate) trait StageRunnerFactory: Send + Sync {
    /// Returns the stage runner of a mission's run. `unstored` has the artifacts for creating the run, while the run is
    /// not in storage.
    async fn stage_runner(
        self: Arc<Self>,
        tenant: &TenantId,
        mission: &MissionId,
        run: &Run,
        documents: MissionDocuments,
        unstored: &[ArtifactRecord],
    ) -> Result<Arc<dyn StageRunner>, EngineError>;
}

/// Conversations, as runs see them. Conversations start runs and use their results; this is what runs need from them.
#[async_trait]
pub(crate) trait RunClients: Send + Sync {
    /// Analyses the results of runs.
    async fn run_analysis(
        &self,
        work: AnalysisWork,
        cancel: &CancellationToken,
    ) -> Result<AnalysisDone, StageFailure>;

    /// Records the result of the request that a run was started for, if there is one and the run has ended. A failure
    /// is logged.
    async fn record_end(&self, tenant: &TenantId, run: &Run);

    /// Returns the request that planned a run, with its playbook, until the request has a result. A failure is logged.
    async fn planned_by(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Option<(RequestRecord, PlaybookId)>;

    /// Suggests the sentence of a request as an example of the playbook that was started for it. A failure is logged.
    async fn suggest_started(&self, request: &RequestRecord, playbook: &PlaybookId);

    /// Returns whether this process is answering requests.
    fn has_active_requests(&self) -> bool;
}

/// Returns the conversations, which exist as long as the engine.
///
/// # Errors
/// `unavailable` if the engine has stopped.
fn held(clients: &Weak<dyn RunClients>) -> Result<Arc<dyn RunClients>, EngineError> {
    clients.upgrade().ok_or_else(EngineError::interrupted)
}

/// The input for creating a run.
#[derive(Debug, Clone)]
pub(crate) struct NewRun {
    pub(crate) run_id: RunId,
    pub(crate) tenant: TenantId,
    pub(crate) by: UserId,
    /// Users who requested the run besides `by`: the makers of the key in use, and the requesters of the run that this
    /// one rolls back.
    pub(crate) askers: BTreeSet<UserId>,
    /// The user who owns it: `by`, or the owner of the run that it rolls back.
    pub(crate) owner: UserId,
    pub(crate) role: Role,
    pub(crate) title: String,
    pub(crate) graph: StepGraph,
    pub(crate) parameters: Map<String, Value>,
    pub(crate) pins: Vec<DocumentPin>,
    pub(crate) dry_run: bool,
    pub(crate) opening: RunPrerequisites,
    /// The tags of the run's request, as guardrails read them.
    pub(crate) tags: RequestTags,
    /// Mission artifacts stored with the run: the mission's envelope. Empty for other runs.
    pub(crate) artifacts: Vec<ArtifactRecord>,
}

/// A run that is not in storage yet.
#[derive(Debug)]
pub(crate) struct PendingRun {
    pub(crate) run: Run,
    record: RunRecord,
    started: PendingEvent,
    artifacts: Vec<ArtifactRecord>,
    /// Set once the run is in storage.
    stored: Arc<SetOnce<()>>,
}

/// The settings of runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunSettings {
    /// The role of this process among the replicas.
    pub(crate) duty: ProcessRole,
    /// Term of a lease on a run.
    pub(crate) lease: Duration,
    /// How long an approval waits for a decision.
    pub(crate) approval_ttl: Duration,
}

/// The parts of a process that drives runs.
pub(crate) struct RunPorts {
    pub(crate) core: CorePorts,
    pub(crate) background: BackgroundTasks,
    /// Cancelled when no new work may begin.
    pub(crate) draining: CancellationToken,
    /// Wakes the readers of events.
    pub(crate) news: Arc<Notify>,
    /// The name of this process in leases.
    pub(crate) holder: String,
    pub(crate) deadlines: Arc<Deadlines>,
    pub(crate) questions: QuestionSlots,
    pub(crate) rate_limits: Arc<RateLimits<(TenantId, ToolId)>>,
    pub(crate) memory: ValueMemory,
    pub(crate) settings: RunSettings,
    pub(crate) clients: Weak<dyn RunClients>,
}

/// The services that runs are driven with.
pub(crate) struct RunParts {
    pub(crate) drivers: Drivers,
    pub(crate) claims: Arc<RunClaims>,
    pub(crate) calls: Arc<ToolCallService>,
    pub(crate) journals: Arc<JournalService>,
    pub(crate) pinned: Arc<PinnedDocumentService>,
    pub(crate) approvals: Arc<RunApprovals>,
    pub(crate) evidence: Arc<RunEvidenceService>,
}

/// Drives the runs of this process, and passes commands to them.
pub(crate) struct RunService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    background: BackgroundTasks,
    draining: CancellationToken,
    news: Arc<Notify>,
    holder: String,
    deadlines: Arc<Deadlines>,
    pub(crate) questions: QuestionSlots,
    rate_limits: Arc<RateLimits<(TenantId, ToolId)>>,
    memory: ValueMemory,
    settings: RunSettings,
    clients: Weak<dyn RunClients>,
    drivers: Drivers,
    claims: Arc<RunClaims>,
    calls: Arc<ToolCallService>,
    journals: Arc<JournalService>,
    pinned: Arc<PinnedDocumentService>,
    approvals: Arc<RunApprovals>,
    evidence: Arc<RunEvidenceService>,
    /// Commands that other processes apply for this one.
    orders: Orders,
}

impl RunService {
    pub(crate) fn new(ports: RunPorts, parts: RunParts) -> Self {
        Self {
            store: ports.core.store,
            clock: ports.core.clock,
            ids: ports.core.ids,
            background: ports.background,
            draining: ports.draining,
            news: ports.news,
            holder: ports.holder,
            deadlines: ports.deadlines,
            questions: ports.questions,
            rate_limits: ports.rate_limits,
            memory: ports.memory,
            settings: ports.settings,
            clients: ports.clients,
            drivers: parts.drivers,
            claims: parts.claims,
            calls: parts.calls,
            journals: parts.journals,
            pinned: parts.pinned,
            approvals: parts.approvals,
            evidence: parts.evidence,
            orders: Orders::default(),
        }
    }

    /// Returns the drivers of this process.
    pub(crate) fn drivers(&self) -> &Drivers {
        &self.drivers
    }

    /// Spawns work on runs. The engine, and with it missions and conversations, exists at least until the work ends.
    fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        let clients = self.clients.upgrade();
        self.background.tasks.spawn(async move {
            let done = work.await;
            drop(clients);
            done
        })
    }

    /// Stores a new run, for any replica to claim.
    async fn store_new(&self, new: PendingRun) -> Result<(), EngineError> {
        let PendingRun {
            run,
            record,
            started,
            artifacts,
            stored: _,
        } = new;
        let told = events::about_run(
            &record.tenant_id,
            &run,
            (None, run.status()),
            &[],
            record.created_at,
        );
        let events = journal::chain(GENESIS, 0, vec![started]);
        self.store
            .create_run(&record, events, artifacts, told)
            .await?;
        self.news.notify_waiters();
        Ok(())
    }

    /// Builds a run that is not in storage yet, with its first event.
    pub(crate) fn unstored(&self, new: NewRun) -> Result<PendingRun, EngineError> {
        let at = self.clock.now();
        let started = RunEvent::Started(Box::new(RunStart {
            run_id: new.run_id.clone(),
            owner: (new.owner != new.by).then_some(new.owner),
            by: new.by,
            askers: new.askers,
            role: new.role,
            graph: new.graph,
            parameters: new.parameters,
            pins: new.pins,
            dry_run: new.dry_run,
            opening: new.opening,
            tags: Some(new.tags),
        }));
        let unwritten = PendingEvent::new(&started, at)?;
        let run = Run::start(started, at)
            .map_err(|error| EngineError::internal("starting a run", error))?;
        let record = RunRecord {
            run_id: new.run_id,
            tenant_id: new.tenant,
            user_id: Some(run.owner().clone()),
            title: new.title,
            // A run that starts by waiting for a person is not runnable yet.
            phase: if run.opening().is_met() {
                RunPhase::Runnable
            } else {
                RunPhase::Waiting
            },
            status: run.status(),
            wake_at: None,
            version: 1,
            created_at: at,
            updated_at: at,
        };
        Ok(PendingRun {
            run,
            record,
            started: unwritten,
            artifacts: new.artifacts,
            stored: Arc::default(),
        })
    }
}

/// Returns the pin of a document in force.
pub(crate) fn pin<T>(kind: DocumentKind, id: &str, entry: &CatalogueEntry<T>) -> DocumentPin {
    let origin: &Arc<Origin> = &entry.origin;
    DocumentPin {
        kind,
        id: id.to_owned(),
        tenant: origin.scope.tenant().cloned(),
        package: origin.package.to_string(),
        version: origin.version.clone(),
        content_hash: entry.content_hash.clone(),
    }
}

/// Returns pins for every tool that a graph calls, including the tools of its fallbacks.
///
/// # Errors
/// `not_found` for a tool that is no longer visible.
pub(crate) fn pins_of_graph(
    view: &View,
    graph: &StepGraph,
) -> Result<Vec<DocumentPin>, EngineError> {
    let mut pins: Vec<DocumentPin> = Vec::new();
    for tool in graph.all_steps().filter_map(|step| step.tool()) {
        let id = tool.as_ref();
        if pins.iter().any(|pin| pin.id == id) {
            continue;
        }
        let tool = view.tool(id).ok_or_else(|| {
            EngineError::new(ErrorCode::NotFound, format!("there is no tool `{id}`"))
        })?;
        pins.push(pin(DocumentKind::Tool, id, &tool.entry));
    }
    Ok(pins)
}

#[cfg(test)]
mod tests;
