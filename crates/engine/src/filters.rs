//! jq filters of packages, run in the sandbox: a filter may loop or grow, and whoever wrote it is
//! not trusted with this process.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{TenantId, ToolId};
use charter_effects::{
    DryRun, Language, Limits, PackageFiles, ScriptTool, Target, ToolCall, ToolImplementation,
    ToolOutcome,
};
use serde_json::{Map, Value, json};

use crate::{Engine, EngineError};

/// Where the program stands among the files of its call.
const PROGRAM: &str = "filter.jq";

/// Longest run of one filter.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Most memory of one filter, in bytes of address space.
const MEMORY: u64 = 1 << 30;

/// Filters that run at once: each is a process that does nothing but compute, so more than there are
/// processors would only take them from each other, and from this process, which has leases to renew.
pub(crate) fn at_once() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

impl Engine {
    /// Everything that a filter of a tenant's emits for an input, at most `limit` values. `what` names the
    /// filter in messages.
    ///
    /// # Errors
    /// `tool_failed` or `tool_timeout`: the package's fault, said as such; `unavailable` when the engine
    /// stops first.
    pub(crate) async fn filter(
        &self,
        tenant: &TenantId,
        what: &str,
        program: &str,
        input: &Value,
        limit: usize,
    ) -> Result<Vec<Value>, EngineError> {
        let files = BTreeMap::from([(PROGRAM.to_owned(), program.to_owned())]);
        let files = PackageFiles::new(files)
            .map_err(|error| EngineError::internal("preparing a filter", error))?;
        let parameters: Map<String, Value> = [
            ("input".to_owned(), input.clone()),
            ("limit".to_owned(), json!(limit)),
        ]
        .into_iter()
        .collect();
        let call = ToolCall {
            tool_id: ToolId::parse("charter.filter")
                .map_err(|error| EngineError::internal("naming a filter", error))?,
            implementation: ToolImplementation::Script(ScriptTool {
                language: Language::Filter,
                entry: PROGRAM.to_owned(),
                files: Arc::new(files),
            }),
            target: Target::Here,
            parameters,
            dry_run: DryRun::No,
            limits: Limits {
                timeout: TIMEOUT,
                cpu_seconds: TIMEOUT.as_secs(),
                memory_bytes: MEMORY,
                ..Limits::default()
            },
            environment: Vec::new(),
            egress: Vec::new(),
            readable: Vec::new(),
            idempotency_key: what.to_owned(),
        };
        let _place = self.filter_slots().take(tenant).await;
        match self.tools().run(call, self.shutdown().child_token()).await {
            ToolOutcome::Succeeded {
                output: Value::Array(emitted),
                ..
            } => Ok(emitted),
            ToolOutcome::Succeeded { .. } => {
                Err(EngineError::internal("running a filter", "it gave no list"))
            }
            // Cut off by this process's end, which says nothing of the package.
            ToolOutcome::Failed { .. } if self.shutdown().is_cancelled() => {
                Err(EngineError::interrupted())
            }
            ToolOutcome::Failed { kind, message, .. } => {
                Err(EngineError::new(failed(kind), format!("{what}: {message}")))
            }
        }
    }
}

fn failed(kind: charter_contract::agentic::error::ErrorType) -> ErrorCode {
    use charter_contract::agentic::error::ErrorType;
    match kind {
        ErrorType::TimeoutError => ErrorCode::ToolTimeout,
        ErrorType::InputError
        | ErrorType::ExecutionError
        | ErrorType::ResourceError
        | ErrorType::PermissionError
        | ErrorType::SystemError => ErrorCode::ToolFailed,
    }
}
