//! `cancel`: cancels started work.

use std::time::Duration;

use charter_engine::EngineError;
use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::mcp::call::Call;
use crate::mcp::tool::{McpTool, ToolReply};
use crate::mcp::work::{WorkReport, WorkSubject};

/// How long to wait for the end.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

pub(in crate::mcp) struct Cancel;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Input {
    /// The `id` that `run`, `call` or `start_mission` returned, or a run's id.
    id: String,
    /// The reason, for the run's journal.
    reason: Option<String>,
}

impl McpTool for Cancel {
    const NAME: &'static str = "cancel";
    const TITLE: &'static str = "Cancel a request, mission or run";
    const DESCRIPTION: &'static str = "Cancels a request, mission or run that has not ended: nothing new starts. \
        Completed changes are kept.";
    type Input = Input;
    type Output = WorkReport;

    fn annotations() -> ToolAnnotations {
        let hints = ToolAnnotations::new().read_only(false).destructive(true);
        hints.idempotent(true).open_world(false)
    }

    async fn call(call: &Call, input: Input) -> Result<ToolReply<WorkReport>, EngineError> {
        let subject = WorkSubject::parse(&input.id)?;
        let reason = input.reason.as_deref().unwrap_or("the client cancelled it");
        subject.cancel(call.engine(), &call.caller, reason).await?;
        // Being cancelled is the requested outcome here, not a failure.
        Ok(ToolReply::Done(
            subject.status(call, CANCEL_TIMEOUT).await?.work,
        ))
    }
}
