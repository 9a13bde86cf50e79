//! Tasks that wait for an account: each goes on once its user has connected the account, by a reply or on its own. What
//! failed for want of the account had no effect, so it is asked for again.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::RequestId;

use super::reply::{invalid, only_values, wishes_for_same_document};
use super::standing::Outline;
use super::thread::{Thread, missing_account};
use super::{TaskMessage, TaskService, TaskState};
use crate::{Caller, EngineError, Progress};

impl TaskService {
    /// Returns a task that is visible to the caller, with its state. One that waited for an account which is connected
    /// now goes on.
    pub(super) async fn continued(
        &self,
        caller: &Caller,
        id: &RequestId,
    ) -> Result<(Thread, Outline), EngineError> {
        let thread = self.thread(caller, id).await?;
        let outline = self.outline(&thread).await?;
        if outline.state != TaskState::AuthorizationRequired || !self.go_on(&thread).await? {
            return Ok((thread, outline));
        }
        let thread = self.thread(caller, id).await?;
        let outline = self.outline(&thread).await?;
        Ok((thread, outline))
    }

    /// Asks again for a task whose user has connected the account that it lacked, with the rights of its request:
    /// whoever reads the task may have fewer. Returns whether the task goes on.
    async fn go_on(&self, thread: &Thread) -> Result<bool, EngineError> {
        let asked_by = &thread.last.asked.caller;
        if !self.has_account(asked_by, thread).await? {
            return Ok(false);
        }
        let message = TaskMessage {
            message_id: thread.next_id().to_string(),
            ..TaskMessage::default()
        };
        let asking = self.again(asked_by, thread, &message, Progress::silent());
        // The task is shown as it is.
        if let Err(error) = asking.await {
            tracing::warn!(request.id = %thread.id, error = %error, "a task could not go on with its account");
            return Ok(false);
        }
        Ok(true)
    }

    /// Takes the reply of a user who has connected the account that the task lacked.
    pub(super) async fn reply_after_connecting(
        &self,
        caller: &Caller,
        thread: &Thread,
        message: &TaskMessage,
        progress: Progress,
    ) -> Result<(), EngineError> {
        only_values(message)?;
        if !self.has_account(caller, thread).await? {
            let account = missing_account(&thread.last);
            let name = account.map(|account| account.credential.to_string());
            return Err(invalid(format!(
                "the account `{}` is not connected yet; the task shows where to connect it",
                name.unwrap_or_default()
            )));
        }
        self.again(caller, thread, message, progress).await
    }

    async fn has_account(&self, caller: &Caller, thread: &Thread) -> Result<bool, EngineError> {
        let Some(account) = missing_account(&thread.last) else {
            return Ok(false);
        };
        match self
            .credentials
            .is_connected(caller, &account.credential)
            .await
        {
            // The operator has removed the credential.
            Err(error) if error.code == ErrorCode::NotFound => Ok(false),
            connected => connected,
        }
    }

    async fn again(
        &self,
        caller: &Caller,
        thread: &Thread,
        message: &TaskMessage,
        progress: Progress,
    ) -> Result<(), EngineError> {
        let extra = wishes_for_same_document(thread)?;
        let asked = self.next_request(caller, thread, message, extra, &message.text)?;
        match self.requests.submit(asked, progress).await {
            // Another reader of the task was faster.
            Err(error) if error.code == ErrorCode::AlreadyExists => Ok(()),
            submitted => submitted,
        }
    }
}
