//! What came of a tool call. Must not know how the call was run.

use std::time::Instant;

use serde::Deserialize;
use serde_json::Value;

/// The end of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolOutcome {
    /// The tool answered.
    Succeeded {
        /// The tool's result.
        output: Value,
        /// The end of the tool's log, secrets redacted.
        log: String,
        /// Wall-clock time.
        duration_ms: u64,
    },
    /// The tool failed, or could not be run.
    Failed {
        /// The kind of failure.
        kind: FailureKind,
        /// What happened, secrets redacted. May hold text from the tool.
        message: String,
        /// Whether the same call may succeed later.
        retryable: bool,
        /// The end of the tool's log, secrets redacted.
        log: String,
        /// Wall-clock time.
        duration_ms: u64,
    },
}

/// The six error types of `AgentError` (seed 003).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The arguments are wrong.
    InputError,
    /// The tool ran and failed.
    ExecutionError,
    /// Memory, CPU, output, processes or a remote quota ran out.
    ResourceError,
    /// The tool may not do this.
    PermissionError,
    /// Time ran out.
    TimeoutError,
    /// Charter or its machine is at fault.
    SystemError,
}

/// A failure on its way to an outcome; its texts are redacted at the end.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    pub(crate) message: String,
    pub(crate) retryable: bool,
    pub(crate) log: String,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retryable: false,
            log: String::new(),
        }
    }

    pub(crate) fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    pub(crate) fn with_log(mut self, log: String) -> Self {
        self.log = log;
        self
    }
}

/// A result on its way to an outcome.
#[derive(Debug)]
pub(crate) struct Success {
    pub(crate) output: Value,
    pub(crate) log: String,
}

impl ToolOutcome {
    pub(crate) fn since(started: Instant, result: Result<Success, Failure>) -> Self {
        let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        match result {
            Ok(Success { output, log }) => Self::Succeeded {
                output,
                log,
                duration_ms,
            },
            Err(failure) => Self::Failed {
                kind: failure.kind,
                message: failure.message,
                retryable: failure.retryable,
                log: failure.log,
                duration_ms,
            },
        }
    }
}
