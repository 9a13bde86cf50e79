//! Calls of tools. Seed 003 names this contract and gives no text: the form is this
//! project's. Whether the arguments fit is checked where the tool is known.

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

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ToolInvocation {
    /// Its id.
    pub id: InvocationId,
    /// The tool.
    pub tool: ToolDefinitionId,
    /// The arguments, by name.
    pub parameters: Map<String, Value>,
    /// When it was asked for.
    pub timestamp: Timestamp,
    /// The request it serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// The session it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The step of a plan it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_id: Option<PlanStepId>,
    /// Names the effect, so that it is carried out once however often it is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<ShortText>,
    /// Nothing is changed.
    #[serde(default)]
    pub dry_run: bool,
    /// Time limit, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<Positive>,
    /// With whose permission it is called.
    #[serde(default)]
    pub permission_level: PermissionLevel,
    /// Anything else about it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl Contract for ToolInvocation {
    const NAME: SchemaName = SchemaName::ToolInvocation;

    fn check(&self, _: &mut Report) {}
}
