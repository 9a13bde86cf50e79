//! Cancels a request: aborts its runs, and records that as its answer.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{RequestId, RunId};
use charter_contract::json::decode_stored;

use super::course::Course;
use super::run_ids::run_id;
use super::words::analysis_run_id;
use super::{ActiveRequest, Classification};
use crate::{Caller, Engine, EngineError, RollBack};

/// How long to wait for the routing of a request, and the polling interval.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

impl Engine {
    /// Aborts the runs of a request, for its user or an operator. An answered request without active runs stays
    /// unchanged.
    ///
    /// # Errors
    /// `not_found`, also for a request that is not visible to the caller.
    pub async fn cancel_request(
        self: &Arc<Self>,
        caller: &Caller,
        request: &RequestId,
        reason: &str,
    ) -> Result<(), EngineError> {
        let record = self.request_of(caller, request).await?;
        let asked = ActiveRequest::from_json(&record.asked, record.tenant_id)?;
        let mut runs = self.begun_runs(caller, request).await?;
        // It exists only if several skills ran and a model analyses their results.
        runs.push(analysis_run_id(&asked));
        for run in runs {
            let aborted = self
                .run_management()
                .abort(caller, &run, reason.to_owned(), RollBack::No)
                .await;
            match aborted {
                Ok(_) => {}
                // It has ended, or was never created.
                Err(error)
                    if matches!(
                        error.code,
                        ErrorCode::IllegalTransition | ErrorCode::NotFound
                    ) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns the runs of a request, in the order of its verdict; none exists before that.
    ///
    /// # Errors
    /// `not_found`, also for a request that is not visible to the caller.
    pub async fn request_runs(
        &self,
        caller: &Caller,
        request: &RequestId,
    ) -> Result<Vec<RunId>, EngineError> {
        let mut runs = self.routed_runs(caller, request).await?.unwrap_or_default();
        let record = self.request_of(caller, request).await?;
        let asked = ActiveRequest::from_json(&record.asked, record.tenant_id)?;
        let analysis = analysis_run_id(&asked);
        if self.store().run(&caller.tenant, &analysis).await?.is_some() {
            runs.push(analysis);
        }
        Ok(runs)
    }

    /// Waits until the runs of a request are created, and returns them.
    async fn begun_runs(
        &self,
        caller: &Caller,
        request: &RequestId,
    ) -> Result<Vec<RunId>, EngineError> {
        let mut patience = CANCEL_TIMEOUT;
        loop {
            let answered = self.request_of(caller, request).await?.answer.is_some();
            let runs = self.routed_runs(caller, request).await?.unwrap_or_default();
            let mut begun = !runs.is_empty();
            for run in &runs {
                begun &= self.store().run(&caller.tenant, run).await?.is_some();
            }
            if begun || answered || patience.is_zero() {
                return Ok(runs);
            }
            tokio::time::sleep(PAUSE).await;
            patience = patience.saturating_sub(PAUSE);
        }
    }

    async fn routed_runs(
        &self,
        caller: &Caller,
        request: &RequestId,
    ) -> Result<Option<Vec<RunId>>, EngineError> {
        let record = self.request_of(caller, request).await?;
        let asked = ActiveRequest::from_json(&record.asked, record.tenant_id)?;
        let Some(verdict) = record.verdict else {
            return Ok(None);
        };
        let classified: Classification = decode_stored(&verdict)
            .map_err(|error| EngineError::internal("reading a recorded verdict", error))?;
        Ok(Some(runs_of(&asked, &classified)))
    }
}

/// Returns the runs of a request, created or not.
pub(crate) fn runs_of(asked: &ActiveRequest, classified: &Classification) -> Vec<RunId> {
    if let Some(run) = classified.earlier_run() {
        return vec![run.clone()];
    }
    if !matches!(classified.course(), Course::Run | Course::Open) {
        return Vec::new();
    }
    match &classified.playbook {
        Some(playbook) => vec![run_id(asked, playbook.as_ref())],
        None => {
            let skills = classified.skills.iter();
            skills.map(|skill| run_id(asked, skill.as_ref())).collect()
        }
    }
}
