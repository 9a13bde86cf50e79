//! Cancelling a task: its runs are aborted, and what they wrote stays.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::RequestId;

use super::thread::{Thread, wishes};
use super::{Task, TaskMessage, TaskState};
use crate::{Caller, Engine, EngineError};

/// How long a cancellation is waited for; a call that is under way ends first.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the journal and the answer say.
const REASON: &str = "the task was cancelled by whoever asked";

impl Engine {
    /// Cancels a task and returns where it stands then: a call under way ends first, so that may still
    /// be on its way to an end, or it was done before.
    ///
    /// # Errors
    /// `not_found`; `illegal_transition` for a task that has ended.
    pub async fn cancel_task(
        self: &Arc<Self>,
        caller: &Caller,
        id: &RequestId,
    ) -> Result<Task, EngineError> {
        let started = tokio::time::Instant::now();
        let thread = self.thread(caller, id).await?;
        let outline = self.outline(&thread).await?;
        if outline.state.is_final() {
            let message = format!("the task `{id}` has ended and cannot be cancelled");
            return Err(EngineError::new(ErrorCode::IllegalTransition, message));
        }
        if outline.state == TaskState::InputRequired && outline.change.is_none() {
            self.give_up(caller, &thread).await?;
            return self.task(caller, id).await;
        }
        let last = &thread.last.asked.request.id;
        self.cancel_request(caller, last, REASON).await?;
        let left = PATIENCE.saturating_sub(started.elapsed());
        self.ended_task(caller, id, left).await
    }

    /// Records that what the task lacks is not going to be given.
    async fn give_up(&self, caller: &Caller, thread: &Thread) -> Result<(), EngineError> {
        let id = thread.next_id();
        let message = TaskMessage {
            message_id: id.to_string(),
            ..TaskMessage::default()
        };
        let before = wishes(&thread.last.asked.request);
        let asked = self.next_request(caller, thread, &message, before)?;
        self.refuse(&asked, EngineError::new(ErrorCode::Cancelled, REASON))
            .await
    }
}
