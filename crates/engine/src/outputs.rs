//! The one admission of outputs: whoever ran a tool, what it gave is measured before it becomes a part of a run, of
//! evidence or of an answer, all of which put more around it. Must not know how a tool is run, nor what it declares.

use std::sync::Arc;

use async_trait::async_trait;
use charter_contract::json::{Profile, TooMuch, extent_of};
use charter_domain::run::ErrorKind;
use charter_effects::{ToolCall, ToolOutcome, ToolRunner};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Runs tools and admits their outputs.
pub(crate) struct Admitting(pub(crate) Arc<dyn ToolRunner>);

#[async_trait]
impl ToolRunner for Admitting {
    async fn run(&self, call: ToolCall, cancel: CancellationToken) -> ToolOutcome {
        match self.0.run(call, cancel).await {
            ToolOutcome::Succeeded {
                output,
                log,
                duration_ms,
            } => match admit(&output) {
                Ok(()) => ToolOutcome::Succeeded {
                    output,
                    log,
                    duration_ms,
                },
                Err(much) => ToolOutcome::Failed {
                    kind: ErrorKind::ExecutionError,
                    message: format!("its output {much}"),
                    retryable: false,
                    stale: false,
                    answered: true,
                    log,
                    duration_ms,
                },
            },
            failed @ ToolOutcome::Failed { .. } => failed,
        }
    }
}

/// Whether a value may be an output.
///
/// # Errors
/// [`TooMuch`].
pub(crate) fn admit(output: &Value) -> Result<(), TooMuch> {
    extent_of(output, Profile::OUTPUT).map(|_| ())
}
