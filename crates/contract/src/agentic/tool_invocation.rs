//! Tool calls. Seed 003 names this contract without specifying it: the form is this project's. The arguments are
//! checked where the tool is known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::catalogue::vocabulary::PermissionLevel;
use crate::ids::{InvocationId, PlanStepId, RequestId, SessionId, ToolDefinitionId};
use crate::number::Positive;
use crate::schema::SchemaName;
use crate::text::ShortText;
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(ToolInvocation);

/// One tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ToolInvocation {
    /// Id of the call.
    pub id: InvocationId,
    /// Tool to call.
    pub tool: ToolDefinitionId,
    /// Arguments, by name.
    pub parameters: Map<String, Value>,
    /// Time of the request for the call.
    pub timestamp: Timestamp,
    /// Request that the call serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// Session of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Plan step that the call belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_id: Option<PlanStepId>,
    /// Idempotency key: repeated calls with the same key have the effect once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<ShortText>,
    /// Whether to change nothing (dry run).
    #[serde(default)]
    pub dry_run: bool,
    /// Time limit, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<Positive>,
    /// Permission level of the call.
    #[serde(default)]
    pub permission_level: PermissionLevel,
    /// Additional free-form data.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl Contract for ToolInvocation {
    const NAME: SchemaName = SchemaName::ToolInvocation;

    fn check(&self, _: &mut Report) {}
}
