//! The exchange between a server and an executor (this project; seed 000 §2.4, `execution_target`): the call of a
//! client tool and its outcome. It carries names of environment variables, never their values. The engine manages the
//! leases.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::catalogue::tool::{BodyFormat, HttpMethod, VariableName, is_package_path};
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

/// Maximum length of a failure message, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 8 << 10;

/// Maximum length of a log, in bytes.
pub const MAX_LOG_BYTES: usize = 64 << 10;

/// One call of a client tool, leased to one executor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ExecutorCall {
    /// Id of the executor's lease on the call. Each offer of the call has a new one.
    pub lease_id: LeaseId,
    /// Length of the lease after this response and after each renewal, in milliseconds.
    pub lease_ms: Positive,
    /// Id of the tool, for logs and messages.
    pub tool_id: ToolId,
    /// Implementation to run.
    pub implementation: ExecutorImplementation,
    /// Arguments: resolved, checked, with defaults filled in.
    pub parameters: Map<String, Value>,
    /// Whether to report the intended effect without executing it (dry run).
    pub dry_run: bool,
    /// Idempotency key; the same for every attempt of one effect.
    pub idempotency_key: Text,
    /// Source of the call's grants; `asked` when absent.
    #[serde(default, skip_serializing_if = "ExecutorGrants::is_asked")]
    pub grants: ExecutorGrants,
    /// Names of the environment variables that the tool needs; the executor decides which it grants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<VariableName>,
    /// Host patterns on the tool's egress list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub egress: Vec<Text>,
    /// Remaining time of the call, in milliseconds. It is a duration because clocks differ.
    pub timeout_ms: Positive,
    /// Maximum size of the output, in bytes of JSON.
    pub output_bytes: Positive,
}

/// The implementation that an executor runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    deny_unknown_fields,
    remote = "Self"
)]
pub enum ExecutorImplementation {
    /// A script from a package version.
    Script {
        /// Interpreter of the script.
        language: ScriptLanguage,
        /// Path of the script among the files.
        entry: Text,
        /// Digest of the files that the script may open or import; the lease gives access to them.
        files: ShortText,
    },
    /// An HTTP exchange with placeholders.
    Http {
        /// HTTP method.
        method: HttpMethod,
        /// URL.
        url: Text,
        /// HTTP headers.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
        /// Query parameters.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        query: Map<String, Value>,
        /// Separators of lists in query parameters, by name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        list_separators: BTreeMap<String, String>,
        /// Request body.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<Value>,
        /// Format in which the body is sent.
        #[serde(default, skip_serializing_if = "BodyFormat::is_json")]
        body_format: BodyFormat,
    },
    /// The executor's own handler, for a tool without an implementation (seed 000 §2.4).
    Handler {},
}

string_enum! {
    /// Source of a call's grants.
    #[derive(Default)]
    pub enum ExecutorGrants {
        /// The tool lists its needs, and the executor grants those that it has.
        #[default]
        Asked = "asked",
        /// The executor alone decides: the tool has no implementation and therefore lists no needs.
        Own = "own",
    }
}

impl ExecutorGrants {
    fn is_asked(&self) -> bool {
        *self == Self::Asked
    }
}

string_enum! {
    /// Language of a script.
    pub enum ScriptLanguage {
        /// Python 3.
        Python = "python",
        /// A shell script.
        Bash = "bash",
    }
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ExecutorOutcome {
    /// Result of the call.
    pub result: ExecutorResult,
    /// End of the tool's log, secrets redacted; at most 65536 bytes.
    #[serde(default)]
    pub log: String,
    /// Wall-clock duration, in milliseconds.
    pub duration_ms: Count,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "status",
    rename_all = "snake_case",
    deny_unknown_fields,
    remote = "Self"
)]
pub enum ExecutorResult {
    /// The tool returned an output.
    Succeeded {
        /// Output of the tool.
        output: Value,
    },
    /// The tool failed or could not run.
    Failed {
        /// Type of the failure.
        error_type: ErrorType,
        /// Failure message, secrets redacted; at most 8192 bytes.
        message: Text,
        /// Whether the same call may succeed later.
        retryable: bool,
        /// Whether the target differs from the state that the call expected: an HTTP tool received 409 or 412. False
        /// when absent.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stale: bool,
        /// Whether the tool responded with an unusable result, so that it may have had its effect. False when absent.
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
