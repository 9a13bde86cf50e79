//! `call`: one tool, as a plan of one step, so that the gate, the journal and evidence apply as everywhere else. Its
//! arguments are literal: `${…}` in them is plain text.

use charter_contract::ids::PlanId;
use charter_engine::{EngineError, SubmittedPlan};
use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::mcp::call::Call;
use crate::mcp::question::AnswerOutcome;
use crate::mcp::tool::{McpTool, ToolReply};
use crate::mcp::work::{WorkReport, WorkSubject};

pub(in crate::mcp) struct CallOne;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Input {
    /// The tool's exact id, from `find`.
    tool_id: String,
    /// Values for its parameters, as `open` describes them. They are passed on unchanged.
    #[serde(default)]
    parameters: Map<String, Value>,
    /// Show what a change would do, and change nothing.
    #[serde(default)]
    dry_run: bool,
}

impl McpTool for CallOne {
    const NAME: &'static str = "call";
    const TITLE: &'static str = "Call one tool";
    const DESCRIPTION: &'static str = "Calls one tool of the catalogue. A readonly tool is called immediately and \
        returns its output; a tool that changes something waits for a person to confirm and approve exactly this \
        call. Policies and guardrails are evaluated each time. Prefer `run` if a skill answers the question.";
    type Input = Input;
    type Output = WorkReport;

    fn annotations() -> ToolAnnotations {
        let hints = ToolAnnotations::new().read_only(false).destructive(true);
        hints.idempotent(false).open_world(true)
    }

    async fn call(call: &Call, input: Input) -> Result<ToolReply<WorkReport>, EngineError> {
        if let Some((pending, applied)) = call.answered().await? {
            let subject = WorkSubject::Run(pending.run()?.clone());
            return subject.resume(call, &applied).await;
        }
        let tool = call
            .engine()
            .documents()
            .resolve_tool(&call.caller, &input.tool_id)?;
        if !call
            .engine()
            .tool_search()
            .may_call(&call.caller, tool.document())
        {
            return Err(EngineError::not_found("tool", &input.tool_id));
        }
        let plan = SubmittedPlan::Call {
            plan: PlanId::from_uuid(Uuid::now_v7()),
            tool: tool.document().tool_id.clone(),
            values: input.parameters,
            timeout_ms: None,
        };
        let run = call
            .engine()
            .run_starts()
            .start_plan(&call.caller, &plan, Map::new(), input.dry_run.into(), None)
            .await?;
        let subject = WorkSubject::Run(run.run().summary.run_id);
        subject.resume(call, &AnswerOutcome::Acted).await
    }
}
