//! The handshake with a slow server: handles answers that arrive after their request was abandoned.
//!
//! The SDK sends `server/discover` first and, without an answer in ten seconds, sends `initialize`. A server that was
//! still starting answers both. The SDK treats the late answer as a fault; this filter drops it, and records the
//! server's support of `server/discover`. Must not know how messages are transported.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, RequestId, ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;

/// Whether a late answer showed that a server knows `server/discover`.
#[derive(Debug, Clone, Default)]
pub(super) struct DiscoverSupport(Arc<AtomicBool>);

impl DiscoverSupport {
    pub(super) fn get(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Transports messages, without answers to abandoned requests.
pub(super) struct LateAnswerFilter<T> {
    inner: T,
    question: Question,
    newest: DiscoverSupport,
}

/// State of the `server/discover` request.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Question {
    /// It was not sent, or it was answered.
    None,
    /// The SDK waits for the answer to the request of this id.
    Asked(RequestId),
    /// The SDK no longer waits for the answer.
    GivenUp(RequestId),
}

impl<T> LateAnswerFilter<T> {
    pub(super) fn new(inner: T, newest: DiscoverSupport) -> Self {
        Self {
            inner,
            question: Question::None,
            newest,
        }
    }

    fn sends(&mut self, message: &ClientJsonRpcMessage) {
        let ClientJsonRpcMessage::Request(request) = message else {
            return;
        };
        match (&request.request, &self.question) {
            (ClientRequest::DiscoverRequest(_), _) => {
                self.question = Question::Asked(request.id.clone());
            }
            (ClientRequest::InitializeRequest(_), Question::Asked(id)) => {
                self.question = Question::GivenUp(id.clone());
            }
            _ => {}
        }
    }

    /// Whether a message answers an abandoned request.
    fn is_late(&mut self, message: &ServerJsonRpcMessage) -> bool {
        let (answered, knows) = match message {
            ServerJsonRpcMessage::Response(response) => (
                Some(&response.id),
                matches!(response.result, ServerResult::DiscoverResult(_)),
            ),
            ServerJsonRpcMessage::Error(error) => (error.id.as_ref(), false),
            ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => {
                return false;
            }
        };
        // An error without an id answers the first request.
        let is_of = |asked: &RequestId| answered.is_none_or(|id| is_the_same(asked, id));
        let (in_time, late) = match &self.question {
            Question::None => (false, false),
            Question::Asked(asked) => (is_of(asked), false),
            Question::GivenUp(asked) => (false, is_of(asked)),
        };
        if in_time || late {
            self.question = Question::None;
        }
        if late && knows {
            self.newest.0.store(true, Ordering::SeqCst);
        }
        late
    }
}

/// Compares ids: some servers answer a number as text.
fn is_the_same(asked: &RequestId, answered: &RequestId) -> bool {
    asked == answered || asked.to_string() == answered.to_string()
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for LateAnswerFilter<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.sends(&item);
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let message = self.inner.receive().await?;
            if !self.is_late(&message) {
                return Some(message);
            }
            tracing::debug!("an MCP server answered `server/discover` after its timeout");
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

#[cfg(test)]
mod tests {
    use charter_contract::ids::Label;
    use rmcp::service::serve_client_with_lifecycle;
    use rmcp::transport::async_rw::AsyncRwTransport;
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    use tokio::sync::Notify;

    use super::super::connect::{Handshake, Listener, lifecycle};
    use super::super::interactions::Interactions;
    use super::*;
    use crate::redact::Redactor;

    /// Runs a handshake with a server that reads its first message after a number of seconds, and answers each with
    /// `answer`.
    async fn shaken(
        handshake: Handshake,
        seconds: u64,
        answer: impl Fn(&Value) -> Vec<Value> + Send + 'static,
    ) -> (Result<(), String>, bool) {
        let (near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_secs(seconds)).await;
            let (read, mut write) = tokio::io::split(far);
            let mut lines = BufReader::new(read).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let asked: Value = serde_json::from_str(&line).unwrap();
                for answer in answer(&asked) {
                    let line = format!("{answer}\n");
                    write.write_all(line.as_bytes()).await.unwrap();
                }
            }
        });
        let (read, write) = tokio::io::split(near);
        let newest = DiscoverSupport::default();
        let transport = AsyncRwTransport::new_client(read, write);
        let transport = LateAnswerFilter::new(transport, newest.clone());
        let listener = Listener {
            changed: Arc::new(Notify::new()),
            interactions: Interactions::new(Label::parse("slow").unwrap(), Redactor::new(&[])),
            asks: false,
        };
        let opened: Result<_, rmcp::service::ClientInitializeError> =
            serve_client_with_lifecycle(listener, transport, lifecycle(handshake)).await;
        let opened = opened.map(drop).map_err(|error| error.to_string());
        (opened, newest.get())
    }

    fn refused(asked: &Value, id: &Value) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": format!("no {}", asked["method"])}})
    }

    fn welcome(asked: &Value) -> Value {
        json!({"jsonrpc": "2.0", "id": asked["id"], "result": {
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "slow", "version": "1"},
        }})
    }

    /// Builds an older server that does not know `server/discover`.
    fn older(id: fn(&Value) -> Value) -> impl Fn(&Value) -> Vec<Value> {
        move |asked| match asked["method"].as_str() {
            Some("initialize") => vec![welcome(asked)],
            Some("server/discover") => vec![refused(asked, &id(asked))],
            _ => vec![],
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_older_server_connects_after_any_late_answer() {
        let as_it_is: fn(&Value) -> Value = |asked| asked["id"].clone();
        let as_text: fn(&Value) -> Value = |asked| json!(asked["id"].to_string());
        let without: fn(&Value) -> Value = |_| Value::Null;
        for seconds in [0, 11, 45] {
            for id in [as_it_is, as_text, without] {
                let (opened, newest) = shaken(Handshake::Newest, seconds, older(id)).await;
                assert_eq!((opened, newest), (Ok(()), false), "{seconds} s");
            }
        }
    }

    /// If `initialize` is refused, the handshake fails, even after a late answer.
    #[tokio::test(start_paused = true)]
    async fn the_answer_to_initialize_is_accepted_after_a_late_answer() {
        let refuses = |asked: &Value| vec![refused(asked, &asked["id"])];
        let (opened, newest) = shaken(Handshake::Newest, 11, refuses).await;
        let said = opened.unwrap_err();
        assert!(said.contains("initialize"), "{said}");
        assert!(!newest);
    }

    /// A slow server of the newest revision is recognised by its late answer; the second attempt has its whole start
    /// timeout.
    #[tokio::test(start_paused = true)]
    async fn a_slow_newer_server_is_recognised_by_its_late_answer() {
        let answer = |asked: &Value| match asked["method"].as_str() {
            Some("server/discover") => {
                vec![json!({"jsonrpc": "2.0", "id": asked["id"], "result": {
                    "resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {}}, "serverInfo": {"name": "slow", "version": "1"},
                    "ttlMs": 0, "cacheScope": "private",
                }})]
            }
            Some(_) => vec![refused(asked, &asked["id"])],
            None => vec![],
        };
        let (opened, newest) = shaken(Handshake::Newest, 11, answer).await;
        assert!(opened.is_err());
        assert!(newest);
        for (handshake, seconds) in [
            (Handshake::NewestAlone, 11),
            (Handshake::NewestAlone, 45),
            (Handshake::Newest, 0),
        ] {
            let (opened, newest) = shaken(handshake, seconds, answer).await;
            assert_eq!(
                (opened, newest),
                (Ok(()), false),
                "{handshake:?} {seconds} s"
            );
        }
    }
}
