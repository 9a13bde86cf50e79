//! `open`: one entry in full.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::SkillId;
use charter_contract::package::PackageScope;
use charter_engine::{EngineError, InForce};
use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::find::Kind;
use crate::mcp::call::Call;
use crate::mcp::skills;
use crate::mcp::tool::{McpTool, ToolReply};

pub(in crate::mcp) struct Open;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Input {
    /// The kind of the entry.
    kind: Kind,
    /// Its exact id, from `find`.
    id: String,
    /// For an agent skill: return this file of it, by path, instead of the instruction.
    file: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Output {
    kind: Kind,
    id: String,
    /// The registered document; for an agent skill, its instruction, the names of its files and its tools, or one file.
    document: Map<String, Value>,
    /// The package that registered it, and its version; an agent skill has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    package_version: Option<String>,
    /// Whether the tenant or the global layer provides it.
    layer: String,
}

impl McpTool for Open {
    const NAME: &'static str = "open";
    const TITLE: &'static str = "Open one skill, playbook, tool, agent skill or mission type";
    const DESCRIPTION: &'static str = "Shows one entry in full, by the exact id that `find` returns: its \
        description, its steps, and its parameters with their types and allowed values; for an agent skill its \
        instruction, its tools, and the names of its files, which `file` fetches.";
    type Input = Input;
    type Output = Output;

    fn annotations() -> ToolAnnotations {
        ToolAnnotations::new().read_only(true).open_world(false)
    }

    async fn call(call: &Call, input: Input) -> Result<ToolReply<Output>, EngineError> {
        let (engine, caller, id) = (call.engine(), &call.caller, input.id.as_str());
        if input.file.is_some() && input.kind != Kind::AgentSkill {
            let message = "only agent skills have files";
            return Err(EngineError::new(ErrorCode::InvalidRequest, message));
        }
        let shown = match input.kind {
            Kind::AgentSkill => return agent_skill(call, input).await.map(ToolReply::Done),
            Kind::Skill => document_fields(&engine.documents().resolve_skill(caller, id)?),
            Kind::Playbook => document_fields(&engine.documents().resolve_playbook(caller, id)?),
            Kind::MissionType => {
                document_fields(&engine.documents().resolve_mission_type(caller, id)?)
            }
            Kind::Tool => {
                let tool = engine.documents().resolve_tool(caller, id)?;
                if !engine.tool_search().may_call(caller, tool.document()) {
                    return Err(EngineError::not_found("tool", id));
                }
                document_fields(&tool)
            }
        }?;
        Ok(ToolReply::Done(output(input, shown)))
    }
}

/// An agent skill's instruction, or one of its files.
async fn agent_skill(call: &Call, input: Input) -> Result<Output, EngineError> {
    let (engine, caller) = (call.engine(), &call.caller);
    let absent = |_| EngineError::not_found("agent skill", &input.id);
    let id = SkillId::parse(&input.id).map_err(absent)?;
    let shown = engine.agent_skills().show_skill(caller, &id)?;
    let document = match &input.file {
        Some(path) => {
            let file = engine.agent_skills().skill_file(caller, &id, path).await?;
            let (field, content) = match std::str::from_utf8(&file.content) {
                Ok(text) => ("text", text.to_owned()),
                Err(_) => ("base64", STANDARD.encode(&file.content)),
            };
            json!({"skill_id": id, "path": file.path, field: content})
        }
        None => {
            let files = engine.agent_skills().skill_files(caller, &id).await?;
            let files = files.iter().map(|file| {
                let uri = skills::uri_of(&id, &file.path);
                json!({"path": file.path, "bytes": file.bytes, "digest": file.digest, "uri": uri})
            });
            let tools = engine.documents().resolve_skill_tools(caller, &id);
            let tools = tools.iter().map(|tool| {
                let tool = tool.document();
                json!({"tool_id": tool.tool_id, "tool_class": tool.tool_class, "description": tool.description})
            });
            json!({
                "skill_id": id,
                "summary": shown.skill.summary,
                "is_folder": shown.skill.is_folder,
                "sub_skills": shown.skill.sub_skills,
                "instruction": engine.agent_skills().skill_instruction(caller, &id).await?.instruction,
                "files": files.collect::<Vec<Value>>(),
                "tools": tools.collect::<Vec<Value>>(),
            })
        }
    };
    let Value::Object(document) = document else {
        return Err(EngineError::internal(
            "writing an agent skill",
            "it is not an object",
        ));
    };
    Ok(Output {
        kind: input.kind,
        id: input.id,
        document,
        package: None,
        package_version: None,
        layer: match shown.scope {
            PackageScope::Tenant => "tenant",
            PackageScope::Global => "global",
        }
        .to_owned(),
    })
}

fn document_fields<T: Serialize>(found: &InForce<T>) -> Result<Map<String, Value>, EngineError> {
    match serde_json::to_value(found) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(EngineError::new(
            ErrorCode::Internal,
            "a document is not an object",
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
    // The numbers are for routing only.
    document.remove("embedding");
    Output {
        kind: input.kind,
        id: input.id,
        document,
        package: Some(text(shown.remove("package"))),
        package_version: Some(text(shown.remove("package_version"))),
        layer: text(shown.remove("layer")),
    }
}
