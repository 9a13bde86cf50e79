//! The calls in flight on one connection, and the server's messages that belong to each of them: progress, log messages
//! and questions.
//!
//! Progress names its call. A question over HTTP arrives on the stream of its call. Everything else belongs to a call
//! only if no other is in flight: a message for one client must not reach another. A task is in flight until it ends,
//! also between the requests that poll it.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use charter_contract::ids::Label;
use charter_contract::json::text_length;
use charter_contract::visible::clean;
use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    Extensions, InputRequest, InputRequests, ProgressToken, RequestId, ServerJsonRpcMessage,
    ServerNotification,
};
use rmcp::service::{InboundStreamOrigin, RoleClient};
use rmcp::transport::Transport;
use serde_json::{Map, Value, json};

use super::questions::{ANSWER_TIMEOUT, shown_questions};
use crate::call_link::{CallEvent, CallLink};
use crate::redact::Redactor;

/// Most characters of a progress message.
const MAX_PROGRESS_TEXT: usize = 1_000;
/// The key of a question that has none of its own.
const QUESTION: &str = "question";
/// Largest log message, in bytes of JSON.
const MAX_LOG_BYTES: usize = 16 << 10;

/// The calls in flight on a connection. Clones are the same table.
#[derive(Debug, Clone)]
pub(super) struct Interactions(Arc<SharedTable>);

#[derive(Debug)]
struct SharedTable {
    server: Label,
    redactor: Redactor,
    table: Mutex<CallTable>,
}

#[derive(Debug, Default)]
struct CallTable {
    calls: Vec<InFlight>,
    /// The number of the next call.
    next: u64,
    /// Whether a call was cancelled or timed out: the server may still send messages for it.
    abandoned: bool,
}

#[derive(Debug)]
struct InFlight {
    number: u64,
    id: Option<RequestId>,
    token: Option<ProgressToken>,
    /// Absent for a call whose client takes no part in it.
    link: Option<CallLink>,
}

/// One call in the table, until it is dropped.
#[derive(Debug)]
pub(super) struct InFlightCall {
    table: Interactions,
    number: u64,
    answered: bool,
}

impl Interactions {
    pub(super) fn new(server: Label, redactor: Redactor) -> Self {
        Self(Arc::new(SharedTable {
            server,
            redactor,
            table: Mutex::default(),
        }))
    }

    fn table(&self) -> MutexGuard<'_, CallTable> {
        // Every change is one step, so a panic of a holder leaves the table whole.
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a call, before its request is sent, or a task.
    pub(super) fn begin(&self, link: Option<CallLink>) -> InFlightCall {
        let mut table = self.table();
        let number = table.next;
        table.next += 1;
        table.calls.push(InFlight {
            number,
            id: None,
            token: None,
            link,
        });
        drop(table);
        InFlightCall {
            table: self.clone(),
            number,
            answered: false,
        }
    }

    /// Returns the link of the call that a request of the server belongs to.
    pub(super) fn link_of(&self, extensions: &Extensions) -> Option<CallLink> {
        match extensions.get::<InboundStreamOrigin>() {
            Some(InboundStreamOrigin::OutboundRequest(id)) => {
                let table = self.table();
                let mut calls = table.calls.iter();
                calls
                    .find(|call| call.id.as_ref() == Some(id))?
                    .link
                    .clone()
            }
            Some(InboundStreamOrigin::Unassociated) => None,
            None => self.only_link(),
        }
    }

    /// Asks the user of a call's client, for a server that waits for the answer during its call.
    pub(super) async fn elicit(
        &self,
        link: &CallLink,
        question: ElicitRequestParams,
    ) -> Result<ElicitResult, ErrorData> {
        let refused = |reason: String| ErrorData::internal_error(reason, None);
        if !link.questions().is_empty() {
            return Err(refused("another question is open".to_owned()));
        }
        let question = InputRequest::Elicitation(ElicitRequest::new(question));
        let questions = InputRequests::from([(QUESTION.to_owned(), question)]);
        let shown = shown_questions(&self.0.server, &self.0.redactor, questions);
        link.ask(shown.map_err(refused)?);
        let answers = tokio::time::timeout(ANSWER_TIMEOUT, link.answers()).await;
        link.ask(Map::new());
        let Ok(Ok(mut answers)) = answers else {
            return Ok(ElicitResult::new(ElicitationAction::Cancel));
        };
        let answer = answers.remove(QUESTION).unwrap_or_default();
        serde_json::from_value(answer).map_err(|error| refused(error.to_string()))
    }

    /// Returns the link of the calls in flight, if all are of one client's call: a task, and a request that polls it.
    fn only_link(&self) -> Option<CallLink> {
        let table = self.table();
        let (first, others) = table.calls.split_first()?;
        let is_only = others.iter().all(|other| other.link == first.link);
        first.link.clone().filter(|_| is_only && !table.abandoned)
    }

    /// Passes a message on to the client of its call.
    fn pass(&self, message: &ServerJsonRpcMessage) {
        let ServerJsonRpcMessage::Notification(message) = message else {
            return;
        };
        match &message.notification {
            ServerNotification::ProgressNotification(progress) => {
                let progress = &progress.params;
                let Some(link) = self.link_by_token(&progress.progress_token) else {
                    return;
                };
                let message = progress.message.as_deref();
                link.report(CallEvent::Progress {
                    progress: progress.progress,
                    total: progress.total,
                    message: message
                        .map(|text| clean(&self.0.redactor.apply(text), MAX_PROGRESS_TEXT)),
                });
            }
            ServerNotification::LoggingMessageNotification(log) => {
                let link = self.only_link();
                let wanted = link.filter(|link| link.client().log_level.is_some());
                if let (Some(link), Ok(Value::Object(log))) =
                    (wanted, serde_json::to_value(&log.params))
                {
                    link.report(CallEvent::Log(self.shown_log(log)));
                }
            }
            _ => {}
        }
    }

    fn link_by_token(&self, token: &ProgressToken) -> Option<CallLink> {
        let table = self.table();
        let mut calls = table.calls.iter();
        calls
            .find(|call| call.token.as_ref() == Some(token))?
            .link
            .clone()
    }

    fn shown_log(&self, log: Map<String, Value>) -> Map<String, Value> {
        let log = Value::Object(log);
        let size = text_length(&log);
        if size > MAX_LOG_BYTES {
            let data = format!("a log message of {size} bytes was left out");
            return Map::from_iter([
                ("level".to_owned(), log["level"].clone()),
                ("data".to_owned(), json!(data)),
            ]);
        }
        match self.0.redactor.apply_to(log) {
            Value::Object(log) => log,
            _ => Map::new(),
        }
    }
}

impl InFlightCall {
    /// Records the id and the progress token of the call's request.
    pub(super) fn sent(&self, id: &RequestId, token: &ProgressToken) {
        let mut table = self.table.table();
        let mut calls = table.calls.iter_mut();
        if let Some(call) = calls.find(|call| call.number == self.number) {
            call.id = Some(id.clone());
            call.token = Some(token.clone());
        }
    }

    /// Ends the call, which the server answered.
    pub(super) fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for InFlightCall {
    fn drop(&mut self) {
        let mut table = self.table.table();
        table.calls.retain(|call| call.number != self.number);
        table.abandoned |= !self.answered;
    }
}

/// Transports messages, and passes on those for clients in the order of their arrival. The SDK handles each
/// notification in its own task, so the last one could come after the answer.
pub(super) struct Tap<T> {
    inner: T,
    interactions: Interactions,
}

impl<T> Tap<T> {
    pub(super) fn new(inner: T, interactions: Interactions) -> Self {
        Self {
            inner,
            interactions,
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Tap<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let message = self.inner.receive().await?;
        self.interactions.pass(&message);
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_link::{CallClient, LinkMemory};

    fn interactions() -> Interactions {
        let secrets = [("KEY".to_owned(), "s3cr3t-value".to_owned())];
        Interactions::new(Label::parse("files").unwrap(), Redactor::new(&secrets))
    }

    fn link() -> CallLink {
        let client = CallClient {
            log_level: Some("info".to_owned()),
            ..CallClient::default()
        };
        CallLink::new(client, LinkMemory::default())
    }

    fn received(message: Value) -> ServerJsonRpcMessage {
        serde_json::from_value(message).unwrap()
    }

    fn progress(token: u32, message: &str) -> ServerJsonRpcMessage {
        received(
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                "progressToken": token, "progress": 1, "total": 2, "message": message,
            }}),
        )
    }

    fn log() -> ServerJsonRpcMessage {
        received(
            json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {
                "level": "info", "data": "the key is s3cr3t-value",
            }}),
        )
    }

    fn sent(call: &InFlightCall, number: i64) {
        let number = RequestId::Number(number);
        call.sent(&number, &ProgressToken(number.clone()));
    }

    #[test]
    fn progress_reaches_the_client_of_its_call_without_secrets() {
        let (calls, own, other) = (interactions(), link(), link());
        let (first, second) = (
            calls.begin(Some(own.clone())),
            calls.begin(Some(other.clone())),
        );
        sent(&first, 1);
        sent(&second, 2);
        calls.pass(&progress(1, "with s3cr3t-value"));
        let expected = CallEvent::Progress {
            progress: 1.0,
            total: Some(2.0),
            message: Some("with [redacted:KEY]".to_owned()),
        };
        assert_eq!(
            (own.take_events(), other.take_events()),
            (vec![expected], vec![])
        );
    }

    #[test]
    fn a_log_message_reaches_a_client_only_while_its_call_is_the_only_one() {
        let (calls, own) = (interactions(), link());
        let first = calls.begin(Some(own.clone()));
        calls.pass(&log());
        assert_eq!(own.take_events().len(), 1);
        let second = calls.begin(None);
        calls.pass(&log());
        assert_eq!(own.take_events(), vec![]);
        second.answered();
        calls.pass(&log());
        assert_eq!(own.take_events().len(), 1);
        first.answered();
    }

    #[test]
    fn a_message_during_a_task_reaches_no_other_client() {
        let (calls, of_task, other) = (interactions(), link(), link());
        let task = calls.begin(Some(of_task.clone()));
        calls.begin(Some(of_task.clone())).answered();
        let call = calls.begin(Some(other.clone()));
        calls.pass(&log());
        assert_eq!(other.take_events(), vec![]);
        call.answered();
        let poll = calls.begin(Some(of_task.clone()));
        calls.pass(&log());
        assert_eq!(of_task.take_events().len(), 1);
        poll.answered();
        task.answered();
        let _call = calls.begin(Some(other.clone()));
        calls.pass(&log());
        assert_eq!(other.take_events().len(), 1);
    }

    #[test]
    fn a_question_is_not_asked_after_another_call_was_given_up() {
        let (calls, own) = (interactions(), link());
        drop(calls.begin(Some(link())));
        let _call = calls.begin(Some(own));
        assert_eq!(calls.link_of(&Extensions::new()), None);
    }

    #[test]
    fn a_question_on_the_stream_of_a_call_belongs_to_it() {
        let (calls, own) = (interactions(), link());
        let (first, second) = (calls.begin(Some(own.clone())), calls.begin(Some(link())));
        sent(&first, 1);
        sent(&second, 2);
        let mut extensions = Extensions::new();
        extensions.insert(InboundStreamOrigin::OutboundRequest(RequestId::Number(1)));
        assert_eq!(calls.link_of(&extensions), Some(own));
    }
}
