//! Plans that wait for a confirmation. They are decided like approvals, and so are listed with them.

use charter_contract::ids::{RunId, UserId};
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use charter_store::SharedStore;
use charter_store::journal::{RunFilter, RunRecord, RunStatusFilter};
use charter_store::page::{MAX_PAGE, PageRequest};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Caller, EngineError};

/// A run whose plan waits for a person's confirmation. `GET /v1/runs/{id}` has the plan and its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PendingConfirmation {
    /// The run.
    pub run_id: RunId,
    /// The run's title.
    pub run_title: String,
    /// The owner of the run, if known.
    pub requested_by: Option<UserId>,
    /// When the run was created.
    pub requested_at: Timestamp,
}

impl From<RunRecord> for PendingConfirmation {
    fn from(run: RunRecord) -> Self {
        Self {
            run_id: run.run_id,
            run_title: run.title,
            requested_by: run.user_id,
            requested_at: run.created_at,
        }
    }
}

/// Returns the newest confirmations that wait and are visible to the caller, optionally of one run.
pub(super) async fn pending_confirmations(
    store: &SharedStore,
    caller: &Caller,
    run: Option<&RunId>,
) -> Result<Vec<PendingConfirmation>, EngineError> {
    let filter = RunFilter {
        user_id: caller.only_own().cloned(),
        standing: Some(RunStatusFilter::At(RunStatus::AwaitingConfirmation)),
        ..RunFilter::default()
    };
    let page = PageRequest::new(None, MAX_PAGE);
    let found = store.runs(&caller.tenant, &filter, &page).await?;
    let waiting = found.entries.into_iter();
    let waiting = waiting.filter(|found| run.is_none_or(|run| found.run_id == *run));
    Ok(waiting.map(PendingConfirmation::from).collect())
}
