//! Background tasks: resuming work that a crash left open, and sweeping expired data.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::RequestId;
use charter_domain::clock::Clock;
use charter_store::SharedStore;
use tokio_util::sync::CancellationToken;

use crate::EngineError;
use crate::catalogue::live::CatalogueService;
use crate::conversation::requests::{ActiveRequest, RequestResultService, RequestService};
use crate::execution::evidence_log::EvidenceLogService;
use crate::execution::notifications::NotificationService;
use crate::execution::replicas::ReplicaService;
use crate::execution::runs::RunRecoveryService;
use crate::ground::core_ports::BackgroundTasks;
use crate::ground::moments;
use crate::ground::settings::ProcessRole;
use crate::identity::credentials::CredentialService;
use crate::knowledge::agent_skills::AgentSkillService;
use crate::knowledge::lenses::LensService;
use crate::schedules::ScheduleService;

/// Open requests that are resumed at once.
const BATCH: usize = 100;

/// Longest time between two searches for runs without a driver.
const CLAIM_EVERY: Duration = Duration::from_secs(5);

/// Interval between sweeps.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// Runs deleted by one statement.
const SWEEP_LIMIT: usize = 1_000;

/// The services whose work is resumed, followed and swept.
pub(crate) struct MaintenanceParts {
    pub(crate) credentials: Arc<CredentialService>,
    pub(crate) catalogue: Arc<CatalogueService>,
    pub(crate) lenses: Arc<LensService>,
    pub(crate) agent_skills: Arc<AgentSkillService>,
    pub(crate) evidence_log: Arc<EvidenceLogService>,
    pub(crate) notifications: Arc<NotificationService>,
    pub(crate) replicas: Arc<ReplicaService>,
    pub(crate) run_recovery: Arc<RunRecoveryService>,
    pub(crate) requests: Arc<RequestService>,
    pub(crate) request_results: Arc<RequestResultService>,
    pub(crate) schedules: Arc<ScheduleService>,
}

/// Settings of the background tasks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MaintenanceSettings {
    pub(crate) duty: ProcessRole,
    /// Duration of a lease of a run.
    pub(crate) lease: Duration,
    /// How long ended work is kept.
    pub(crate) retention: Duration,
}

/// The background tasks of a process.
pub struct MaintenanceService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    background: BackgroundTasks,
    /// Cancelled when no new work may begin.
    draining: CancellationToken,
    settings: MaintenanceSettings,
    parts: MaintenanceParts,
}

impl std::fmt::Debug for MaintenanceService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MaintenanceService")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl MaintenanceService {
    /// Builds the service, which starts no task yet.
    pub(crate) fn new(
        store: SharedStore,
        clock: Arc<dyn Clock>,
        background: BackgroundTasks,
        draining: CancellationToken,
        settings: MaintenanceSettings,
        parts: MaintenanceParts,
    ) -> Self {
        Self {
            store,
            clock,
            background,
            draining,
            settings,
            parts,
        }
    }

    /// Records missing results of ended changes, and resumes unanswered requests. At the start these are the requests
    /// of the last process, later those with transient failures. Returns how many are open.
    ///
    /// # Errors
    /// If storage fails; a request that fails again is recorded as failed.
    pub async fn recover(self: &Arc<Self>) -> Result<usize, EngineError> {
        if self.settings.duty == ProcessRole::Api || self.draining.is_cancelled() {
            return Ok(0);
        }
        if let Err(error) = self.parts.request_results.record_results().await {
            tracing::warn!(error = %error, "results of requests could not be read; retrying");
        }
        let hold = self.parts.run_recovery.request_lease();
        let open = self
            .store
            .take_requests(self.clock.now(), &hold, BATCH)
            .await?;
        let count = open.len();
        if count == 0 {
            self.parts.run_recovery.claim().await?;
            return Ok(0);
        }
        let mut answering = Vec::with_capacity(count);
        for record in open {
            let asked = ActiveRequest::from_json(&record.asked, record.tenant_id)?;
            let service = Arc::clone(self);
            answering.push(self.background.tasks.spawn(async move {
                let id = asked.id().clone();
                match service.parts.requests.resume_request(&asked).await {
                    None => {}
                    Some(Ok(_)) => {
                        tracing::info!(request.id = %id, "an interrupted request was answered");
                    }
                    Some(Err(error)) => log_failure(&id, &error),
                }
            }));
        }
        let service = Arc::clone(self);
        self.background.tasks.spawn(async move {
            // A request drives its own runs; the remaining ones belong to none.
            futures_util::future::join_all(answering).await;
            if let Err(error) = service.parts.run_recovery.claim().await {
                tracing::warn!(error = %error, "open runs could not be read; retrying");
            }
        });
        Ok(count)
    }

    /// Starts the background tasks, which run until the process shuts down. They follow the other processes of the
    /// store; in a worker they also drive unclaimed runs and do the chores.
    pub fn start(self: &Arc<Self>) {
        let tasks = &self.background.tasks;
        tasks.spawn(Arc::clone(&self.parts.replicas).follow_forever());
        tasks.spawn(Arc::clone(&self.parts.catalogue).follow_imports_forever());
        tasks.spawn(Arc::clone(&self.parts.agent_skills).mirror_skills_forever());
        if self.settings.duty != ProcessRole::Api {
            tasks.spawn(reseal(Arc::clone(&self.parts.credentials)));
            tasks.spawn(Arc::clone(self).work_forever());
            tasks.spawn(Arc::clone(self).sweep_forever());
            tasks.spawn(Arc::clone(&self.parts.evidence_log).retain_forever());
            tasks.spawn(Arc::clone(&self.parts.lenses).refresh_lenses_forever());
            tasks.spawn(Arc::clone(&self.parts.schedules).fire_forever());
            tasks.spawn(Arc::clone(&self.parts.notifications).deliver_forever());
        }
    }

    /// Resumes work without a driver, until the process drains: runs whose worker died, whose moment has come,
    /// or that another process left to the workers. Returns at once where this process is no worker.
    async fn work_forever(self: Arc<Self>) {
        if self.settings.duty == ProcessRole::Api {
            return;
        }
        let every = (self.settings.lease / 3).min(CLAIM_EVERY);
        loop {
            let found = tokio::select! {
                () = self.draining.cancelled() => return,
                () = self.parts.run_recovery.claims_due() => self.parts.run_recovery.claim().await,
                () = tokio::time::sleep(every) => self.recover().await.map(|_| ()),
            };
            if let Err(error) = found {
                tracing::warn!(error = %error, "open work could not be resumed; retrying");
            }
        }
    }

    /// Sweeps, and resumes open work, until the process shuts down.
    async fn sweep_forever(self: Arc<Self>) {
        let first = tokio::time::Instant::now() + SWEEP_EVERY;
        let mut ticks = tokio::time::interval_at(first, SWEEP_EVERY);
        loop {
            tokio::select! {
                () = self.background.shutdown.cancelled() => return,
                _ = ticks.tick() => {}
            }
            if let Err(error) = self.sweep().await {
                tracing::warn!(error = %error, "sweeping failed; retrying");
            }
        }
    }

    /// Deletes data that has expired or is past its retention.
    ///
    /// # Errors
    /// If storage fails.
    pub async fn sweep(&self) -> Result<(), EngineError> {
        let now = self.clock.now();
        let before = moments::before(now, self.settings.retention);
        let store = &self.store;
        let tags = store.sweep_tags(now).await?;
        let sessions = store.sweep_sessions(now).await?;
        let console_sessions = store.sweep_console_sessions(now).await?;
        let requests = store.sweep_requests(before).await?;
        let memories = store.sweep_memories(now).await?;
        let messages = store.sweep_messages(before).await?;
        let runs = store.sweep_runs(before, SWEEP_LIMIT).await?;
        let contents = store.sweep_tool_contents(before).await?;
        let occurrences = store.sweep_occurrences(before).await?;
        let notifications = store.sweep_notifications(before).await?;
        let signatures = store.sweep_signatures(now).await?;
        tracing::debug!(
            tags,
            sessions,
            console_sessions,
            requests,
            memories,
            messages,
            runs,
            contents,
            occurrences,
            notifications,
            signatures,
            "swept"
        );
        Ok(())
    }
}

/// Seals connected accounts with the current key, after a change of the key file.
async fn reseal(credentials: Arc<CredentialService>) {
    match credentials.reseal().await {
        Ok(0) => {}
        Ok(accounts) => tracing::info!(accounts, "sealed connected accounts with the current key"),
        Err(error) => tracing::warn!(
            error = %error, "connected accounts could not be sealed with the current key; the next start tries again"
        ),
    }
}

/// Logs why an open request has no answer yet. A request that waits for a person is checked once a minute, and has not
/// failed.
fn log_failure(id: &RequestId, error: &EngineError) {
    if error.code == ErrorCode::ApprovalRequired {
        tracing::debug!(request.id = %id, "a request waits for an approval");
        return;
    }
    tracing::warn!(request.id = %id, error = %error, "an interrupted request failed");
}
