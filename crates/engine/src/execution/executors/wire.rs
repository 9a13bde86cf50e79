//! Converts between the tools port and the wire. A call for an executor names variables and never holds their values.

use std::num::TryFromIntError;
use std::time::Duration;

use charter_contract::executor::{
    ExecutorCall, ExecutorGrants, ExecutorImplementation, ExecutorOutcome, ExecutorResult,
    ScriptLanguage,
};
use charter_contract::ids::IdError;
use charter_contract::json::{memory_of, text_length};
use charter_contract::number::Positive;
use charter_contract::text::{ShortText, Text};
use charter_effects::{
    ClientGrants, DryRun, Language, OutputSize, ToolImplementation, ToolOutcome,
};

use super::queue::LeasedCall;

/// A call that the wire cannot represent.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    #[error("a text of the call")]
    Text(#[from] IdError),
    #[error("a number of the call")]
    Number(#[from] TryFromIntError),
    #[error("{0} cannot be sent to an executor")]
    NoForm(&'static str),
}

/// Converts a leased call for its executor.
pub(super) fn call(taken: &LeasedCall, lease: Duration) -> Result<ExecutorCall, WireError> {
    let call = &taken.call;
    let (grants, environment, egress) = match &taken.client.grants {
        ClientGrants::Asked {
            environment,
            egress,
        } => (ExecutorGrants::Asked, environment.clone(), egress.clone()),
        ClientGrants::Own => (ExecutorGrants::Own, Vec::new(), Vec::new()),
    };
    Ok(ExecutorCall {
        lease_id: taken.lease.clone(),
        lease_ms: positive(lease.as_millis())?,
        tool_id: call.tool_id.clone(),
        implementation: implementation(&call.implementation)?,
        parameters: call.parameters.clone(),
        dry_run: call.dry_run == DryRun::Yes,
        idempotency_key: Text::parse(&call.idempotency_key)?,
        grants,
        environment,
        egress,
        timeout_ms: positive(taken.left.as_millis())?,
        output_bytes: positive(call.limits.output_bytes as u128)?,
    })
}

/// At least one: a span of less than a millisecond is written as one.
fn positive(number: u128) -> Result<Positive, WireError> {
    let number = u64::try_from(number)?.max(1);
    Positive::new(number).ok_or(WireError::NoForm("a number over 2^53"))
}

fn implementation(here: &ToolImplementation) -> Result<ExecutorImplementation, WireError> {
    match here {
        ToolImplementation::Script(script) => Ok(ExecutorImplementation::Script {
            language: match script.language {
                Language::Python => ScriptLanguage::Python,
                Language::Bash => ScriptLanguage::Bash,
                Language::Filter => return Err(WireError::NoForm("a filter")),
                Language::Template => return Err(WireError::NoForm("a template")),
            },
            entry: Text::parse(&script.entry)?,
            files: ShortText::parse(script.files.digest())?,
        }),
        ToolImplementation::Http(tool) => Ok(ExecutorImplementation::Http {
            method: tool.method,
            url: Text::parse(&tool.url)?,
            headers: tool.headers.iter().cloned().collect(),
            query: tool.query.iter().cloned().collect(),
            list_separators: tool.list_separators.clone(),
            body: tool.body.clone(),
            body_format: tool.body_format,
        }),
        ToolImplementation::Handler => Ok(ExecutorImplementation::Handler {}),
        ToolImplementation::Builtin(_) => Err(WireError::NoForm("a built-in tool")),
        ToolImplementation::Mcp(_) => Err(WireError::NoForm("a tool of an MCP server")),
    }
}

/// Returns the size of an output, as JSON and in memory.
pub(super) fn output_size(outcome: &ExecutorOutcome) -> OutputSize {
    match &outcome.result {
        ExecutorResult::Succeeded { output } => OutputSize {
            bytes: text_length(output),
            memory: memory_of(output),
        },
        ExecutorResult::Failed { .. } => OutputSize {
            bytes: 0,
            memory: 0,
        },
    }
}

/// Converts an outcome for the port.
pub(super) fn outcome(reported: ExecutorOutcome) -> ToolOutcome {
    let (log, duration_ms) = (reported.log, reported.duration_ms.get());
    match reported.result {
        ExecutorResult::Succeeded { output } => ToolOutcome::Succeeded {
            output,
            log,
            duration_ms,
        },
        ExecutorResult::Failed {
            error_type,
            message,
            retryable,
            stale,
            answered,
        } => ToolOutcome::Failed {
            kind: error_type,
            message: message.to_string(),
            retryable,
            stale,
            answered,
            log,
            duration_ms,
        },
    }
}
