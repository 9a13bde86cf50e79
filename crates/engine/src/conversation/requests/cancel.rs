//! Cancels a request: aborts its runs, and records that as its answer.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{RequestId, RunId};
use charter_store::SharedStore;

use super::ActiveRequest;
use super::view::RequestViewService;
use super::words::analysis_run_id;
use crate::execution::runs::RunManagementService;
use crate::{Caller, EngineError, RollBack};

/// How long to wait for the routing of a request, and the polling interval.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

/// The operations of users on requests.
pub struct RequestManagementService {
    store: SharedStore,
    request_views: Arc<RequestViewService>,
    run_management: Arc<RunManagementService>,
}

impl std::fmt::Debug for RequestManagementService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestManagementService")
            .finish_non_exhaustive()
    }
}

impl RequestManagementService {
    pub(crate) fn new(
        store: SharedStore,
        request_views: Arc<RequestViewService>,
        run_management: Arc<RunManagementService>,
    ) -> Self {
        Self {
            store,
            request_views,
            run_management,
        }
    }

    /// Aborts the runs of a request, for its user or an operator. An answered request without active runs stays
    /// unchanged.
    ///
    /// # Errors
    /// `not_found`, also for a request that is not visible to the caller.
    pub async fn cancel_request(
        &self,
        caller: &Caller,
        request: &RequestId,
        reason: &str,
    ) -> Result<(), EngineError> {
        let record = self.request_views.request_of(caller, request).await?;
        let asked = ActiveRequest::from_json(&record.asked, record.tenant_id)?;
        let mut runs = self.begun_runs(caller, request).await?;
        // It exists only if several skills ran and a model analyses their results.
        runs.push(analysis_run_id(&asked));
        for run in runs {
            let aborted = self
                .run_management
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

    /// Waits until the runs of a request are created, and returns them.
    async fn begun_runs(
        &self,
        caller: &Caller,
        request: &RequestId,
    ) -> Result<Vec<RunId>, EngineError> {
        let mut patience = CANCEL_TIMEOUT;
        loop {
            let views = &self.request_views;
            let answered = views.request_of(caller, request).await?.answer.is_some();
            let runs = views
                .routed_runs(caller, request)
                .await?
                .unwrap_or_default();
            let mut begun = !runs.is_empty();
            for run in &runs {
                begun &= self.store.run(&caller.tenant, run).await?.is_some();
            }
            if begun || answered || patience.is_zero() {
                return Ok(runs);
            }
            tokio::time::sleep(PAUSE).await;
            patience = patience.saturating_sub(PAUSE);
        }
    }
}
