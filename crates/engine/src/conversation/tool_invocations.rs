//! Calls of single tools in the form of seed 003. A `ToolInvocation` becomes a plan of one step, so the gate, the
//! journal and evidence apply as for every call; its `ToolResult` is read from the run. Must not know HTTP.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::agentic::error::ErrorType;
use charter_contract::agentic::tool_invocation::ToolInvocation;
use charter_contract::agentic::tool_result::{ToolFailure, ToolResult, ToolStatus};
use charter_contract::catalogue::tool::Tool;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{PlanId, ToolDefinitionId};
use charter_contract::number::{Count, Positive};
use charter_contract::text::{ShortText, Text};
use charter_domain::run::{ResultSource, RunEvent, RunOutcome, StopCause};
use serde_json::{Map, json};

use crate::conversation::requests::RequestViewService;
use crate::conversation::sessions::SessionService;
use crate::execution::runs::{RunView, RunViewService};
use crate::execution::starts::{IdempotencyKey, RunStartService, SubmittedPlan};
use crate::registry::tool_search::ToolSearchService;
use crate::{Caller, EngineError};

/// The services that calls are checked, started and followed with.
pub(crate) struct ToolInvocationParts {
    pub(crate) tool_search: Arc<ToolSearchService>,
    pub(crate) run_starts: Arc<RunStartService>,
    pub(crate) run_views: Arc<RunViewService>,
    pub(crate) sessions: Arc<SessionService>,
    pub(crate) request_views: Arc<RequestViewService>,
}

/// Calls single tools.
pub struct ToolInvocationService {
    parts: ToolInvocationParts,
}

impl std::fmt::Debug for ToolInvocationService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolInvocationService")
            .finish_non_exhaustive()
    }
}

/// The state of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum InvocationOutcome {
    /// It has ended.
    Ended(Box<ToolResult>),
    /// Its run waits for a person, or still works.
    Unfinished(Box<RunView>),
}

impl ToolInvocationService {
    pub(crate) fn new(parts: ToolInvocationParts) -> Self {
        Self { parts }
    }

    /// Calls the tool with this name: its id in the agent contracts, or in the catalogue. Waits at most `patience` for
    /// the end. A repeat with the same key, or without a key the same invocation id, finds the call that it started.
    ///
    /// # Errors
    /// `not_found`; `invalid_request` if the invocation names another tool, or two keys; `invalid_document` with all
    /// invalid arguments; `permission_denied` for a level above the caller's role or below the tool's;
    /// `session_not_found`; `already_exists` if the key was used for another call.
    pub async fn invoke(
        &self,
        caller: &Caller,
        name: &str,
        invocation: &ToolInvocation,
        key: Option<&IdempotencyKey>,
        patience: Duration,
    ) -> Result<InvocationOutcome, EngineError> {
        let tool = self.parts.tool_search.resolve_callable(caller, name)?;
        must_name(invocation, tool.document())?;
        must_have_level(caller, invocation, tool.document())?;
        self.check_references(caller, invocation).await?;
        let key = key_of(invocation, key)?;
        let plan = SubmittedPlan::Call {
            // A repeat with the same key is the same plan.
            plan: PlanId::from_uuid(key.id(caller, "invoke_tool")),
            tool: tool.document().tool_id.clone(),
            values: invocation.parameters.clone(),
            timeout_ms: invocation.timeout_ms,
        };
        let dry_run = invocation.dry_run.into();
        let starting =
            self.parts
                .run_starts
                .start_plan(caller, &plan, Map::new(), dry_run, Some(&key));
        let run = starting.await?.run().summary.run_id;
        let run = self.parts.run_views.wait(caller, &run, patience).await?;
        match &run.state.outcome {
            Some(outcome) => {
                let result = result_of(invocation, &run, outcome)?;
                Ok(InvocationOutcome::Ended(Box::new(result)))
            }
            None => Ok(InvocationOutcome::Unfinished(Box::new(run))),
        }
    }

    /// Refuses a session or a request that is not visible to the caller (B003-11).
    async fn check_references(
        &self,
        caller: &Caller,
        invocation: &ToolInvocation,
    ) -> Result<(), EngineError> {
        if let Some(session) = &invocation.session_id {
            self.parts.sessions.session(caller, session).await?;
        }
        if let Some(request) = &invocation.request_id {
            self.parts.request_views.request(caller, request).await?;
        }
        Ok(())
    }
}

fn must_name(invocation: &ToolInvocation, tool: &Tool) -> Result<(), EngineError> {
    let id = ToolDefinitionId::from_tool_id(&tool.tool_id);
    if invocation.tool == id {
        return Ok(());
    }
    let message = format!(
        "the invocation names the tool `{}`, but the address is that of `{id}`",
        invocation.tool
    );
    Err(EngineError::new(ErrorCode::InvalidRequest, message))
}

/// The level of a call may be lower than the caller's role allows, and must reach that of the tool (B003-4).
fn must_have_level(
    caller: &Caller,
    invocation: &ToolInvocation,
    tool: &Tool,
) -> Result<(), EngineError> {
    let (level, needed) = (invocation.permission_level, tool.permission_level);
    let message = if !caller.role.may_call(level) {
        format!("the permission level `{level}` of the call is above your role")
    } else if level < needed {
        format!(
            "the tool `{}` needs the permission level `{needed}`, and the call has `{level}`: set `permission_level`",
            tool.tool_id
        )
    } else {
        return Ok(());
    };
    Err(EngineError::new(ErrorCode::PermissionDenied, message))
}

/// Returns the name by which a repeat of the call is recognised.
fn key_of(
    invocation: &ToolInvocation,
    sent: Option<&IdempotencyKey>,
) -> Result<IdempotencyKey, EngineError> {
    let own = invocation.idempotency_key.as_ref();
    let own = own.map(|key| IdempotencyKey::parse(key.as_str()));
    match (own.transpose()?, sent) {
        (Some(own), Some(sent)) if own != *sent => {
            let message = "the header `Idempotency-Key` and `idempotency_key` differ; send one";
            Err(EngineError::new(ErrorCode::InvalidRequest, message))
        }
        (Some(own), _) => Ok(own),
        (None, Some(sent)) => Ok(sent.clone()),
        (None, None) => IdempotencyKey::parse(invocation.id.as_str()),
    }
}

/// Reads the result of a call from its run, which has ended.
fn result_of(
    invocation: &ToolInvocation,
    run: &RunView,
    outcome: &RunOutcome,
) -> Result<ToolResult, EngineError> {
    let evidence = run.evidence.iter();
    let mut metadata = invocation.metadata.clone();
    metadata.insert("run_id".to_owned(), json!(run.summary.run_id));
    let mut result = ToolResult {
        invocation_id: invocation.id.clone(),
        tool: invocation.tool.clone(),
        timestamp: run.summary.updated_at,
        status: ToolStatus::Success,
        result: None,
        error: None,
        execution_time_ms: None,
        attempts: None,
        from_cache: false,
        evidence_ids: evidence.map(|record| record.evidence_id.clone()).collect(),
        metadata,
    };
    for entry in &run.events {
        if let RunEvent::StepBegun(begun) = &entry.event {
            result.attempts = Positive::new(begun.attempt.into());
        }
        if let RunEvent::StepSucceeded {
            output,
            source,
            duration_ms,
            ..
        } = &entry.event
        {
            result.result = (!output.is_null()).then(|| output.clone());
            result.execution_time_ms = Count::new(*duration_ms);
            result.from_cache = *source == ResultSource::Cached;
        }
    }
    if let Some(failure) = failure_of(outcome)? {
        result.status = match failure.error_type {
            ErrorType::PermissionError => ToolStatus::Denied,
            ErrorType::TimeoutError => ToolStatus::Timeout,
            ErrorType::InputError
            | ErrorType::ExecutionError
            | ErrorType::ResourceError
            | ErrorType::SystemError => ToolStatus::Error,
        };
        result.result = None;
        result.error = Some(failure);
    }
    Ok(result)
}

fn failure_of(outcome: &RunOutcome) -> Result<Option<ToolFailure>, EngineError> {
    let cause = match outcome {
        RunOutcome::Completed { .. } => return Ok(None),
        RunOutcome::Failed { cause }
        | RunOutcome::RolledBack { cause }
        | RunOutcome::RollbackFailed { cause, .. } => cause,
    };
    let (error_type, code, message) = match cause {
        StopCause::Failure { failure, .. } => {
            let code = Some(failure.code.as_str());
            (failure.kind, code, failure.message.clone())
        }
        StopCause::Aborted { reason, .. } => {
            let code = Some(ErrorCode::Cancelled.as_str());
            let message = format!("the call was cancelled: {reason}");
            (ErrorType::ExecutionError, code, message)
        }
        StopCause::TimedOut => {
            let code = Some(ErrorCode::ToolTimeout.as_str());
            let message = "the call exceeded its time limit".to_owned();
            (ErrorType::TimeoutError, code, message)
        }
        StopCause::TokenBudgetExhausted => {
            let message = "the token budget is used up".to_owned();
            (ErrorType::ResourceError, None, message)
        }
    };
    let message = Text::parse(&message)
        .map_err(|error| EngineError::internal("writing the failure of a tool", error))?;
    Ok(Some(ToolFailure {
        error_type,
        error_code: code.and_then(|code| ShortText::parse(code).ok()),
        message,
    }))
}

#[cfg(test)]
mod tests {
    use charter_domain::run::StepFailure;

    use super::*;

    fn invocation() -> ToolInvocation {
        serde_json::from_value(json!({
            "id": "inv-01930000-0000-7000-8000-000000000001", "tool": "tool-a", "parameters": {},
            "timestamp": "2026-04-14T12:00:00Z",
        }))
        .unwrap()
    }

    #[test]
    fn a_call_is_repeated_by_its_key_and_without_one_by_its_id() {
        let key = |text: &str| IdempotencyKey::parse(text).unwrap();
        let mut call = invocation();
        assert_eq!(key_of(&call, None).unwrap(), key(call.id.as_str()));
        assert_eq!(key_of(&call, Some(&key("k"))).unwrap(), key("k"));
        call.idempotency_key = Some(ShortText::parse("own").unwrap());
        assert_eq!(key_of(&call, None).unwrap(), key("own"));
        assert_eq!(key_of(&call, Some(&key("own"))).unwrap(), key("own"));
        let refused = key_of(&call, Some(&key("k"))).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidRequest);
    }

    #[test]
    fn a_failure_has_the_type_and_code_of_its_step() {
        let failure = StepFailure {
            kind: ErrorType::PermissionError,
            code: "guardrail_blocked".to_owned(),
            message: "not at night".to_owned(),
            retryable: false,
            account: None,
        };
        let step = charter_contract::ids::StepId::parse("step-001").unwrap();
        let cause = StopCause::Failure { step, failure };
        let failed = failure_of(&RunOutcome::Failed { cause }).unwrap().unwrap();
        assert_eq!(failed.error_type, ErrorType::PermissionError);
        assert_eq!(failed.error_code.unwrap().as_str(), "guardrail_blocked");
        assert_eq!(failed.message.as_str(), "not at night");
        let completed = RunOutcome::Completed {
            missing_evidence: Vec::new(),
        };
        assert_eq!(failure_of(&completed).unwrap(), None);
    }
}
