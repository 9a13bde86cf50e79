//! Results of tool calls. Seed 003 names this contract without specifying it: the form is this project's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::ErrorType;
use crate::ids::{EvidenceId, InvocationId, ToolDefinitionId};
use crate::number::{Count, Positive};
use crate::schema::SchemaName;
use crate::text::{ShortText, Text};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(ToolResult, ToolFailure);

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ToolResult {
    /// Id of the call.
    pub invocation_id: InvocationId,
    /// The called tool.
    pub tool: ToolDefinitionId,
    /// End time.
    pub timestamp: Timestamp,
    /// Status of the call.
    pub status: ToolStatus,
    /// Result returned by the tool; null means no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Failure, if the call did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolFailure>,
    /// Duration of the last attempt, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_time_ms: Option<Count>,
    /// Number of attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<Positive>,
    /// Whether the result was served from the cache.
    #[serde(default)]
    pub from_cache: bool,
    /// Ids of the supporting evidence records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_ids: Vec<EvidenceId>,
    /// Additional free-form data.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

string_enum! {
    /// Status of a tool call (this project).
    pub enum ToolStatus {
        /// The call returned a result.
        Success = "success",
        /// The call failed.
        Error = "error",
        /// The call exceeded its time limit.
        Timeout = "timeout",
        /// The call was not permitted.
        Denied = "denied",
    }
}

/// Failure of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ToolFailure {
    /// One of the six error types.
    pub error_type: ErrorType,
    /// Error code, more specific than the type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<ShortText>,
    /// The failure message.
    pub message: Text,
}

impl Contract for ToolResult {
    const NAME: SchemaName = SchemaName::ToolResult;

    fn check(&self, report: &mut Report) {
        let succeeded = self.status == ToolStatus::Success;
        if succeeded && self.error.is_some() {
            report.consistency(
                "/error",
                "status",
                "a successful call cannot have an error".to_owned(),
            );
        }
        if !succeeded && self.error.is_none() {
            let message = format!("a call that ended with {} needs an error", self.status);
            report.meaning("/error", "required", message);
        }
        if !succeeded && self.result.is_some() {
            let message = format!(
                "a call that ended with {} cannot have a result",
                self.status
            );
            report.consistency("/result", "status", message);
        }
    }
}
