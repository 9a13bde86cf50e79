//! The exchange of one call with its server: the request, the server's questions to the client with further rounds, and
//! a task that the server makes of the call. Must not know which tool is called, or how a connection is kept.

use std::time::Duration;

use charter_contract::agentic::error::ErrorType;
use charter_contract::json::text_length;
use charter_contract::visible::clean;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, CancelledNotificationParam, ClientRequest, ErrorCode, InputRequests,
    InputResponses, RequestId, RequestMetaObject, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, ServiceError};
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::Server;
use super::interactions::InFlightCall;
use super::keep::LiveConnection;
use super::order::ServerOrder;
use super::questions::{ANSWER_TIMEOUT, shown_questions};
use crate::call::McpTool;
use crate::call_link::{CallEnd, CallLink};
use crate::outcome::Failure;

/// Most requests of one call, each with the answers to the questions of the one before.
const MAX_ROUNDS: usize = 16;
/// Keys of the metadata of a request (revision 2026-07-28).
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Most characters of a server's error.
const MAX_ERROR: usize = 2_000;
/// Largest data of a server's error, in bytes of JSON.
const MAX_ERROR_DATA: usize = 16 << 10;
/// The error for a client that first has to open a link.
const URL_ELICITATION_REQUIRED: ErrorCode = ErrorCode(-32042);

/// The server's answer to an order.
#[derive(Debug)]
pub(super) enum ServerAnswer {
    /// The result of a tool.
    Tool(CallToolResult),
    /// A resource or prompt, as JSON.
    Document(Map<String, Value>),
}

/// A connection and a call that uses it.
pub(super) struct ServerExchange<'e> {
    pub(super) server: &'e Server,
    pub(super) up: &'e LiveConnection,
    pub(super) tool: &'e McpTool,
    /// Timeout of each answer of the server. The time in which a question is open does not count.
    pub(super) timeout: Duration,
}

impl ServerExchange<'_> {
    fn link(&self) -> Option<&CallLink> {
        self.tool.link.as_ref()
    }

    /// Sends an order until the server has no further questions.
    pub(super) async fn carry_out(&self, mut order: ServerOrder) -> Result<ServerAnswer, Failure> {
        for _ in 0..MAX_ROUNDS {
            let (answer, in_flight) = self.exchanged(order.request()).await?;
            if let ServerResult::CreateTaskResult(created) = answer {
                // Without a client nobody follows the task, and its call counts as given up.
                let link = self.link().ok_or_else(|| self.asked())?;
                link.follow_as_task();
                return self.follow_task(link, created.task, in_flight).await;
            }
            in_flight.answered();
            match answer {
                ServerResult::CallToolResult(result) => return Ok(ServerAnswer::Tool(result)),
                ServerResult::ReadResourceResult(read) => return self.document(&read),
                ServerResult::GetPromptResult(prompt) => return self.document(&prompt),
                ServerResult::InputRequiredResult(asks) => {
                    let Some(link) = self.link() else {
                        return Err(self.asked());
                    };
                    let answers = match asks.input_requests {
                        Some(questions) => Some(self.answers(link, questions).await?),
                        None => None,
                    };
                    order.next_round(answers, asks.request_state);
                }
                _ => return Err(self.unusable("another result")),
            }
        }
        let what = format!("asked questions in more than {MAX_ROUNDS} rounds");
        Err(self.server.unexpected(&what))
    }

    fn asked(&self) -> Failure {
        let what = "asked for input other than the tool's parameters";
        self.server.unexpected(what)
    }

    pub(super) fn unusable(&self, what: &str) -> Failure {
        let what = format!("gave an unusable answer: {what}");
        self.server.unexpected(&what).answered()
    }

    fn document(&self, result: &impl serde::Serialize) -> Result<ServerAnswer, Failure> {
        match serde_json::to_value(result) {
            Ok(Value::Object(document)) => Ok(ServerAnswer::Document(document)),
            Ok(_) | Err(_) => Err(self.unusable("another result")),
        }
    }

    /// Waits until the client has answered all questions.
    async fn answers(
        &self,
        link: &CallLink,
        questions: InputRequests,
    ) -> Result<InputResponses, Failure> {
        let shown = self.shown(questions)?;
        let count = shown.len();
        link.ask(shown);
        let mut answers = InputResponses::new();
        let gathering = async {
            while answers.len() < count {
                answers.extend(link.answers().await.map_err(|_| self.unanswered())?);
            }
            Ok::<(), Failure>(())
        };
        let gathered = tokio::time::timeout(ANSWER_TIMEOUT, gathering).await;
        link.ask(Map::new());
        match gathered {
            Ok(answered) => answered.map(|()| answers),
            Err(_) => Err(self.unanswered()),
        }
    }

    pub(super) fn shown(&self, questions: InputRequests) -> Result<Map<String, Value>, Failure> {
        let server = &self.server.options.name;
        let shown = shown_questions(server, &self.server.redactor, questions);
        shown.map_err(|limit| self.server.unexpected(&limit))
    }

    pub(super) fn unanswered(&self) -> Failure {
        let name = &self.server.options.name;
        let message = format!(
            "the MCP server `{name}` asked a question that the client of this call did not answer"
        );
        Failure::new(ErrorType::InputError, message)
    }

    /// Sends a request and waits for its answer. If it is dropped, the server receives a cancellation.
    pub(super) async fn send(&self, request: ClientRequest) -> Result<ServerResult, Failure> {
        let (answer, in_flight) = self.exchanged(request).await?;
        in_flight.answered();
        Ok(answer)
    }

    /// Does the same; returns the answer with the call, which is still in flight.
    async fn exchanged(
        &self,
        request: ClientRequest,
    ) -> Result<(ServerResult, InFlightCall), Failure> {
        let in_flight = self.up.interactions.begin(self.link().cloned());
        let options = PeerRequestOptions::no_options().with_meta(self.meta());
        let sent = self.up.peer.send_request_with_option(request, options);
        let handle = match sent.await {
            Ok(handle) => handle,
            Err(error) => {
                in_flight.answered();
                return Err(self.server.broken(&error, self.up, self.tool));
            }
        };
        in_flight.sent(&handle.id, &handle.progress_token);
        let abandoned = AbandonedRequest {
            peer: Some(self.up.peer.clone()),
            id: handle.id.clone(),
        };
        let Some(answer) = self.in_time(handle.await_response()).await else {
            return Err(self.server.timed_out(self.timeout, self.tool));
        };
        abandoned.answered();
        match answer {
            Ok(answer) => Ok((answer, in_flight)),
            Err(error) => {
                in_flight.answered();
                if let (Some(link), ServiceError::McpError(error)) = (self.link(), &error) {
                    self.end_with_error(link, error);
                }
                Err(self.server.broken(&error, self.up, self.tool))
            }
        }
    }

    /// Waits for an answer; `None` after the timeout, which begins anew when a question is closed.
    async fn in_time<T>(&self, answer: impl Future<Output = T>) -> Option<T> {
        let mut answer = std::pin::pin!(answer);
        let mut changes = self.link().map(CallLink::changes);
        let mut deadline = Instant::now() + self.timeout;
        let mut was_asking = false;
        loop {
            let is_asking = self.link().is_some_and(|link| !link.questions().is_empty());
            if was_asking && !is_asking {
                deadline = Instant::now() + self.timeout;
            }
            was_asking = is_asking;
            tokio::select! {
                biased;
                answer = &mut answer => return Some(answer),
                () = next_change(changes.as_mut()) => {}
                () = tokio::time::sleep_until(deadline), if !is_asking => return None,
            }
        }
    }

    /// The metadata of a request. The capabilities are those of the client that waits for the call, so that a server
    /// asks only questions that this client can answer.
    pub(super) fn meta(&self) -> RequestMetaObject {
        let mut meta = RequestMetaObject::new();
        if let Some(traceparent) = self.server.options.trace.here() {
            meta.set_traceparent(traceparent);
        }
        let info = self.up.peer.peer_info();
        if info.is_none_or(|info| info.protocol_version.has_initialize()) {
            return meta;
        }
        let client = self.link().map(CallLink::client);
        let capabilities = client.map(|client| client.capabilities.clone());
        meta.insert(
            CLIENT_CAPABILITIES.to_owned(),
            Value::Object(capabilities.unwrap_or_default()),
        );
        if let Some(level) = client.and_then(|client| client.log_level.as_ref()) {
            meta.insert(LOG_LEVEL.to_owned(), json!(level));
        }
        meta
    }

    /// Passes an error of the protocol on, if it means the same to the client of the call.
    fn end_with_error(&self, link: &CallLink, error: &ErrorData) {
        let passes = matches!(
            error.code,
            ErrorCode::INVALID_PARAMS
                | ErrorCode::INTERNAL_ERROR
                | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
        ) || error.code == URL_ELICITATION_REQUIRED;
        if passes {
            link.finish(CallEnd::Error(self.error(error.code.0, error)));
        }
    }

    /// An error of the server, bounded and without secrets.
    pub(super) fn error(&self, code: i32, error: &ErrorData) -> Map<String, Value> {
        let redactor = &self.server.redactor;
        let message = clean(&redactor.apply(&error.message), MAX_ERROR);
        let mut shown = Map::from_iter([
            ("code".to_owned(), json!(code)),
            ("message".to_owned(), json!(message)),
        ]);
        let data = error.data.clone();
        if let Some(data) = data.filter(|data| text_length(data) <= MAX_ERROR_DATA) {
            shown.insert("data".to_owned(), redactor.apply_to(data));
        }
        shown
    }
}

/// Waits for the next change of a link; forever without one.
async fn next_change(changes: Option<&mut watch::Receiver<u64>>) {
    let changed = match changes {
        Some(changes) => changes.changed().await.is_ok(),
        None => false,
    };
    if !changed {
        std::future::pending::<()>().await;
    }
}

/// Cancels a request if it is dropped before its answer.
struct AbandonedRequest {
    peer: Option<Peer<RoleClient>>,
    id: RequestId,
}

impl AbandonedRequest {
    fn answered(mut self) {
        self.peer = None;
    }
}

impl Drop for AbandonedRequest {
    fn drop(&mut self) {
        let Some(peer) = self.peer.take() else {
            return;
        };
        let reason = Some("the call was given up".to_owned());
        let cancelled = CancelledNotificationParam::new(Some(self.id.clone()), reason);
        // A runtime that ends closes the connection anyway.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = peer.notify_cancelled(cancelled).await {
                    tracing::debug!(%error, "a cancellation was not sent to an MCP server");
                }
            });
        }
    }
}
