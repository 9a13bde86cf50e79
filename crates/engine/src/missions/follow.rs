//! Follows a mission: the journal of its run with the mission's state after each event. Also waits for a mission to end
//! or to need a person.

use std::time::Duration;

use charter_contract::ids::MissionId;
use charter_contract::mission::MissionState;
use charter_contract::run_status::RunStatus;
use charter_domain::run::Run;
use futures_util::{Stream, StreamExt};
use schemars::JsonSchema;
use serde::Serialize;

use super::{MissionView, MissionViewService};
use crate::execution::runs::{FollowedEvent, HistoryEvent};
use crate::{Caller, EngineError};

/// An event of a mission's journal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MissionEvent {
    /// The event.
    #[serde(flatten)]
    pub entry: HistoryEvent,
    /// The mission's state after it.
    pub mission_state: MissionState,
    /// The run's status after it: `working`, `awaiting_approval` and so on.
    pub status: RunStatus,
    /// Whether the event changed the mission's state.
    #[serde(skip)]
    pub moved: bool,
}

/// One page of a mission's journal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "MissionEventPage")]
pub struct MissionEventPage {
    /// Oldest first.
    pub entries: Vec<MissionEvent>,
    /// Cursor: the last event of this page; absent if there are no more now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// The state of a mission, and the status of its run.
type MissionStatus = (MissionState, RunStatus);

fn stands(run: &Run) -> MissionStatus {
    (charter_domain::mission::state(run), run.status())
}

impl From<FollowedEvent<MissionStatus>> for MissionEvent {
    fn from(followed: FollowedEvent<MissionStatus>) -> Self {
        let (mission_state, status) = followed.after;
        let before = followed.before.map(|(state, _)| state);
        Self {
            mission_state,
            status,
            moved: before != Some(mission_state),
            entry: followed.entry,
        }
    }
}

impl MissionViewService {
    /// Returns a page of a mission's journal, starting after event `after`.
    ///
    /// # Errors
    /// `not_found`; `internal` for a journal that cannot be read.
    pub async fn events(
        &self,
        caller: &Caller,
        mission: &MissionId,
        after: u64,
        limit: usize,
    ) -> Result<MissionEventPage, EngineError> {
        let record = self.record(caller, mission).await?;
        let page = self
            .journals
            .page(&record.tenant_id, &record.run_id, stands, after, limit);
        let (found, next) = page.await?;
        Ok(MissionEventPage {
            entries: found.into_iter().map(MissionEvent::from).collect(),
            next,
        })
    }

    /// Streams a mission's journal after event `after`, as it is written. The stream ends with the mission, when the
    /// engine stops, or when storage fails; the reader resumes after the last event that it received.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn follow(
        &self,
        caller: &Caller,
        mission: &MissionId,
        after: u64,
    ) -> Result<impl Stream<Item = MissionEvent> + Send + use<>, EngineError> {
        let record = self.record(caller, mission).await?;
        let followed = self
            .journals
            .follow(record.tenant_id, record.run_id, stands, after);
        Ok(followed.map(MissionEvent::from))
    }

    /// Returns a mission as soon as it has ended or waits for a person, at the latest after `patience`.
    ///
    /// # Errors
    /// As for [`MissionViewService::show`].
    pub async fn wait(
        &self,
        caller: &Caller,
        mission: &MissionId,
        patience: Duration,
    ) -> Result<MissionView, EngineError> {
        let record = self.record(caller, mission).await?;
        self.run_views
            .wait(caller, &record.run_id, patience)
            .await?;
        self.show(caller, mission).await
    }
}
