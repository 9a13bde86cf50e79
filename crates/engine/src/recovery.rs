//! Background tasks: resuming work that a crash left open, and sweeping expired data.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::RequestId;

use crate::conversation::requests::ActiveRequest;
use crate::ground::moments;
use crate::ground::settings::ProcessRole;
use crate::{Engine, EngineError};

/// Open requests that are resumed at once.
const BATCH: usize = 100;

/// Longest time between two searches for runs without a driver.
const CLAIM_EVERY: Duration = Duration::from_secs(5);

/// Interval between sweeps.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// Runs deleted by one statement.
const SWEEP_LIMIT: usize = 1_000;

impl Engine {
    /// Records missing results of ended changes, and resumes unanswered requests. At the start these are the requests
    /// of the last process, later those with transient failures. Returns how many are open.
    ///
    /// # Errors
    /// If storage fails; a request that fails again is recorded as failed.
    pub async fn recover(self: &Arc<Self>) -> Result<usize, EngineError> {
        if self.settings().duty == ProcessRole::Api || self.is_draining() {
            return Ok(0);
        }
        if let Err(error) = self.request_results().record_results().await {
            tracing::warn!(error = %error, "results of requests could not be read; retrying");
        }
        let hold = self.run_recovery().request_lease();
        let open = self.store().take_requests(self.now(), &hold, BATCH).await?;
        let count = open.len();
        if count == 0 {
            self.run_recovery().claim().await?;
            return Ok(0);
        }
        let mut answering = Vec::with_capacity(count);
        for record in open {
            let asked = ActiveRequest::from_json(&record.asked, record.tenant_id)?;
            let engine = Arc::clone(self);
            answering.push(self.tasks().spawn(async move {
                let id = asked.id().clone();
                match engine.requests().resume_request(&asked).await {
                    None => {}
                    Some(Ok(_)) => {
                        tracing::info!(request.id = %id, "an interrupted request was answered");
                    }
                    Some(Err(error)) => log_failure(&id, &error),
                }
            }));
        }
        let engine = Arc::clone(self);
        self.tasks().spawn(async move {
            // A request drives its own runs; the remaining ones belong to none.
            futures_util::future::join_all(answering).await;
            if let Err(error) = engine.run_recovery().claim().await {
                tracing::warn!(error = %error, "open runs could not be read; retrying");
            }
        });
        Ok(count)
    }

    /// Starts the background tasks, which run until the engine shuts down. They follow the other processes of the
    /// store; in a worker they also drive unclaimed runs and do the chores.
    pub fn run_maintenance(self: &Arc<Self>) {
        let tasks = self.tasks();
        tasks.spawn(Arc::clone(self.replicas()).follow_forever());
        tasks.spawn(Arc::clone(self.catalogue()).follow_imports_forever());
        tasks.spawn(Arc::clone(self.agent_skills()).mirror_skills_forever());
        if self.settings().duty != ProcessRole::Api {
            tasks.spawn(Arc::clone(self).work_forever());
            tasks.spawn(Arc::clone(self).sweep_forever());
            tasks.spawn(Arc::clone(self.evidence_log()).retain_forever());
            tasks.spawn(Arc::clone(self.lenses()).refresh_lenses_forever());
        }
    }

    /// Resumes work without a driver, until the engine drains: runs whose worker died, whose moment has come,
    /// or that another process left to the workers. Returns at once where this process is no worker.
    pub(crate) async fn work_forever(self: Arc<Self>) {
        if self.settings().duty == ProcessRole::Api {
            return;
        }
        let every = (self.settings().lease / 3).min(CLAIM_EVERY);
        loop {
            let found = tokio::select! {
                () = self.draining().cancelled() => return,
                () = self.run_recovery().claims_due() => self.run_recovery().claim().await,
                () = tokio::time::sleep(every) => self.recover().await.map(|_| ()),
            };
            if let Err(error) = found {
                tracing::warn!(error = %error, "open work could not be resumed; retrying");
            }
        }
    }

    /// Sweeps, and resumes open work, until the engine shuts down.
    pub(crate) async fn sweep_forever(self: Arc<Self>) {
        let first = tokio::time::Instant::now() + SWEEP_EVERY;
        let mut ticks = tokio::time::interval_at(first, SWEEP_EVERY);
        loop {
            tokio::select! {
                () = self.shutdown().cancelled() => return,
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
        let now = self.now();
        let before = moments::before(now, self.settings().retention);
        let store = self.store();
        let tags = store.sweep_tags(now).await?;
        let sessions = store.sweep_sessions(now).await?;
        let requests = store.sweep_requests(before).await?;
        let memories = store.sweep_memories(now).await?;
        let messages = store.sweep_messages(before).await?;
        let runs = store.sweep_runs(before, SWEEP_LIMIT).await?;
        tracing::debug!(tags, sessions, requests, memories, messages, runs, "swept");
        Ok(())
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
