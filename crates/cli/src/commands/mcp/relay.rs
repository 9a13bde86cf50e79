//! Relays messages between one client and the process that answers it. When that process ends, the next one gets the
//! client's handshake and the repeatable requests. Other requests fail, because they may have been executed.

use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::time::Duration;

use anyhow::{Context, bail};
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    ClientRequest, ErrorData, JsonRpcNotification, JsonRpcRequest, RequestId, ServerJsonRpcMessage,
    ServerNotification,
};
use rmcp::transport::Transport;
use rmcp::{RoleClient, RoleServer};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Messages that are sent at the same time, and messages that are read ahead.
const MOST_WAITING: usize = 64;

/// The time for answers after the client has closed its end.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// The id of a repeated handshake.
const TAKEOVER: &str = "charter-takeover";

/// The meaning of a message that could not be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendFailure {
    /// The process that answers has ended: all messages use one stream.
    EndsConnection,
    /// Only this message failed: each is an HTTP request of its own.
    FailsMessage,
}

/// Why a relay ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RelayEnd {
    /// The client has left, or this process stops.
    ClientLeft,
    /// The process that answered has ended.
    AnswererLost,
}

/// The connection of a client. It outlives the processes that answer it.
pub(super) struct ClientConnection<C> {
    client: C,
    closed: bool,
    /// Messages that are read and not sent yet.
    waiting: VecDeque<ClientJsonRpcMessage>,
    /// Unanswered requests, in the order of their arrival.
    open: Vec<JsonRpcRequest<ClientRequest>>,
    /// Whether the client has begun a lifecycle. The protocol has no notifications before that.
    begun: bool,
    /// The client's handshake, once it is answered.
    handshake: Option<ClientRequest>,
    initialized: Option<JsonRpcNotification<ClientNotification>>,
    /// Requests to the client: the id as sent to the client, and the id that the process chose.
    questions: HashMap<RequestId, RequestId>,
    /// The number of processes that have ended.
    lost: u32,
}

impl<C: Transport<RoleServer>> ClientConnection<C> {
    pub(super) fn new(client: C) -> Self {
        Self {
            client,
            closed: false,
            waiting: VecDeque::new(),
            open: Vec::new(),
            begun: false,
            handshake: None,
            initialized: None,
            questions: HashMap::new(),
            lost: 0,
        }
    }

    /// Whether the client has left and no request is unanswered.
    pub(super) fn is_done(&self) -> bool {
        self.closed && self.waiting.is_empty() && self.open.is_empty()
    }

    /// Whether there is room to read ahead.
    pub(super) fn has_room(&self) -> bool {
        !self.closed && self.waiting.len() < MOST_WAITING
    }

    /// Reads a message ahead.
    pub(super) async fn read_ahead(&mut self) {
        match self.client.receive().await {
            Some(message) => self.waiting.push_back(message),
            None => self.closed = true,
        }
    }

    /// Relays messages until one side ends, or `stop` is cancelled.
    ///
    /// # Errors
    /// When the client cannot be written to, or the process that answers refuses the repeated handshake.
    pub(super) async fn relay<A: Transport<RoleClient>>(
        &mut self,
        answerer: &mut A,
        failure: SendFailure,
        stop: &CancellationToken,
    ) -> anyhow::Result<RelayEnd> {
        if !self.repeat_handshake(answerer).await? {
            return self.prepare_takeover(None).await;
        }
        let mut sending = JoinSet::new();
        let mut until = Instant::now() + LAST_ANSWERS;
        while !self.is_done() || !sending.is_empty() {
            let reads = (!self.closed || !self.waiting.is_empty()) && sending.len() < MOST_WAITING;
            tokio::select! {
                message = self.next(), if reads => match message {
                    None => {
                        self.closed = true;
                        until = Instant::now() + LAST_ANSWERS;
                    }
                    Some(message) => {
                        if let Some(message) = self.outgoing(message) {
                            let request = request_of(&message);
                            let sent = answerer.send(message);
                            sending.spawn(async move { (request, sent.await.err()) });
                        }
                    }
                },
                message = answerer.receive() => match message {
                    None => return self.prepare_takeover(None).await,
                    Some(message) => {
                        let message = self.incoming(message);
                        self.send_to_client(message).await?;
                    }
                },
                Some(sent) = sending.join_next() => {
                    let (request, error) = sent.context("sending a message")?;
                    let Some(error) = error else { continue };
                    tracing::warn!(error = %error, "a message was not delivered");
                    if failure == SendFailure::EndsConnection {
                        return self.prepare_takeover(request.as_ref()).await;
                    }
                    if let Some(request) = request {
                        self.refuse_request(request, &error).await?;
                    }
                }
                () = tokio::time::sleep_until(until), if self.closed => break,
                () = stop.cancelled() => break,
            }
        }
        Ok(RelayEnd::ClientLeft)
    }

    async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        match self.waiting.pop_front() {
            Some(message) => Some(message),
            None => self.client.receive().await,
        }
    }

    async fn send_to_client(&mut self, message: ServerJsonRpcMessage) -> anyhow::Result<()> {
        let sent = self.client.send(message).await;
        sent.map_err(|error| anyhow::anyhow!("writing to the client: {error}"))
    }

    /// Answers a request that was not delivered.
    async fn refuse_request(
        &mut self,
        request: RequestId,
        error: &impl Error,
    ) -> anyhow::Result<()> {
        self.close_request(&request);
        let message = format!("the server rejected the request: {error}");
        let error = ErrorData::internal_error(message, None);
        let refusal = ServerJsonRpcMessage::error(error, Some(request));
        self.send_to_client(refusal).await
    }

    /// A message of the client in the form for the process that answers; `None` for one that it does not expect.
    fn outgoing(&mut self, message: ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                self.begun |= !matches!(
                    request.request,
                    ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_)
                );
                self.open.push(request.clone());
                Some(ClientJsonRpcMessage::Request(request))
            }
            ClientJsonRpcMessage::Response(mut response) => {
                response.id = self.questions.remove(&response.id)?;
                Some(ClientJsonRpcMessage::Response(response))
            }
            ClientJsonRpcMessage::Error(mut error) => {
                error.id = Some(self.questions.remove(error.id.as_ref()?)?);
                Some(ClientJsonRpcMessage::Error(error))
            }
            ClientJsonRpcMessage::Notification(notification) => {
                match &notification.notification {
                    ClientNotification::InitializedNotification(_) => {
                        self.initialized = Some(notification.clone());
                    }
                    ClientNotification::CancelledNotification(cancelled) => {
                        // A cancelled request is not answered.
                        if let Some(request) = &cancelled.params.request_id {
                            self.close_request(request);
                        }
                    }
                    _ => {}
                }
                let message = ClientJsonRpcMessage::Notification(notification);
                self.begun.then_some(message)
            }
        }
    }

    /// A message for the client in the form for the client.
    fn incoming(&mut self, message: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
        match message {
            ServerJsonRpcMessage::Response(response) => {
                let request = self.close_request(&response.id);
                if let Some(request @ ClientRequest::InitializeRequest(_)) = request {
                    self.handshake = Some(request);
                }
                ServerJsonRpcMessage::Response(response)
            }
            ServerJsonRpcMessage::Error(error) => {
                if let Some(request) = &error.id {
                    self.close_request(request);
                }
                ServerJsonRpcMessage::Error(error)
            }
            ServerJsonRpcMessage::Request(mut request) => {
                // An answer to a question of a process that has ended must not reach another process.
                let known = match self.lost {
                    0 => request.id.clone(),
                    lost => RequestId::String(format!("{lost}-{}", request.id).into()),
                };
                let own = std::mem::replace(&mut request.id, known.clone());
                self.questions.insert(known, own);
                ServerJsonRpcMessage::Request(request)
            }
            ServerJsonRpcMessage::Notification(mut notification) => {
                if let ServerNotification::CancelledNotification(cancelled) =
                    &mut notification.notification
                    && let Some(own) = cancelled.params.request_id.take()
                {
                    let known = self.close_question(&own);
                    cancelled.params.request_id = known.or(Some(own));
                }
                ServerJsonRpcMessage::Notification(notification)
            }
        }
    }

    /// Removes a request from the unanswered ones.
    fn close_request(&mut self, request: &RequestId) -> Option<ClientRequest> {
        let at = self.open.iter().position(|open| open.id == *request)?;
        Some(self.open.remove(at).request)
    }

    /// Removes a question by the process's id; returns the id as sent to the client.
    fn close_question(&mut self, own: &RequestId) -> Option<RequestId> {
        let mut questions = self.questions.iter();
        let (known, _) = questions.find(|(_, asked)| *asked == own)?;
        let known = known.clone();
        self.questions.remove(&known);
        Some(known)
    }

    /// Repeats the client's handshake for a process without it; `false` when that process ends first.
    async fn repeat_handshake<A: Transport<RoleClient>>(
        &mut self,
        answerer: &mut A,
    ) -> anyhow::Result<bool> {
        let Some(request) = self.handshake.clone() else {
            return Ok(true);
        };
        let id = RequestId::String(TAKEOVER.into());
        let message = ClientJsonRpcMessage::request(request, id.clone());
        if answerer.send(message).await.is_err() {
            return Ok(false);
        }
        loop {
            match answerer.receive().await {
                None => return Ok(false),
                Some(ServerJsonRpcMessage::Response(response)) if response.id == id => break,
                Some(ServerJsonRpcMessage::Error(error)) if error.id.as_ref() == Some(&id) => {
                    let message = error.error.message;
                    bail!("the process that took over rejected the handshake: {message}");
                }
                Some(_) => {}
            }
        }
        let Some(initialized) = self.initialized.clone() else {
            return Ok(true);
        };
        let message = ClientJsonRpcMessage::Notification(initialized);
        Ok(answerer.send(message).await.is_ok())
    }

    /// Prepares for the next process. The request `undelivered` did not reach the one that ended.
    async fn prepare_takeover(
        &mut self,
        undelivered: Option<&RequestId>,
    ) -> anyhow::Result<RelayEnd> {
        self.lost += 1;
        for (question, _) in std::mem::take(&mut self.questions) {
            let reason = "the process that asked has ended".to_owned();
            let params = CancelledNotificationParam::new(Some(question), Some(reason));
            let cancelled = CancelledNotification::new(params);
            let cancelled = ServerNotification::CancelledNotification(cancelled);
            let message = ServerJsonRpcMessage::notification(cancelled);
            self.send_to_client(message).await?;
        }
        let mut repeated = VecDeque::new();
        for request in std::mem::take(&mut self.open) {
            if undelivered == Some(&request.id) || may_repeat(&request.request) {
                repeated.push_back(ClientJsonRpcMessage::Request(request));
                continue;
            }
            let message = "the process that handled this request ended, and another takes over. Recorded runs \
                           continue: see `charter runs list`, or call again";
            let error = ErrorData::internal_error(message, None);
            let refusal = ServerJsonRpcMessage::error(error, Some(request.id));
            self.send_to_client(refusal).await?;
        }
        repeated.append(&mut self.waiting);
        self.waiting = repeated;
        Ok(RelayEnd::AnswererLost)
    }
}

/// The id of a request.
fn request_of(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
        ClientJsonRpcMessage::Response(_)
        | ClientJsonRpcMessage::Notification(_)
        | ClientJsonRpcMessage::Error(_) => None,
    }
}

/// Whether a request changes nothing, so that it may be sent twice.
fn may_repeat(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::CallToolRequest(call) => charter_server::only_reads(&call.params.name),
        ClientRequest::UpdateTaskRequest(_) | ClientRequest::CustomRequest(_) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests;
