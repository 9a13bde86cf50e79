//! The log messages that a client wants: it names the least severe level, for its session (`logging/setLevel`, before
//! revision 2026-07-28) or for one request. Only messages of MCP servers about pinned tools are sent.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::{Map, Value};

/// The levels of the protocol, least severe first.
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// The key of the level in a request's metadata (revision 2026-07-28).
const KEY: &str = "io.modelcontextprotocol/logLevel";

/// The level of a session; none until the client sets one. Clones are the same session's.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionLogLevel(Arc<Mutex<Option<String>>>);

impl SessionLogLevel {
    pub(super) fn set(&self, level: String) {
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *own = Some(level);
    }

    /// Returns the level of a request: its own, or that of its session.
    pub(super) fn of(&self, context: &RequestContext<RoleServer>) -> Option<String> {
        let own = context.meta.get(KEY).and_then(Value::as_str);
        let own = own.filter(|level| LEVELS.contains(level));
        own.map(str::to_owned).or_else(|| {
            let session = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            session.clone()
        })
    }
}

/// Whether a client that wants messages from `least` on gets this one. A message of unknown severity is not sent.
pub(super) fn admits(least: &str, message: &Map<String, Value>) -> bool {
    let severity = |level: &str| LEVELS.iter().position(|known| *known == level);
    let level = message.get("level").and_then(Value::as_str);
    match (severity(least), level.and_then(severity)) {
        (Some(least), Some(level)) => level >= least,
        (None, _) | (_, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn less_severe_messages_than_the_client_wants_are_not_sent() {
        let message = |level: &str| json!({"level": level}).as_object().cloned().unwrap();
        for (least, level, sent) in [
            ("debug", "debug", true),
            ("warning", "error", true),
            ("warning", "info", false),
            ("warning", "loud", false),
            ("loud", "error", false),
        ] {
            assert_eq!(admits(least, &message(level)), sent, "{least} {level}");
        }
    }
}
