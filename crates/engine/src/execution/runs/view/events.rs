//! The journal of a run with the run's status after each event, by page or as it is written.

use std::sync::Arc;

use charter_contract::ids::RunId;
use charter_contract::run_status::RunStatus;
use charter_domain::run::Run;
use futures_util::Stream;
use schemars::JsonSchema;
use serde::Serialize;

use super::RunViewService;
use crate::execution::runs::follow::FollowedEvent;
use crate::execution::runs::journal::HistoryEvent;
use crate::{Caller, EngineError};

/// An event of a run's journal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RunEvent")]
pub struct RunEventView {
    /// The event.
    #[serde(flatten)]
    pub entry: HistoryEvent,
    /// The run's status after it: `working`, `awaiting_approval` and so on.
    pub status: RunStatus,
    /// Whether the event changed the status.
    #[serde(skip)]
    pub moved: bool,
}

/// One page of a run's journal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RunEventPage")]
pub struct RunEventPage {
    /// Oldest first.
    pub entries: Vec<RunEventView>,
    /// Cursor: the last event of this page; absent if there are no more now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

impl RunViewService {
    /// Returns a page of a run's journal, starting after event `after`.
    ///
    /// # Errors
    /// `not_found`; `internal` for a journal that cannot be read.
    pub async fn events(
        &self,
        caller: &Caller,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<RunEventPage, EngineError> {
        self.record(caller, run).await?;
        let (found, next) = self
            .journals
            .page(&caller.tenant, run, Run::status, after, limit)
            .await?;
        Ok(RunEventPage {
            entries: found.into_iter().map(RunEventView::from).collect(),
            next,
        })
    }

    /// Streams a run's journal after event `after`, as it is written. The stream ends with the run, when the engine
    /// stops, or when storage fails; the reader resumes after the last event that it received.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn follow(
        self: &Arc<Self>,
        caller: &Caller,
        run: &RunId,
        after: u64,
    ) -> Result<impl Stream<Item = RunEventView> + Send + use<>, EngineError> {
        self.record(caller, run).await?;
        let (tenant, run) = (caller.tenant.clone(), run.clone());
        let followed = self.journals.follow(tenant, run, Run::status, after);
        Ok(futures_util::StreamExt::map(followed, RunEventView::from))
    }
}

impl From<FollowedEvent<RunStatus>> for RunEventView {
    fn from(followed: FollowedEvent<RunStatus>) -> Self {
        Self {
            status: followed.after,
            moved: followed.before != Some(followed.after),
            entry: followed.entry,
        }
    }
}
