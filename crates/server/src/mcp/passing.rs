//! The exchange between the client of a call and an MCP server behind it: capabilities, messages and questions.

use charter_engine::CallEvent;
use rmcp::model::{
    CustomNotification, CustomRequest, ProgressNotificationParam, ProtocolVersion,
    ServerNotification, ServerRequest, TASKS_EXTENSION_ID,
};
use rmcp::service::PeerRequestOptions;
use serde_json::{Map, Value};

use super::call::{Call, ELICITATION_TIMEOUT};
use super::log_level;

/// The capabilities that a server may rely on, because Charter passes its requests on.
const PASSED: [&str; 3] = ["elicitation", "sampling", "roots"];

impl Call {
    /// The client's capabilities that a server behind the call may rely on.
    pub(super) fn passed_capabilities(&self) -> Map<String, Value> {
        let Ok(Value::Object(mut own)) = serde_json::to_value(self.capabilities()) else {
            return Map::new();
        };
        own.retain(|name, _| PASSED.contains(&name.as_str()));
        if self.takes_tasks() {
            let tasks =
                Map::from_iter([(TASKS_EXTENSION_ID.to_owned(), Value::Object(Map::new()))]);
            own.insert("extensions".to_owned(), Value::Object(tasks));
        }
        own
    }

    /// Whether the client can answer a question of a server.
    pub(super) fn can_answer(&self, question: &Value) -> bool {
        let capability = match question["method"].as_str() {
            Some("elicitation/create") => "elicitation",
            Some("sampling/createMessage") => "sampling",
            Some("roots/list") => "roots",
            Some(_) | None => return false,
        };
        self.passed_capabilities().contains_key(capability)
    }

    /// Whether the client answers questions by calling again (2026-07-28).
    pub(super) fn has_rounds(&self) -> bool {
        let version = self.context.protocol_version();
        version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
    }

    /// Puts a server's question to the client during the call; `None` if the client does not answer.
    pub(super) async fn put_inline(&self, question: &Value) -> Option<Value> {
        let method = question["method"].as_str()?;
        let request = CustomRequest::new(method, question.get("params").cloned());
        let request = ServerRequest::CustomRequest(request);
        let options = PeerRequestOptions::with_timeout(ELICITATION_TIMEOUT);
        let sent = self.context.peer.send_request_with_option(request, options);
        let answer = match sent.await {
            Ok(sent) => sent.await_response().await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(answer) => serde_json::to_value(answer).ok(),
            Err(error) => {
                tracing::debug!(error = %error, "a client did not answer a server's question");
                None
            }
        }
    }

    /// Sends messages of a running call to the client, as far as it wants them.
    pub(super) async fn forward(&self, events: Vec<CallEvent>) {
        for event in events {
            let sent = match event {
                CallEvent::Progress {
                    progress,
                    total,
                    message,
                } => {
                    let Some(token) = self.context.meta.get_progress_token() else {
                        continue;
                    };
                    let mut param =
                        ProgressNotificationParam::new(token, self.progress_sent + progress);
                    param.total = total.map(|total| self.progress_sent + total);
                    param.message = message;
                    self.context.peer.notify_progress(param).await
                }
                CallEvent::Log(log) => {
                    let least = self.log_level.as_deref();
                    if !least.is_some_and(|least| log_level::admits(least, &log)) {
                        continue;
                    }
                    let log = Some(Value::Object(log));
                    let message = CustomNotification::new("notifications/message", log);
                    let message = ServerNotification::CustomNotification(message);
                    self.context.peer.send_notification(message).await
                }
            };
            if let Err(error) = sent {
                tracing::debug!(error = %error, "a message was not sent to a client");
            }
        }
    }
}
