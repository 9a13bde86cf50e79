//! Sessions: a bounded history of turns and an expiry time (B003-11). Seed 003 names this contract without specifying
//! it: the form is this project's.

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
    /// Id of the session.
    pub id: SessionId,
    /// Tenant of the session.
    pub tenant_id: TenantId,
    /// User of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of last use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// Expiry time; from then on the session is over.
    pub expires_at: Timestamp,
    /// Maximum number of turns kept; older turns are dropped.
    pub max_history: Positive,
    /// Turns, oldest first.
    #[serde(default)]
    pub history: Vec<Turn>,
    /// Additional free-form data.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// One turn of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Turn {
    /// Speaker.
    pub role: TurnRole,
    /// Text of the turn.
    pub content: String,
    /// Time of the turn.
    pub timestamp: Timestamp,
    /// Request that the turn belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
}

string_enum! {
    /// Speaker of a turn (this project).
    pub enum TurnRole {
        /// The user acts.
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
