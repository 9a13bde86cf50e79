//! A task that a server makes of a call (extension `io.modelcontextprotocol/tasks`): polls it, passes its questions to
//! the client and the answers back, and cancels it if the call is given up.

use std::collections::BTreeSet;
use std::time::Duration;

use charter_contract::agentic::error::ErrorType;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, CancelTaskParams, CancelTaskRequest, ClientRequest, ErrorCode, GetTaskParams,
    GetTaskRequest, JsonObject, RequestMetaObject, ServerResult, Task, TaskPayload,
    UpdateTaskParams, UpdateTaskRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::exchange::{ServerAnswer, ServerExchange};
use super::interactions::InFlightCall;
use crate::call_link::{CallEnd, CallLink};
use crate::outcome::Failure;

/// The pause between two polls, for a server that suggests none, and the bounds for others.
const POLL: Duration = Duration::from_millis(500);
const SHORTEST_POLL: Duration = Duration::from_millis(100);
const LONGEST_POLL: Duration = Duration::from_secs(5);
/// Longest task.
const MAX_TASK: Duration = Duration::from_secs(24 * 3_600);
/// Timeout of a cancellation.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

impl ServerExchange<'_> {
    /// Follows a task to its end. Its call stays in flight, because the server may send messages for it between two
    /// polls.
    pub(super) async fn follow_task(
        &self,
        link: &CallLink,
        task: Task,
        in_flight: InFlightCall,
    ) -> Result<ServerAnswer, Failure> {
        let until = Instant::now() + MAX_TASK;
        let suggested = task.poll_interval_ms.map(Duration::from_millis);
        let pause = suggested.map_or(POLL, |pause| pause.clamp(SHORTEST_POLL, LONGEST_POLL));
        let open = OpenTask {
            peer: Some(self.up.peer.clone()),
            meta: self.meta(),
            id: task.task_id.clone(),
        };
        let mut answered = BTreeSet::new();
        while Instant::now() < until {
            let got = GetTaskRequest::new(GetTaskParams::new(task.task_id.as_str()));
            let got = self.send(ClientRequest::GetTaskRequest(got)).await?;
            let ServerResult::GetTaskResult(got) = got else {
                return Err(self.unusable("no task"));
            };
            let questions = match got.task.payload {
                TaskPayload::InputRequired { input_requests } => {
                    let mut questions = self.shown(input_requests)?;
                    questions.retain(|key, _| !answered.contains(key));
                    questions
                }
                TaskPayload::Working => Map::new(),
                ended => {
                    open.ended();
                    in_flight.answered();
                    return self.end_of_task(link, ended);
                }
            };
            link.ask(questions);
            tokio::select! {
                given = link.answers() => {
                    let given = given.map_err(|_| self.unanswered())?;
                    answered.extend(given.keys().cloned());
                    self.answer_task(&task.task_id, given).await?;
                }
                () = tokio::time::sleep(pause) => {}
            }
        }
        let hours = MAX_TASK.as_secs() / 3_600;
        let what = format!("did not end its task within {hours} hours");
        Err(self.server.unexpected(&what))
    }

    async fn answer_task(&self, task: &str, given: Map<String, Value>) -> Result<(), Failure> {
        let params = UpdateTaskParams::new(task, given.into_iter().collect());
        let updated = ClientRequest::UpdateTaskRequest(UpdateTaskRequest::new(params));
        self.send(updated).await.map(drop)
    }

    fn end_of_task(&self, link: &CallLink, ended: TaskPayload) -> Result<ServerAnswer, Failure> {
        let failed = |what: &str| {
            let name = &self.server.options.name;
            let message = format!("the task of the MCP server `{name}` {what}");
            Failure::new(ErrorType::ExecutionError, message)
        };
        match ended {
            TaskPayload::Completed { result } => {
                let result = CallToolResult::deserialize(&Value::Object(result));
                result
                    .map(ServerAnswer::Tool)
                    .map_err(|error| self.unusable(&format!("its task's result: {error}")))
            }
            TaskPayload::Failed { error } => {
                let error = error_of(error);
                link.finish(CallEnd::Error(self.error(error.code.0, &error)));
                Err(failed(&format!("failed: {}", error.message)))
            }
            TaskPayload::Cancelled => Err(failed("was cancelled")),
            _ => Err(self.unusable("a task in an unknown state")),
        }
    }
}

/// Reads an error; one that is not valid is an internal error of the server.
fn error_of(error: JsonObject) -> ErrorData {
    let error = Value::Object(error);
    ErrorData::deserialize(&error).unwrap_or_else(|_| {
        ErrorData::new(ErrorCode::INTERNAL_ERROR, "the task failed", Some(error))
    })
}

/// A task that has not ended. It is cancelled if it is dropped.
struct OpenTask {
    peer: Option<Peer<RoleClient>>,
    meta: RequestMetaObject,
    id: String,
}

impl OpenTask {
    fn ended(mut self) {
        self.peer = None;
    }
}

impl Drop for OpenTask {
    fn drop(&mut self) {
        let Some(peer) = self.peer.take() else {
            return;
        };
        let params = CancelTaskParams::new(self.id.as_str());
        let request = ClientRequest::CancelTaskRequest(CancelTaskRequest::new(params));
        let options = PeerRequestOptions::with_timeout(CANCEL_TIMEOUT).with_meta(self.meta.clone());
        // A runtime that ends closes the connection anyway.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let cancelled = match peer.send_request_with_option(request, options).await {
                    Ok(sent) => sent.await_response().await.map(drop),
                    Err(error) => Err(error),
                };
                if let Err(error) = cancelled {
                    tracing::debug!(%error, "a task of an MCP server could not be cancelled");
                }
            });
        }
    }
}
