//! Results of tool calls. Seed 003 names this contract and gives no text: the form
//! is this project's.

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

/// What a call of a tool came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ToolResult {
    /// The call.
    pub invocation_id: InvocationId,
    /// The tool.
    pub tool: ToolDefinitionId,
    /// When it ended.
    pub timestamp: Timestamp,
    /// How it ended.
    pub status: ToolStatus,
    /// What the tool returned; a null is no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why there is no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolFailure>,
    /// How long the last attempt took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_time_ms: Option<Count>,
    /// How often it was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<Positive>,
    /// Whether an earlier result was used.
    #[serde(default)]
    pub from_cache: bool,
    /// Records that prove it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_ids: Vec<EvidenceId>,
    /// Anything else about it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

string_enum! {
    /// How a call ended (this project).
    pub enum ToolStatus {
        /// With a result.
        Success = "success",
        /// With an error.
        Error = "error",
        /// Not in time.
        Timeout = "timeout",
        /// It was not allowed.
        Denied = "denied",
    }
}

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ToolFailure {
    /// One of the six types.
    pub error_type: ErrorType,
    /// The code, more exact than the type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<ShortText>,
    /// What went wrong.
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
