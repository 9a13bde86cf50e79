//! Pinned tools: tools, skills and playbooks of the catalogue under their own names and schemas. A call is the same as
//! by `call` or `run`: it passes the gate and is journaled. Its result is the tool's own.

use std::sync::Arc;

use charter_contract::catalogue::playbook::Playbook;
use charter_contract::catalogue::tool::{Implementation, Tool as ToolDocument, ToolClass};
use charter_contract::input_schema::schema_of;
use charter_contract::run_status::RunStatus;
use charter_engine::{CallEnd, Caller, EngineError, PinnedDocument, PinnedEntry};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, ResultType,
    Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::Instrument;

use super::call::Call;
use super::failure::{error_result, protocol_error};
use super::linked::{LinkedCall, LinkedOutcome};
use super::schemas;
use super::table::{self, respond, until_cancelled, written};
use super::tool::McpTool;
use super::tools::run::{Input, Run};
use super::work::WorkReport;
use super::{ListMode, Mcp, span_of};
use crate::operations;

impl Mcp {
    /// The pinned documents that a caller may use, if the engine is loaded or has to be.
    pub(super) async fn pinned(
        &self,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
    ) -> Result<Vec<PinnedEntry>, ErrorData> {
        let engine = match (self.shared.engine.now(), self.shared.list) {
            (Some(engine), _) => engine,
            (None, ListMode::AtOnce) => return Ok(Vec::new()),
            (None, ListMode::Loaded) => {
                let loaded = self.shared.engine.wait(context).await;
                loaded.map_err(|error| protocol_error(&error))?.0
            }
        };
        let mut entries = engine.pins().entries(caller);
        // A tool of Charter keeps its name.
        entries.retain(|entry| table::find(&entry.name).is_none());
        Ok(entries)
    }

    /// Calls a pinned tool; `None` if there is none of this name.
    pub(super) async fn call_pinned(
        &self,
        request: &CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<Option<CallToolResponse>, ErrorData> {
        let span = span_of(&context);
        let (answers, state) = (&request.input_responses, &request.request_state);
        let call = self.call(context).await?;
        let entry = call.engine().pins().entry(&call.caller, &request.name);
        let Some(entry) = entry else {
            return Ok(None);
        };
        let call = call.with_round_state(answers.as_ref(), state.as_ref())?;
        if let Err(error) = admit(&entry, &call.caller) {
            return Ok(Some(call.failed(&error).into()));
        }
        let _share = match self.shared.calls.take(&call.caller) {
            Ok(share) => share,
            Err(error) => return Ok(Some(call.failed(&error).into())),
        };
        let arguments = request.arguments.clone().unwrap_or_default();
        let called = call_document(entry, call, arguments).instrument(span);
        called.await.map(Some)
    }
}

/// The name of the operation that a pinned document needs the scopes of.
fn operation(document: &PinnedDocument) -> &'static str {
    match document {
        PinnedDocument::Tool(_) => "mcp:call",
        PinnedDocument::Skill(_) | PinnedDocument::Playbook(_) => "mcp:run",
    }
}

/// Admits a caller, or refuses it.
pub(super) fn admit(entry: &PinnedEntry, caller: &Caller) -> Result<(), EngineError> {
    operations::admit(operation(&entry.document), caller)
}

/// A pinned document as a tool of the protocol.
pub(super) fn listed(entry: &PinnedEntry) -> Tool {
    let name = entry.name.clone();
    match &entry.document {
        PinnedDocument::Tool(tool) => {
            let tool = tool.document();
            let reads = match tool.tool_class {
                ToolClass::Readonly => true,
                ToolClass::Write | ToolClass::Internal => false,
            };
            let listed = Tool::new(name, tool.description.to_string(), input_schema(tool))
                .with_annotations(annotations(reads));
            match output_schema(tool) {
                Some(schema) => listed.with_raw_output_schema(Arc::new(schema)),
                None => listed,
            }
        }
        PinnedDocument::Skill(skill) => {
            let skill = skill.document();
            let schema = schema_of(&skill.parameters);
            Tool::new(name, skill.description.to_string(), Arc::new(schema))
                .with_title(skill.display_name.to_string())
                .with_raw_output_schema(schemas::of_output::<WorkReport>())
                .with_annotations(annotations(true))
        }
        PinnedDocument::Playbook(playbook) => {
            let playbook = playbook.document();
            let conditions = playbook.trigger_conditions.iter();
            let conditions: Vec<&str> = conditions.map(|text| text.as_str()).collect();
            let description = format!("{}: {}", playbook.name, conditions.join("; "));
            Tool::new(name, description, Arc::new(playbook_schema(playbook)))
                .with_title(playbook.name.to_string())
                .with_raw_output_schema(schemas::of_output::<WorkReport>())
                .with_annotations(annotations(false))
        }
    }
}

fn annotations(reads: bool) -> ToolAnnotations {
    let hints = ToolAnnotations::new().read_only(reads).destructive(!reads);
    hints.open_world(true)
}

/// The schema of a tool's arguments; for a tool of an MCP server, as that server wrote it.
fn input_schema(tool: &ToolDocument) -> Arc<JsonObject> {
    let own = match &tool.implementation {
        Some(Implementation::Mcp { input_schema, .. }) => input_schema.as_ref(),
        Some(_) | None => None,
    };
    let mut schema = own.unwrap_or(tool.input().schema()).json().clone();
    // The protocol requires it.
    schema.entry("type").or_insert_with(|| json!("object"));
    Arc::new(schema)
}

/// The schema of a tool's structured result, which the protocol requires to be that of an object.
fn output_schema(tool: &ToolDocument) -> Option<JsonObject> {
    let schema = tool.output_schema.as_ref()?.json();
    (schema.get("type") == Some(&json!("object"))).then(|| schema.clone())
}

fn playbook_schema(playbook: &Playbook) -> JsonObject {
    let mandatory = &playbook.mandatory_parameters;
    let all = [
        mandatory.as_slice(),
        playbook.optional_parameters.as_slice(),
    ]
    .concat();
    let mut schema = schema_of(&all);
    let mut required: Vec<&str> = mandatory.iter().map(|one| one.called()).collect();
    required.sort_unstable();
    schema.insert("required".to_owned(), json!(required));
    schema
}

/// Calls a pinned document.
async fn call_document(
    entry: PinnedEntry,
    mut call: Call,
    arguments: JsonObject,
) -> Result<CallToolResponse, ErrorData> {
    if let Err(error) = call.await_account().await {
        return call.refused(&error);
    }
    let called = async {
        match &entry.document {
            PinnedDocument::Tool(tool) => call_tool(&call, tool.document(), arguments).await,
            PinnedDocument::Skill(skill) => {
                let input = Input::of_skill(&skill.document().skill_id, arguments);
                let reply = written::<Run>(Run::call(&call, input).await?)?;
                respond(&call, reply).await.map(Ok)
            }
            PinnedDocument::Playbook(playbook) => {
                let input = Input::of_playbook(&playbook.document().playbook_id, arguments);
                let reply = written::<Run>(Run::call(&call, input).await?)?;
                respond(&call, reply).await.map(Ok)
            }
        }
    };
    match until_cancelled(&call, called).await {
        Ok(response) => response,
        Err(error) => call.refused(&error),
    }
}

/// Calls a tool. The inner error is one of the protocol, by the tool's server.
async fn call_tool(
    call: &Call,
    tool: &ToolDocument,
    arguments: JsonObject,
) -> Result<Result<CallToolResponse, ErrorData>, EngineError> {
    let values = by_parameter(tool, arguments);
    let linked = match LinkedCall::start_or_resume(call, tool, values).await? {
        Ok(linked) => linked,
        Err(declined) => return Ok(Ok(report(tool, declined)?.into())),
    };
    Ok(match linked.follow(call).await? {
        LinkedOutcome::Ended(CallEnd::Result(result)) => Ok(result_of(result)?.into()),
        LinkedOutcome::Ended(CallEnd::Error(error)) => Err(protocol_error_of(error)?),
        LinkedOutcome::Report(work) => match call.lacks_account(&work) {
            Some(error) => return Err(error),
            None => Ok(report(tool, *work)?.into()),
        },
        LinkedOutcome::Asks(asks) => Ok(asks.into()),
        LinkedOutcome::Task(task) => Ok((*task).into()),
    })
}

/// Reads a result of a server.
fn result_of(result: JsonObject) -> Result<CallToolResult, EngineError> {
    let mut result = CallToolResult::deserialize(Value::Object(result))
        .map_err(|error| EngineError::internal("reading a tool's result", error))?;
    result.result_type.get_or_insert(ResultType::COMPLETE);
    Ok(result)
}

/// Reads an error of a server.
pub(super) fn protocol_error_of(error: JsonObject) -> Result<ErrorData, EngineError> {
    ErrorData::deserialize(Value::Object(error))
        .map_err(|error| EngineError::internal("reading an error of an MCP server", error))
}

/// Renames the arguments from the names of the schema to those of the parameters.
fn by_parameter(tool: &ToolDocument, mut arguments: JsonObject) -> JsonObject {
    for parameter in tool.parameters() {
        let name = parameter.name.as_str();
        let called = parameter.called();
        if called != name
            && let Some(value) = arguments.remove(called)
        {
            arguments.insert(name.to_owned(), value);
        }
    }
    arguments
}

/// The result of a call without an answer of an MCP server: the recorded output, the failure, or what it waits for.
fn report(tool: &ToolDocument, work: WorkReport) -> Result<CallToolResult, EngineError> {
    match work.output.clone() {
        Some(output) if work.status == RunStatus::Completed && !work.has_failed() => {
            return Ok(recorded(tool, output));
        }
        Some(_) | None => {}
    }
    let failed = work.has_failed();
    let written = serde_json::to_value(work)
        .map_err(|error| EngineError::internal("writing a tool's answer", error))?;
    // A client refuses a success without the structured content that the schema requires.
    Ok(if failed || output_schema(tool).is_some() {
        error_result(&written)
    } else {
        CallToolResult::success(vec![ContentBlock::text(written.to_string())])
    })
}

/// A recorded output as a result.
fn recorded(tool: &ToolDocument, output: Value) -> CallToolResult {
    if output_schema(tool).is_some() {
        return CallToolResult::structured(output);
    }
    let text = |text: String| CallToolResult::success(vec![ContentBlock::text(text)]);
    match output {
        Value::Object(fields) => match (fields.len(), fields.get("text")) {
            (1, Some(Value::String(alone))) => text(alone.clone()),
            _ => CallToolResult::structured(Value::Object(fields)),
        },
        other => text(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(more: &Value) -> ToolDocument {
        let mut document = json!({
            "tool_id": "mcp.files.read", "name": "read", "provider": "mcp", "tool_class": "readonly",
            "domain": "platform", "description": "Reads.", "language": "mcp", "requires_approval": false,
            "permission_level": "user",
            "implementation": {"type": "mcp", "server": "files", "tool": "read", "definition": "sha256:0"},
        });
        let fields = more.as_object().cloned().unwrap();
        document.as_object_mut().unwrap().extend(fields);
        serde_json::from_value(document).unwrap()
    }

    #[test]
    fn the_schema_of_a_tool_is_the_one_that_its_server_wrote() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
            "$defs": {"at": {"$anchor": "at", "type": "string"}},
            "properties": {"at": {"$ref": "#/$defs/at"}}, "additionalProperties": false,
        });
        let tool = tool(&json!({"input_schema": schema}));
        assert_eq!(Value::Object(input_schema(&tool).as_ref().clone()), schema);
    }

    #[test]
    fn arguments_have_the_names_of_the_parameters() {
        let schema = json!({"type": "object", "properties": {"$from": {"type": "string"}}});
        let tool = tool(&json!({"input_schema": schema}));
        let given = json!({"$from": "2026-01-01"}).as_object().cloned().unwrap();
        let named = by_parameter(&tool, given);
        let name = tool.parameters()[0].name.to_string();
        assert_eq!(Value::Object(named), json!({name: "2026-01-01"}));
    }

    #[test]
    fn a_call_that_waits_is_no_success_of_a_tool_with_an_output_schema() {
        let waits = || WorkReport::new(RunStatus::AwaitingApproval, "run-1");
        let plain = report(&tool(&json!({})), waits()).unwrap();
        assert_eq!(plain.is_error, Some(false));
        let schema = json!({"output_schema": {"type": "object"}});
        let structured = report(&tool(&schema), waits()).unwrap();
        assert_eq!(structured.is_error, Some(true));
    }
}
