//! `open`: one thing in full.

use charter_contract::error_code::ErrorCode;
use charter_engine::{EngineError, InForce};
use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::find::Kind;
use crate::mcp::call::Call;
use crate::mcp::table::{McpTool, Reply};

pub(in crate::mcp) struct Open;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Input {
    /// What it is.
    kind: Kind,
    /// Its exact id, as `find` gives it.
    id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Output {
    kind: Kind,
    id: String,
    /// The registered document.
    document: Map<String, Value>,
    /// The package that registered it, and its version.
    package: String,
    package_version: String,
    /// Whether it is the tenant's own or everybody's.
    layer: String,
}

impl McpTool for Open {
    const NAME: &'static str = "open";
    const TITLE: &'static str = "Open one skill, playbook or tool";
    const DESCRIPTION: &'static str = "Shows one thing in full, by the exact id that `find` gives: what it \
        does, its steps, and its parameters with their types and allowed values.";
    type Input = Input;
    type Output = Output;

    fn annotations() -> ToolAnnotations {
        ToolAnnotations::new().read_only(true).open_world(false)
    }

    async fn call(call: &Call, input: Input) -> Result<Reply<Output>, EngineError> {
        let (engine, caller, id) = (call.engine(), &call.caller, input.id.as_str());
        let shown = match input.kind {
            Kind::Skill => shown(&engine.resolve_skill(caller, id)?),
            Kind::Playbook => shown(&engine.resolve_playbook(caller, id)?),
            Kind::Tool => {
                let tool = engine.resolve_tool(caller, id)?;
                if !engine.may_call(caller, tool.document()) {
                    return Err(EngineError::not_found("tool", id));
                }
                shown(&tool)
            }
        }?;
        Ok(Reply::Done(output(input, shown)))
    }
}

fn shown<T: Serialize>(found: &InForce<T>) -> Result<Map<String, Value>, EngineError> {
    match serde_json::to_value(found) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(EngineError::new(
            ErrorCode::Internal,
            "a document is no object",
        )),
        Err(error) => Err(EngineError::internal("writing a document", error)),
    }
}

fn output(input: Input, mut shown: Map<String, Value>) -> Output {
    let text = |value: Option<Value>| match value {
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let mut document = match shown.remove("document") {
        Some(Value::Object(document)) => document,
        _ => Map::new(),
    };
    // Numbers that only routing reads.
    document.remove("embedding");
    Output {
        kind: input.kind,
        id: input.id,
        document,
        package: text(shown.remove("package")),
        package_version: text(shown.remove("package_version")),
        layer: text(shown.remove("layer")),
    }
}
