//! Follows a task: its changes as they happen.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::ids::{MissionId, RequestId};
use charter_contract::mission::MissionState;
use charter_contract::time::Timestamp;
use futures_util::{Stream, StreamExt};

use super::mission::state_of;
use super::{Task, TaskKey, TaskService, TaskState};
use crate::ground::change_wait::{ChangeWait, POLL_INTERVAL, WaitEnd};
use crate::{Caller, EngineError};

/// The position of a follower.
struct Follower {
    tasks: Arc<TaskService>,
    caller: Caller,
    id: TaskKey,
    seen: Option<ReportedState>,
}

/// The last reported state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ReportedState {
    state: TaskState,
    /// When the state began, for a settled one: continued work is no news.
    since: Option<Timestamp>,
    /// Of a mission: its own state, and its number of artifacts.
    mission: Option<(MissionState, u64)>,
}

impl TaskService {
    /// Streams a task's present state, and every change of it, until it has ended. Ends early if the engine stops or
    /// storage fails.
    pub fn follow_task(
        self: &Arc<Self>,
        caller: Caller,
        id: TaskKey,
    ) -> impl Stream<Item = Task> + Send + 'static {
        let follower = Follower {
            tasks: Arc::clone(self),
            caller,
            id,
            seen: None,
        };
        futures_util::stream::unfold(follower, |mut follower| async move {
            match follower.next().await {
                Ok(task) => task.map(|task| (task, follower)),
                Err(error) => {
                    tracing::warn!(error = %error, "ending a task's stream early");
                    None
                }
            }
        })
    }

    /// Returns a task once it waits for an action or has ended, or its present state after `patience`.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn settled_task(
        self: &Arc<Self>,
        caller: &Caller,
        id: &TaskKey,
        patience: Duration,
    ) -> Result<Task, EngineError> {
        self.until(caller, id, patience, TaskState::is_settled)
            .await
    }

    /// Returns a task once it has ended, or its present state after `patience`.
    pub(super) async fn ended_task(
        self: &Arc<Self>,
        caller: &Caller,
        id: &TaskKey,
        patience: Duration,
    ) -> Result<Task, EngineError> {
        self.until(caller, id, patience, TaskState::is_final).await
    }

    async fn until(
        self: &Arc<Self>,
        caller: &Caller,
        id: &TaskKey,
        patience: Duration,
        is_enough: fn(TaskState) -> bool,
    ) -> Result<Task, EngineError> {
        let states = self.follow_task(caller.clone(), id.clone());
        let enough = states.filter(|task| std::future::ready(is_enough(task.state)));
        let mut enough = std::pin::pin!(enough);
        match tokio::time::timeout(patience, enough.next()).await {
            Ok(Some(task)) => Ok(task),
            Ok(None) | Err(_) => self.task(caller, id).await,
        }
    }
}

impl Follower {
    async fn next(&mut self) -> Result<Option<Task>, EngineError> {
        loop {
            if self.seen.is_some_and(|seen| seen.state.is_final()) {
                return Ok(None);
            }
            // Registered before looking, so that no notification in between is missed.
            let tasks = Arc::clone(&self.tasks);
            let change = ChangeWait::register(&tasks.news);
            let changed = match self.id.clone() {
                TaskKey::Request(id) => self.changed(&id).await?,
                TaskKey::Mission(id) => self.changed_mission(&id).await?,
            };
            if changed.is_some() {
                return Ok(changed);
            }
            match change.wait(POLL_INTERVAL, &tasks.shutdown).await {
                WaitEnd::LookAgain => {}
                WaitEnd::Stopped => return Ok(None),
            }
        }
    }

    /// Returns the task, if its state differs from the last reported one.
    async fn changed(&mut self, id: &RequestId) -> Result<Option<Task>, EngineError> {
        let tasks = Arc::clone(&self.tasks);
        let (thread, outline) = tasks.continued(&self.caller, id).await?;
        if outline.is_stalled {
            // It was left when one of its runs waited for an approval.
            tasks
                .requests
                .resume_in_background(thread.last.asked.clone());
        }
        let stands = ReportedState {
            state: outline.state,
            since: outline.state.is_settled().then_some(outline.since),
            mission: None,
        };
        if !self.is_news(stands) {
            return Ok(None);
        }
        tasks.detail(&self.caller, thread, outline).await.map(Some)
    }

    async fn changed_mission(&mut self, id: &MissionId) -> Result<Option<Task>, EngineError> {
        let tasks = Arc::clone(&self.tasks);
        let record = tasks.seen_mission(&self.caller, id).await?;
        let state = state_of(record.state);
        let stands = ReportedState {
            state,
            since: state.is_settled().then_some(record.updated_at),
            mission: Some((record.state, record.artifacts)),
        };
        if !self.is_news(stands) {
            return Ok(None);
        }
        tasks.mission_task(&self.caller, record).await.map(Some)
    }

    fn is_news(&mut self, stands: ReportedState) -> bool {
        self.seen.replace(stands) != Some(stands)
    }
}
