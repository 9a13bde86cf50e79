//! The run of one call of a preview. It works in a task of its own, so that the run is aborted even if the request that
//! waits for it ends first.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::bounds::PREVIEW_WAIT_MS;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::RunId;
use serde_json::Map;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::execution::runs::{RollBack, RunManagementService, RunView, RunViewService};
use crate::execution::starts::{RunStartService, SubmittedPlan};
use crate::ground::core_ports::BackgroundTasks;
use crate::{Caller, DryRun, EngineError};

/// How long one call of a preview may take.
pub(super) const PATIENCE: Duration = Duration::from_millis(PREVIEW_WAIT_MS as u64);

/// How long the abort of a run may take.
const ABORT: Duration = Duration::from_secs(30);

/// How a call of a preview ended.
pub(super) enum PreviewEnd {
    /// Its run was not started.
    Refused(EngineError),
    /// Its run ended.
    Ended(Box<RunView>),
}

/// The services that run the calls of a preview.
pub(super) struct PreviewRuns {
    pub(super) starts: Arc<RunStartService>,
    pub(super) views: Arc<RunViewService>,
    pub(super) management: Arc<RunManagementService>,
    pub(super) background: BackgroundTasks,
}

impl PreviewRuns {
    /// Runs a call, and aborts its run if it has not ended in time, or as soon as the caller stops waiting for it.
    pub(super) async fn call(
        self,
        caller: &Caller,
        plan: SubmittedPlan,
        dry_run: DryRun,
        until: Instant,
    ) -> Result<PreviewEnd, EngineError> {
        let abandoned = CancellationToken::new();
        let _guard = abandoned.clone().drop_guard();
        let (caller, tasks) = (caller.clone(), self.background.tasks.clone());
        let running = async move {
            let run = match self.start(&caller, &plan, dry_run).await {
                Ok(run) => run,
                Err(refused) => return Ok(PreviewEnd::Refused(refused)),
            };
            let ended = self.wait(&caller, &run, until, &abandoned).await?;
            Ok::<_, EngineError>(PreviewEnd::Ended(Box::new(ended)))
        };
        let ended = tasks.spawn(running.in_current_span()).await;
        ended.map_err(|error| EngineError::internal("previewing a call", error))?
    }

    async fn start(
        &self,
        caller: &Caller,
        plan: &SubmittedPlan,
        dry_run: DryRun,
    ) -> Result<RunId, EngineError> {
        let started = self
            .starts
            .start_plan(caller, plan, Map::new(), dry_run, None);
        Ok(started.await?.run().summary.run_id)
    }

    /// Waits for the end of a run, and aborts it if it does not come in time.
    async fn wait(
        &self,
        caller: &Caller,
        run: &RunId,
        until: Instant,
        abandoned: &CancellationToken,
    ) -> Result<RunView, EngineError> {
        let patience = PATIENCE.min(until.saturating_duration_since(Instant::now()));
        let waiting = self.views.wait(caller, run, patience);
        let stopping = &self.background.shutdown;
        let ended = tokio::select! {
            () = stopping.cancelled() => return Err(EngineError::interrupted()),
            () = abandoned.cancelled() => None,
            ended = waiting => Some(ended?),
        };
        if let Some(ended) = ended
            && ended.state.outcome.is_some()
        {
            return Ok(ended);
        }
        let aborting = tokio::time::timeout(ABORT, self.abort(caller, run));
        let aborted = match stopping.run_until_cancelled(aborting).await {
            Some(Ok(aborted)) => aborted,
            Some(Err(_)) => {
                let message = format!("the run {run} of a preview could not be aborted in time");
                Err(EngineError::new(ErrorCode::Unavailable, message))
            }
            None => Err(EngineError::interrupted()),
        };
        // If the request ended, only the log has it.
        aborted.inspect_err(|error| {
            tracing::warn!(run.id = %run, error = %error, "the run of a preview was not aborted");
        })
    }

    async fn abort(&self, caller: &Caller, run: &RunId) -> Result<RunView, EngineError> {
        let reason = "the preview did not end by itself".to_owned();
        let abort = self.management.abort(caller, run, reason, RollBack::No);
        match abort.await {
            // It ended in between.
            Err(error) if error.code == ErrorCode::IllegalTransition => {
                self.views.show(caller, run).await
            }
            aborted => aborted,
        }
    }
}
