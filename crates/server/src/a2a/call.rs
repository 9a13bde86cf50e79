//! The protocol's methods, for both bindings.

use std::str::FromStr;
use std::time::Duration;

use charter_contract::page::PageRequest;
use charter_engine::{Caller, Progress, TaskFilter, TaskKey, TaskMessage};
use serde_json::{Value, json};

use super::error::{A2aError, Kind, Violations};
use super::params::{self, GetCard, ListTasks, SendMessage, TaskParams};
use super::show::{self, Accepts, View};
use super::stream::{self, Events, StreamUntil};
use super::{assignment, card, message};
use crate::operations;
use crate::state::AppState;
use crate::streams::StreamSlot;

/// A method (section 5.3). Its rule in the table of operations has its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    SendMessage,
    SendStreamingMessage,
    GetTask,
    ListTasks,
    CancelTask,
    SubscribeToTask,
    GetExtendedAgentCard,
    /// Any of the four about push notifications, which are not supported.
    PushNotifications,
}

impl FromStr for Method {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Ok(match name {
            "SendMessage" => Self::SendMessage,
            "SendStreamingMessage" => Self::SendStreamingMessage,
            "GetTask" => Self::GetTask,
            "ListTasks" => Self::ListTasks,
            "CancelTask" => Self::CancelTask,
            "SubscribeToTask" => Self::SubscribeToTask,
            "GetExtendedAgentCard" => Self::GetExtendedAgentCard,
            "CreateTaskPushNotificationConfig"
            | "GetTaskPushNotificationConfig"
            | "ListTaskPushNotificationConfigs"
            | "DeleteTaskPushNotificationConfig" => Self::PushNotifications,
            _ => return Err(()),
        })
    }
}

/// All methods, for the test that each has a rule.
#[cfg(test)]
pub(crate) const METHODS: [Method; 8] = [
    Method::SendMessage,
    Method::SendStreamingMessage,
    Method::GetTask,
    Method::ListTasks,
    Method::CancelTask,
    Method::SubscribeToTask,
    Method::GetExtendedAgentCard,
    Method::PushNotifications,
];

/// The answer of a method.
pub(super) enum Reply {
    /// One value.
    One(Value),
    /// A sequence of `StreamResponse` objects, and the slot of the stream.
    Many(Events, Box<StreamSlot>),
}

/// Executes a method.
pub(super) async fn call(
    state: &AppState,
    caller: &Caller,
    method: Method,
    params: Value,
) -> Result<Reply, A2aError> {
    operations::admit(&format!("a2a:{method:?}"), caller)
        .map_err(|error| A2aError::of_engine(&error))?;
    match method {
        Method::SendMessage => send(state, caller, params::read(params)?)
            .await
            .map(Reply::One),
        Method::SendStreamingMessage => send_streaming(state, caller, params::read(params)?).await,
        Method::GetTask => get(state, caller, &params::read(params)?)
            .await
            .map(Reply::One),
        Method::ListTasks => list(state, caller, params::read(params)?)
            .await
            .map(Reply::One),
        Method::CancelTask => cancel(state, caller, &params::read(params)?)
            .await
            .map(Reply::One),
        Method::SubscribeToTask => subscribe(state, caller, &params::read(params)?).await,
        Method::GetExtendedAgentCard => {
            let asked: GetCard = params::read(params)?;
            params::no_tenant(asked.tenant.as_ref())?;
            Ok(Reply::One(card::extended(state, caller)))
        }
        Method::PushNotifications => Err(no_push()),
    }
}

fn no_push() -> A2aError {
    let message = "push notifications are not supported; stream, subscribe or poll";
    A2aError::new(Kind::PushNotificationNotSupported, message)
}

/// A request to send a message, after all checks that need no task.
struct CheckedMessage {
    message: TaskMessage,
    /// The id of the task that it replies to.
    task: Option<String>,
    view: View,
    waits: bool,
}

impl CheckedMessage {
    fn read(sent: SendMessage) -> Result<Self, A2aError> {
        let configuration = sent.configuration.unwrap_or_default();
        let mut violations = Violations::default();
        violations.keep(params::no_tenant(sent.tenant.as_ref()));
        let message = violations.keep(message::read(&sent.message));
        let history = violations.keep(params::history(configuration.history_length));
        let (message, history) = violations.unless_any(message.zip(history))?;
        if configuration.task_push_notification_config.is_some() {
            return Err(no_push());
        }
        let task = sent.message.task_id.filter(|id| !id.is_empty());
        let modes = configuration.accepted_output_modes.as_deref();
        Ok(Self {
            task,
            message,
            view: View {
                history,
                artifacts: true,
                accepts: Accepts::from_modes(modes)?,
            },
            waits: !configuration.return_immediately.unwrap_or_default(),
        })
    }

    /// Returns the action on assignments, which is a whole message.
    fn assignment(&self) -> Result<Option<&Value>, A2aError> {
        let Some(asked) = self.message.wishes.get(assignment::FIELD) else {
            return Ok(None);
        };
        let message = &self.message;
        let is_alone = message.wishes.len() == 1 && message.text.is_empty();
        if !is_alone || self.task.is_some() || message.confirmation.is_some() {
            let wrong = "cannot be combined with a text, a task or other fields";
            return Err(A2aError::param("assignment", wrong));
        }
        Ok(Some(asked))
    }

    /// Passes the message to the engine; returns the task that it started or replied to.
    async fn submit_message(
        &self,
        state: &AppState,
        caller: &Caller,
        progress: Progress,
    ) -> Result<TaskKey, A2aError> {
        let tasks = state.engine.agent_tasks();
        let taken = match &self.task {
            None => tasks.begin_task(caller, &self.message, progress).await,
            Some(id) => {
                let task = task_key(state, caller, id).await?;
                let replied = tasks
                    .reply_to_task(caller, &task, &self.message, progress)
                    .await;
                replied.map(|()| task)
            }
        };
        taken.map_err(|error| A2aError::of_engine(&error))
    }
}

async fn task_key(state: &AppState, caller: &Caller, id: &str) -> Result<TaskKey, A2aError> {
    let key = state.engine.agent_tasks().task_key(caller, id).await;
    key.map_err(|error| A2aError::of_engine(&error))
}

/// How long to wait for an answer that is not streamed: slightly less than the server's timeout.
fn answer_timeout(state: &AppState) -> Duration {
    state.limits.timeout.mul_f64(0.9)
}

async fn send(state: &AppState, caller: &Caller, sent: SendMessage) -> Result<Value, A2aError> {
    let sending = CheckedMessage::read(sent)?;
    if let Some(asked) = sending.assignment()? {
        return assignment::answer(state, caller, asked).await;
    }
    let id = sending
        .submit_message(state, caller, Progress::silent())
        .await?;
    let task = if sending.waits {
        state
            .engine
            .agent_tasks()
            .settled_task(caller, &id, answer_timeout(state))
            .await
    } else {
        state.engine.agent_tasks().task(caller, &id).await
    };
    let task = task.map_err(|error| A2aError::of_engine(&error))?;
    let task = show::task(&task, sending.view);
    Ok(show::with_field(json!({}), "task", task))
}

async fn send_streaming(
    state: &AppState,
    caller: &Caller,
    sent: SendMessage,
) -> Result<Reply, A2aError> {
    let sending = CheckedMessage::read(sent)?;
    if sending.assignment()?.is_some() {
        let message = "an assignment is answered with one message; use SendMessage";
        return Err(A2aError::new(Kind::UnsupportedOperation, message));
    }
    let place = place(state, caller)?;
    let (progress, events) = Progress::channel();
    let id = sending.submit_message(state, caller, progress).await?;
    let how = (StreamUntil::Settled, sending.view.accepts);
    let events = stream::events(&state.engine, caller.clone(), id, Some(events), how);
    Ok(Reply::Many(events, Box::new(place)))
}

fn place(state: &AppState, caller: &Caller) -> Result<StreamSlot, A2aError> {
    let place = state.stream_place(caller);
    place.map_err(|error| A2aError::of_engine(&error))
}

async fn get(state: &AppState, caller: &Caller, asked: &TaskParams) -> Result<Value, A2aError> {
    params::no_tenant(asked.tenant.as_ref())?;
    let view = View {
        history: params::history(asked.history_length)?,
        artifacts: true,
        accepts: Accepts::ALL,
    };
    let id = task_key(state, caller, &asked.id).await?;
    let task = state.engine.agent_tasks().task(caller, &id).await;
    let task = task.map_err(|error| A2aError::of_engine(&error))?;
    Ok(show::task(&task, view))
}

async fn list(state: &AppState, caller: &Caller, asked: ListTasks) -> Result<Value, A2aError> {
    let mut violations = Violations::default();
    violations.keep(params::no_tenant(asked.tenant.as_ref()));
    let size = violations.keep(asked.page_size());
    let history = violations.keep(params::history(asked.history_length));
    let standing = violations.keep(asked.state());
    let since = violations.keep(asked.since());
    let read = size.zip(history).zip(standing.zip(since));
    let ((size, history), (standing, since)) = violations.unless_any(read)?;
    let view = View {
        history,
        artifacts: asked.include_artifacts.unwrap_or_default(),
        accepts: Accepts::ALL,
    };
    let filter = TaskFilter {
        state: standing,
        since,
        context: asked.context_id.filter(|id| !id.is_empty()),
    };
    let after = asked.page_token.filter(|token| !token.is_empty());
    let page = PageRequest::new(after, size);
    let tasks = state.engine.agent_tasks();
    let found = tasks.tasks_of(caller, &filter, &page).await;
    let found = found.map_err(|error| A2aError::of_engine(&error))?;
    Ok(show::listing(
        &found.entries,
        found.next,
        size,
        found.total,
        view,
    ))
}

async fn cancel(state: &AppState, caller: &Caller, asked: &TaskParams) -> Result<Value, A2aError> {
    params::no_tenant(asked.tenant.as_ref())?;
    let id = task_key(state, caller, &asked.id).await?;
    let task = state.engine.agent_tasks().cancel_task(caller, &id).await;
    let task = task.map_err(|error| {
        A2aError::of_engine(&error).renamed(Kind::UnsupportedOperation, Kind::TaskNotCancelable)
    })?;
    let view = View {
        history: usize::MAX,
        artifacts: true,
        accepts: Accepts::ALL,
    };
    Ok(show::task(&task, view))
}

async fn subscribe(
    state: &AppState,
    caller: &Caller,
    asked: &TaskParams,
) -> Result<Reply, A2aError> {
    params::no_tenant(asked.tenant.as_ref())?;
    let id = task_key(state, caller, &asked.id).await?;
    let task = state.engine.agent_tasks().task(caller, &id).await;
    let task = task.map_err(|error| A2aError::of_engine(&error))?;
    if task.state.is_final() {
        let message = format!("the task `{id}` has ended; get it instead");
        return Err(A2aError::new(Kind::UnsupportedOperation, message));
    }
    let how = (StreamUntil::Ended, Accepts::ALL);
    let place = place(state, caller)?;
    let events = stream::events(&state.engine, caller.clone(), id, None, how);
    Ok(Reply::Many(events, Box::new(place)))
}
