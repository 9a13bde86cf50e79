//! What passes between a server and an executor (this project; seed 000 §2.4,
//! `execution_target`): a call of a client tool, and what came of it. No value of an environment
//! variable travels in either direction, only names. Leasing is the engine's business.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::catalogue::tool::{HttpMethod, VariableName, is_package_path};
use crate::error_code::ErrorType;
use crate::ids::{LeaseId, ToolId};
use crate::number::{Count, Positive};
use crate::schema::SchemaName;
use crate::text::{ShortText, Text};
use crate::validate::Contract;
use crate::violation::Report;

object_only!(
    ExecutorCall,
    ExecutorImplementation,
    ExecutorOutcome,
    ExecutorResult,
);

/// Longest message of a failure, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 8 << 10;

/// Longest log, in bytes.
pub const MAX_LOG_BYTES: usize = 64 << 10;

/// One call of a client tool, leased to one executor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ExecutorCall {
    /// The executor's hold on the call. Each time the call is offered it is another one.
    pub lease_id: LeaseId,
    /// For how long the call is held after this answer, and after each renewal.
    pub lease_ms: Positive,
    /// The tool, for logs and messages.
    pub tool_id: ToolId,
    /// What to run.
    pub implementation: ExecutorImplementation,
    /// The arguments: resolved, checked, defaults filled in.
    pub parameters: Map<String, Value>,
    /// Whether to say what would be done instead of doing it.
    pub dry_run: bool,
    /// The same for every attempt of one effect.
    pub idempotency_key: Text,
    /// Who decides what the call is granted; `asked` when absent.
    #[serde(default, skip_serializing_if = "ExecutorGrants::is_asked")]
    pub grants: ExecutorGrants,
    /// Names of the variables that the tool asks for; the executor decides which it grants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<VariableName>,
    /// Host patterns of the tool's own list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub egress: Vec<Text>,
    /// What is left of the call's time. It is a span, because clocks differ.
    pub timeout_ms: Positive,
    /// Largest output that is taken, in bytes of JSON.
    pub output_bytes: Positive,
}

/// What an executor runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    deny_unknown_fields,
    remote = "Self"
)]
pub enum ExecutorImplementation {
    /// A script of a package version.
    Script {
        /// The interpreter.
        language: ScriptLanguage,
        /// Its path among the files.
        entry: Text,
        /// Digest of the files that it may open or import, which the lease gives access to.
        files: ShortText,
    },
    /// An HTTP exchange with placeholders.
    Http {
        /// The method.
        method: HttpMethod,
        /// The link.
        url: Text,
        /// Headers.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
        /// Query parameters.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        query: Map<String, Value>,
        /// The body, sent as JSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<Value>,
    },
    /// What the executor brings for the tool, which has no implementation of its own (seed 000 §2.4).
    Handler {},
}

string_enum! {
    /// Who decides what a call is granted.
    #[derive(Default)]
    pub enum ExecutorGrants {
        /// The tool asks by name, and the executor grants what it has of that.
        #[default]
        Asked = "asked",
        /// The executor alone: the tool has no implementation, and so asks for nothing.
        Own = "own",
    }
}

impl ExecutorGrants {
    fn is_asked(&self) -> bool {
        *self == Self::Asked
    }
}

string_enum! {
    /// The languages of scripts.
    pub enum ScriptLanguage {
        /// Python 3.
        Python = "python",
        /// A shell script.
        Bash = "bash",
    }
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ExecutorOutcome {
    /// How it ended.
    pub result: ExecutorResult,
    /// The end of the tool's log, secrets redacted; at most 65536 bytes.
    #[serde(default)]
    pub log: String,
    /// Wall-clock time.
    pub duration_ms: Count,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "status",
    rename_all = "snake_case",
    deny_unknown_fields,
    remote = "Self"
)]
pub enum ExecutorResult {
    /// The tool answered.
    Succeeded {
        /// Its result.
        output: Value,
    },
    /// The tool failed, or could not be run.
    Failed {
        /// The kind of failure.
        error_type: ErrorType,
        /// What happened, secrets redacted; at most 8192 bytes.
        message: Text,
        /// Whether the same call may succeed later.
        retryable: bool,
        /// Whether what was to be changed is not as the call expected it: an HTTP tool was answered 409 or
        /// 412. False when absent.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stale: bool,
        /// Whether the tool answered, and its answer cannot be used: it may have done what it was asked. False when
        /// absent.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        answered: bool,
    },
}

impl Contract for ExecutorCall {
    const NAME: SchemaName = SchemaName::ExecutorCall;

    fn check(&self, report: &mut Report) {
        if let ExecutorImplementation::Script { entry, .. } = &self.implementation
            && !is_package_path(entry.as_str())
        {
            let message = format!("`{entry}` does not stay inside the package");
            report.meaning("/implementation/entry", "relative_path", message);
        }
    }
}

impl Contract for ExecutorOutcome {
    const NAME: SchemaName = SchemaName::ExecutorOutcome;

    fn check(&self, report: &mut Report) {
        let message = match &self.result {
            ExecutorResult::Succeeded { .. } => 0,
            ExecutorResult::Failed { message, .. } => message.as_str().len(),
        };
        let bounded = [
            ("/result/message", message, MAX_MESSAGE_BYTES),
            ("/log", self.log.len(), MAX_LOG_BYTES),
        ];
        for (pointer, bytes, limit) in bounded {
            if bytes > limit {
                let message = format!("{bytes} bytes; the limit is {limit}");
                report.meaning(pointer, "max_bytes", message);
            }
        }
    }
}
