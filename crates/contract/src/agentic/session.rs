//! Sessions: a bounded history of turns and an end (B003-11). Seed 003 names this
//! contract and gives no text: the form is this project's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{RequestId, SessionId, TenantId, UserId};
use crate::number::Positive;
use crate::schema::SchemaName;
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(Session, Turn);

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Its tenant.
    pub tenant_id: TenantId,
    /// Its user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// When it was started.
    pub created_at: Timestamp,
    /// When it was used last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// From then on it is over.
    pub expires_at: Timestamp,
    /// Most turns that are kept; older ones are dropped.
    pub max_history: Positive,
    /// The turns, oldest first.
    #[serde(default)]
    pub history: Vec<Turn>,
    /// Anything else about it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Turn {
    /// Who spoke.
    pub role: TurnRole,
    /// What was said.
    pub content: String,
    /// When.
    pub timestamp: Timestamp,
    /// The request it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
}

string_enum! {
    /// Who spoke (this project).
    pub enum TurnRole {
        /// The user.
        User = "user",
        /// The system.
        Assistant = "assistant",
        /// A tool.
        Tool = "tool",
    }
}

impl Contract for Session {
    const NAME: SchemaName = SchemaName::Session;

    fn check(&self, report: &mut Report) {
        if self.expires_at <= self.created_at {
            let message = format!(
                "the session ends at {}, which is not after its start",
                self.expires_at
            );
            report.meaning("/expires_at", "order", message);
        }
        if self.history.len() as u64 > self.max_history.get() {
            let message = format!(
                "{} turns; the limit of the session is {}",
                self.history.len(),
                self.max_history
            );
            report.consistency("/history", "max_history", message);
        }
        for (at, pair) in self.history.windows(2).enumerate() {
            if pair[1].timestamp < pair[0].timestamp {
                let message = format!("{} is earlier than the previous turn", pair[1].timestamp);
                report.consistency(format!("/history/{}/timestamp", at + 1), "order", message);
            }
        }
    }
}
