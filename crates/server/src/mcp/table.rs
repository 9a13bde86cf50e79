//! The tools: one type each, and a row in the table.

use std::sync::Arc;

use charter_contract::error_code::ErrorCode;
use charter_contract::registry::read_typed;
use charter_contract::violation::Violation;
use charter_engine::{Caller, EngineError, apart};
use futures_util::future::BoxFuture;
use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult, JsonObject, Tool};
use serde_json::Value;

use super::call::Call;
use super::content;
use super::failure::error_result;
use super::schemas;
use super::tool::{McpTool, ToolReply, arguments_of};
use super::tools::{
    ask_lens, call, cancel, claim_assignment, find, open, recall, remember, run, start_mission,
    status, submit_assignment,
};
use crate::operations;

/// A row of the table.
pub(crate) struct ToolEntry {
    name: &'static str,
    pub(crate) tool: fn() -> Tool,
    pub(super) serves: fn(&Caller) -> bool,
    call: fn(Arc<Call>, JsonObject) -> BoxFuture<'static, Result<CallToolResponse, EngineError>>,
}

/// All tools, in the order of use.
pub(crate) const TOOLS: [ToolEntry; 12] = [
    entry::<find::Find>(),
    entry::<open::Open>(),
    entry::<run::Run>(),
    entry::<call::CallOne>(),
    entry::<start_mission::StartMission>(),
    entry::<claim_assignment::ClaimAssignment>(),
    entry::<submit_assignment::SubmitAssignment>(),
    entry::<status::Status>(),
    entry::<cancel::Cancel>(),
    entry::<ask_lens::AskLens>(),
    entry::<recall::Recall>(),
    entry::<remember::Remember>(),
];

impl ToolEntry {
    /// Admits a caller, or refuses it.
    pub(super) fn admit(&self, caller: &Caller) -> Result<(), EngineError> {
        operations::admit(&format!("mcp:{}", self.name), caller)
    }

    /// Carries out a tool; a client that cancels stops what it started.
    pub(super) async fn run(
        &'static self,
        mut call: Call,
        arguments: JsonObject,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Err(error) = call.await_account().await {
            return call.refused(&error);
        }
        let call = Arc::new(call);
        let working = (self.call)(Arc::clone(&call), arguments);
        match until_cancelled(&call, working).await {
            Ok(answer) => Ok(answer),
            Err(error) => call.refused(&error),
        }
    }
}

/// Does the work of a call; if the client cancels it, stops what it has started.
///
/// # Errors
/// Those of the work; `cancelled`.
pub(super) async fn until_cancelled<T>(
    call: &Call,
    working: impl Future<Output = Result<T, EngineError>>,
) -> Result<T, EngineError> {
    tokio::pin!(working);
    tokio::select! {
        answer = &mut working => return answer,
        () = call.context.ct.cancelled() => {}
    }
    // A run that is still starting is cancelled as soon as its id is known.
    tokio::select! {
            biased;
            () = call.has_started() => {}
            answer = &mut working => return answer,
    }
    // A server that stops leaves work open, to be taken up at its next start.
    let stopping = call.engine().stopping().is_cancelled();
    if let Some(subject) = call.to_stop().filter(|_| !stopping)
        && let Err(error) = subject
            .cancel(call.engine(), &call.caller, "the client cancelled the call")
            .await
    {
        tracing::warn!(error = %error, "the work started by a cancelled call could not be stopped");
    }
    let message = "the client cancelled the call";
    Err(EngineError::new(ErrorCode::Cancelled, message))
}

static TABLE: [ToolEntry; TOOLS.len()] = TOOLS;

/// Finds a tool by its name.
pub(super) fn find(name: &str) -> Option<&'static ToolEntry> {
    TABLE.iter().find(|entry| entry.name == name)
}

/// Whether a tool changes nothing, so that its call may be repeated.
#[must_use]
pub fn only_reads(name: &str) -> bool {
    let annotations = find(name).and_then(|entry| (entry.tool)().annotations);
    annotations.and_then(|hints| hints.read_only_hint) == Some(true)
}

const fn entry<T: McpTool>() -> ToolEntry {
    ToolEntry {
        name: T::NAME,
        tool: tool::<T>,
        serves: T::serves,
        call: |call, arguments| Box::pin(async move { run_tool::<T>(&call, arguments).await }),
    }
}

fn tool<T: McpTool>() -> Tool {
    Tool::new(T::NAME, T::DESCRIPTION, schemas::of_input::<T::Input>())
        .with_title(T::TITLE)
        .with_raw_output_schema(schemas::of_output::<T::Output>())
        .with_annotations(T::annotations())
}

/// Removes the `null` arguments, which count as absent, as for tools of the catalogue: models write null for omitted
/// arguments.
fn without_nulls(mut arguments: JsonObject) -> JsonObject {
    arguments.retain(|_, value| !value.is_null());
    arguments
}

/// Reads the arguments of a tool. The error for an unknown argument that resembles no other lists all names, so that a
/// model that invented it can correct the call.
fn input<T: McpTool>(arguments: JsonObject) -> Result<T::Input, EngineError> {
    read_typed(&Value::Object(without_nulls(arguments))).map_err(|mut violations| {
        for violation in &mut violations {
            if is_unknown_argument(violation) && violation.suggestion.is_none() {
                violation.suggestion = Some(format!("there are {}", names::<T>()));
            }
        }
        EngineError::unfit(&arguments_of(T::NAME), &violations)
    })
}

/// Whether the argument itself is unknown, and not a field of its value.
fn is_unknown_argument(violation: &Violation) -> bool {
    violation.keyword == "additionalProperties" && violation.pointer.matches('/').count() == 1
}

/// The names of a tool's arguments.
fn names<T: McpTool>() -> String {
    let schema = schemas::of_input::<T::Input>();
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flat_map(|fields| fields.keys());
    let mut names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    names.sort();
    names.join(", ")
}

async fn run_tool<T: McpTool>(
    call: &Call,
    arguments: JsonObject,
) -> Result<CallToolResponse, EngineError> {
    let input = input::<T>(arguments)?;
    let reply = written::<T>(T::call(call, input).await?)?;
    respond(call, reply).await
}

/// Writes the reply of a tool: a value, its text, and the content that its output refers to.
pub(super) async fn respond(
    call: &Call,
    reply: ToolReply<Value>,
) -> Result<CallToolResponse, EngineError> {
    Ok(match reply {
        ToolReply::Done(answer) => with_content(call, answer).await.into(),
        ToolReply::Failed(answer) => error_result(&answer).into(),
        ToolReply::Asks(asks) => asks.into(),
        ToolReply::Task(task) => task.into(),
    })
}

/// Writes the output of a reply as JSON.
pub(super) fn written<T: McpTool>(
    reply: ToolReply<T::Output>,
) -> Result<ToolReply<Value>, EngineError> {
    let value = |output: T::Output| {
        apart(|| serde_json::to_value(output))
            .map_err(|error| EngineError::internal("writing a tool's answer", error))
    };
    Ok(match reply {
        ToolReply::Done(output) => ToolReply::Done(value(output)?),
        ToolReply::Failed(output) => ToolReply::Failed(value(output)?),
        ToolReply::Asks(asks) => ToolReply::Asks(asks),
        ToolReply::Task(task) => ToolReply::Task(task),
    })
}

/// The result of an answer: its value, the value's text, and the content that its output refers to.
async fn with_content(call: &Call, answer: Value) -> CallToolResult {
    let blocks = content::blocks(call, &answer).await;
    let mut result = apart(|| CallToolResult::structured(answer));
    result.content.extend(blocks);
    result
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Models often send every field of a schema, with `null` for the optional ones.
    #[test]
    fn a_null_argument_counts_as_absent() {
        let object = |value: Value| value.as_object().cloned().unwrap();
        let arguments =
            object(json!({"tool_id": "a.b", "dry_run": null, "parameters": {"x": null}}));
        let kept = json!({"tool_id": "a.b", "parameters": {"x": null}});
        assert_eq!(Value::Object(without_nulls(arguments)), kept);
        assert!(serde_json::from_value::<call::Input>(kept).is_ok());
        let nothing = Value::Object(without_nulls(object(json!({"tool_id": null}))));
        let nothing = serde_json::from_value::<call::Input>(nothing);
        assert_eq!(nothing.unwrap_err().to_string(), "missing field `tool_id`");
    }

    #[test]
    fn an_unknown_argument_is_refused_with_the_known_names() {
        let refusal = |arguments: Value| {
            let arguments = arguments.as_object().cloned().unwrap();
            let refused = input::<call::CallOne>(arguments).map(drop);
            refused.unwrap_err().to_string()
        };
        assert_eq!(
            refusal(json!({"tool_id": "a.b", "colour": "red"})),
            "the arguments of `call` cannot be read: /colour: unknown field `colour` (there are `dry_run`, \
             `parameters`, `tool_id`)"
        );
        assert_eq!(
            refusal(json!({"tool_id": "a.b", "parameter": {}})),
            "the arguments of `call` cannot be read: /parameter: unknown field `parameter` (did you mean `parameters`?)"
        );
    }
}
