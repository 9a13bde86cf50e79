//! Cancels a task: its runs are aborted, and their writes stay.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::RequestId;

use super::thread::{Thread, missing_account, wishes};
use super::{Task, TaskKey, TaskMessage, TaskService, TaskState};
use crate::{Caller, EngineError};

/// How long to wait for a cancellation; a running call ends first.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// The reason in the journal and the answer.
const REASON: &str = "the task was cancelled";

impl TaskService {
    /// Cancels a task and returns its state. A running call ends first, so the task may still be ending, or may have
    /// completed before.
    ///
    /// # Errors
    /// `not_found`; `illegal_transition` for a task that has ended.
    pub async fn cancel_task(
        self: &Arc<Self>,
        caller: &Caller,
        id: &TaskKey,
    ) -> Result<Task, EngineError> {
        let started = tokio::time::Instant::now();
        match id {
            TaskKey::Request(request) => self.cancel_asked(caller, id, request).await?,
            TaskKey::Mission(mission) => {
                self.seen_mission(caller, mission).await?;
                self.missions
                    .cancel(caller, mission, REASON.to_owned())
                    .await?;
            }
        }
        let left = CANCEL_TIMEOUT.saturating_sub(started.elapsed());
        self.ended_task(caller, id, left).await
    }

    async fn cancel_asked(
        &self,
        caller: &Caller,
        task: &TaskKey,
        id: &RequestId,
    ) -> Result<(), EngineError> {
        let thread = self.thread(caller, id).await?;
        let outline = self.outline(&thread).await?;
        if outline.state.is_final() {
            let message = format!("the task `{task}` has ended and cannot be cancelled");
            return Err(EngineError::new(ErrorCode::IllegalTransition, message));
        }
        let waits = match outline.state {
            TaskState::InputRequired => true,
            TaskState::AuthorizationRequired => missing_account(&thread.last).is_some(),
            TaskState::Submitted
            | TaskState::Working
            | TaskState::Completed
            | TaskState::Failed
            | TaskState::Canceled
            | TaskState::Rejected => false,
        };
        if waits && outline.change.is_none() {
            return self.give_up(caller, &thread).await;
        }
        let last = &thread.last.asked.request.id;
        self.request_management
            .cancel_request(caller, last, REASON)
            .await
    }

    /// Records that the input or the account that the task lacks will not arrive.
    async fn give_up(&self, caller: &Caller, thread: &Thread) -> Result<(), EngineError> {
        let id = thread.next_id();
        let message = TaskMessage {
            message_id: id.to_string(),
            ..TaskMessage::default()
        };
        let before = wishes(&thread.last.asked.request);
        let asked = self.next_request(caller, thread, &message, before, &message.text)?;
        let refusal = EngineError::new(ErrorCode::Cancelled, REASON);
        self.requests.refuse(&asked, refusal).await
    }
}
