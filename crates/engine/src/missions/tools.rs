//! The tools of new steps, in their current versions.

use std::sync::Arc;

use charter_contract::catalogue::DocumentKind;
use charter_contract::ids::ToolId;
use charter_domain::catalogue::View;
use charter_domain::mission::RequestedCall;
use charter_domain::run::DocumentPin;

use super::MissionStageService;
use super::stage::StageExecution;
use crate::EngineError;
use crate::execution::runs::{PinnedTool, pin};

impl MissionStageService {
    /// Returns the tools of new steps in their current versions, each with its pin.
    pub(super) async fn tools_of(
        &self,
        work: &StageExecution,
        calls: &[RequestedCall],
    ) -> Result<Vec<(DocumentPin, PinnedTool)>, EngineError> {
        let view = self.catalogue.live().view(&work.caller.tenant);
        let mut tools = Vec::new();
        for id in distinct(calls) {
            tools.push(self.tool_of(&view, id).await?);
        }
        Ok(tools)
    }

    async fn tool_of(
        &self,
        view: &View,
        id: &ToolId,
    ) -> Result<(DocumentPin, PinnedTool), EngineError> {
        let found = view
            .tool(id.as_ref())
            .ok_or_else(|| EngineError::not_found("tool", id))?;
        let pin = pin(DocumentKind::Tool, id.as_ref(), &found.entry);
        let files = self.pinned.package_files(&found.entry.origin).await?;
        Ok((
            pin,
            PinnedTool {
                entry: Arc::clone(&found.entry),
                files,
            },
        ))
    }
}

/// Returns the tools of these calls, once each.
fn distinct(calls: &[RequestedCall]) -> Vec<&ToolId> {
    let mut tools: Vec<&ToolId> = calls.iter().map(|call| &call.tool).collect();
    tools.sort();
    tools.dedup();
    tools
}
