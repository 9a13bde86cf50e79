//! `status`: the status of started work.

use std::time::Duration;

use charter_engine::EngineError;
use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::mcp::call::Call;
use crate::mcp::settle::reply;
use crate::mcp::tool::{McpTool, ToolReply};
use crate::mcp::work::{WorkReport, WorkSubject};

pub(in crate::mcp) struct Status;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Input {
    /// The `id` that `run`, `call` or `start_mission` returned, or a run's id.
    id: String,
}

impl McpTool for Status {
    const NAME: &'static str = "status";
    const TITLE: &'static str = "Show the status of a request, mission or run";
    const DESCRIPTION: &'static str = "Shows the status of a started request, mission or run: whether it is running, \
        what it waits for, or its answer with evidence.";
    type Input = Input;
    type Output = WorkReport;

    fn annotations() -> ToolAnnotations {
        ToolAnnotations::new().read_only(true).open_world(false)
    }

    async fn call(call: &Call, input: Input) -> Result<ToolReply<WorkReport>, EngineError> {
        let standing = WorkSubject::parse(&input.id)?
            .status(call, Duration::ZERO)
            .await?;
        Ok(reply(standing.work))
    }
}
