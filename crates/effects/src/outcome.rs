//! The outcome of a tool call. Must not know how the call was run.

use std::time::Instant;

use charter_contract::agentic::error::ErrorType;
use serde_json::Value;

/// The outcome of a tool call.
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
        kind: ErrorType,
        /// The cause, secrets redacted. May hold text from the tool.
        message: String,
        /// Whether the same call may succeed later.
        retryable: bool,
        /// Whether the target changed since the call's preview: an HTTP tool received 409 or 412.
        stale: bool,
        /// Whether the tool answered with an unusable answer: its effect may have happened.
        answered: bool,
        /// The end of the tool's log, secrets redacted.
        log: String,
        /// Wall-clock time.
        duration_ms: u64,
    },
}

/// A failure that becomes an outcome; its texts are redacted last.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: ErrorType,
    pub(crate) message: String,
    pub(crate) retryable: bool,
    pub(crate) stale: bool,
    pub(crate) answered: bool,
    pub(crate) log: String,
}

impl Failure {
    pub(crate) fn new(kind: ErrorType, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retryable: false,
            stale: false,
            answered: false,
            log: String::new(),
        }
    }

    /// Creates a failure of this system, not of the call.
    pub(crate) fn system(message: impl Into<String>) -> Self {
        Self::new(ErrorType::SystemError, message)
    }

    /// Creates the failure of a cancelled call.
    pub(crate) fn cancelled() -> Self {
        Self::new(ErrorType::ExecutionError, "the call was cancelled").retryable()
    }

    pub(crate) fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// Marks that the tool answered, and its answer is refused.
    pub(crate) fn answered(mut self) -> Self {
        self.answered = true;
        self
    }

    pub(crate) fn with_log(mut self, log: String) -> Self {
        self.log = log;
        self
    }
}

/// A result that becomes an outcome.
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
                stale: failure.stale,
                answered: failure.answered,
                log: failure.log,
                duration_ms,
            },
        }
    }
}
