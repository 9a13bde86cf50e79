//! The spans of the use cases: an answer, an agent's part of it, a run, a step. They record the work and its end, by
//! ids and codes. Never in them: texts of requests, parameters, results, messages of errors.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{AgentId, RequestId, RunId, TenantId, ToolId};
use charter_domain::run::{ResultSource, Run, RunOutcome, StepFailure};
pub use charter_effects::TELEMETRY;
use tracing::{Span, field};

use crate::EngineError;

/// The span of a request's answer: routing, and all work for it.
pub(crate) fn answer(request: &RequestId, tenant: &TenantId) -> Span {
    tracing::info_span!(
        target: TELEMETRY,
        "answer_request",
        otel.status_code = field::Empty,
        charter.request.id = %request,
        charter.tenant.id = tenant.as_str(),
        charter.verdict = field::Empty,
        charter.skills = field::Empty,
        error.type = field::Empty,
    )
}

/// Where the request went, in the span that is entered: the verdict, and the ids of the chosen skills and playbook.
pub(crate) fn routed(verdict: &str, chosen: &[&str]) {
    let span = Span::current();
    if span.is_disabled() {
        return;
    }
    span.record("charter.verdict", verdict);
    span.record("charter.skills", chosen.join(","));
}

/// The span of an agent's work for a request with one of its skills or playbooks.
pub(crate) fn agent(agent: Option<&AgentId>, capability: &str, tenant: &TenantId) -> Span {
    let agent = agent.map(AsRef::<str>::as_ref);
    tracing::info_span!(
        target: TELEMETRY,
        "invoke_agent",
        otel.name = agent.map_or("invoke_agent".to_owned(), |agent| format!("invoke_agent {agent}")),
        otel.status_code = field::Empty,
        gen_ai.operation.name = "invoke_agent",
        gen_ai.provider.name = "charter",
        gen_ai.agent.id = agent,
        gen_ai.agent.name = agent,
        charter.skill.id = capability,
        charter.tenant.id = tenant.as_str(),
        error.type = field::Empty,
    )
}

/// The span of a run while this process drives it. The same run may continue elsewhere, in a separate trace.
pub(crate) fn run(run: &RunId, tenant: &TenantId) -> Span {
    tracing::info_span!(
        target: TELEMETRY,
        "run",
        otel.status_code = field::Empty,
        charter.run.id = %run,
        charter.run.status = field::Empty,
        charter.tenant.id = tenant.as_str(),
        error.type = field::Empty,
    )
}

/// Records the state in which this process left a run. A run that another worker drives has none.
pub(crate) fn run_left(span: &Span, left: Result<Option<&Run>, &EngineError>) {
    match left {
        Ok(None) => {}
        Ok(Some(run)) => {
            span.record("charter.run.status", run.status().as_str());
            let failed = match run.outcome() {
                None | Some(RunOutcome::Completed { .. }) => false,
                Some(
                    RunOutcome::Failed { .. }
                    | RunOutcome::RolledBack { .. }
                    | RunOutcome::RollbackFailed { .. },
                ) => true,
            };
            if failed {
                fails(span, run.status().as_str());
            }
        }
        Err(error) => failed(span, error),
    }
}

/// The span of one step's call of a tool.
pub(crate) fn tool(tool: &ToolId, call: &str, run: &RunId, tenant: &TenantId) -> Span {
    tracing::info_span!(
        target: TELEMETRY,
        "execute_tool",
        otel.name = format!("execute_tool {tool}"),
        otel.status_code = field::Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = %tool,
        gen_ai.tool.call.id = call,
        charter.tool.result = field::Empty,
        charter.run.id = %run,
        charter.tenant.id = tenant.as_str(),
        error.type = field::Empty,
    )
}

/// Records the end of a step's call.
pub(crate) fn tool_ended(span: &Span, end: Result<&ResultSource, &StepFailure>) {
    match end {
        Ok(source) => {
            let source = match source {
                ResultSource::Fresh => "fresh",
                ResultSource::Cached => "cached",
                ResultSource::Decided => "decided",
                ResultSource::Reported { .. } => "reported",
            };
            span.record("charter.tool.result", source);
        }
        Err(failure) => fails(span, &failure.code),
    }
}

/// Records a failure on a span. Waiting for a person is not a failure.
pub(crate) fn failed(span: &Span, error: &EngineError) {
    if error.code != ErrorCode::ApprovalRequired {
        fails(span, error.code.as_str());
    }
}

fn fails(span: &Span, kind: &str) {
    span.record("error.type", kind);
    span.record("otel.status_code", "ERROR");
}
