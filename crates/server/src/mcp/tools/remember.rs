//! `remember`: proposes a memory. The caller of a tool of the protocol is a model, so a person must accept the memory.

use charter_contract::agentic::memory::{Importance, MemoryMetadata, Tags, Visibility};
use charter_contract::ids::AgentId;
use charter_engine::{EngineError, MemoryDraft};
use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::recall::ids;
use crate::mcp::call::Call;
use crate::mcp::tool::{McpTool, ToolReply, arguments_of};

/// The id prefix of agents that are known only by their client's name.
const AGENT: &str = "mcp";

/// The default source of a memory: the calling agent's observation.
const OBSERVED: &str = "system_observation";

/// Longest part of a client's name that is kept, in characters.
const MAX_NAME: usize = 64;

pub(in crate::mcp) struct Remember;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Input {
    /// A short title.
    title: String,
    /// The content, understandable on its own.
    content: String,
    /// Tags to find it by; at least one.
    #[schemars(with = "Vec<String>", length(min = 1))]
    tags: Tags,
    /// The source: `user_statement`, or `system_observation` (yours), which is the default.
    source: Option<String>,
    /// The importance, from 1 (low) to 10 (high, kept for ever).
    #[schemars(with = "Option<u8>", range(min = 1, max = 10))]
    importance: Option<Importance>,
    /// Whether it is for the whole organisation, not only for your user.
    #[serde(default)]
    shared: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Output {
    memory_id: String,
    version: u64,
    /// `proposed`: `recall` finds it only after a person has accepted it.
    state: String,
    /// How a person accepts it.
    hint: String,
    /// Existing memories with (nearly) equal content.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    similar_to: Vec<String>,
    /// Existing memories that seem to contradict it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    conflicts_with: Vec<String>,
    /// A notice about these memories.
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
}

impl McpTool for Remember {
    const NAME: &'static str = "remember";
    const TITLE: &'static str = "Propose a memory";
    const DESCRIPTION: &'static str = "Proposes a fact, preference or decision to be remembered beyond this session. \
        A person accepts or rejects it. No secrets; nothing that `recall` already finds.";
    type Input = Input;
    type Output = Output;

    fn annotations() -> ToolAnnotations {
        let hints = ToolAnnotations::new().read_only(false).destructive(false);
        hints.idempotent(false).open_world(false)
    }

    async fn call(call: &Call, input: Input) -> Result<ToolReply<Output>, EngineError> {
        let new = charter_engine::Remember {
            memory: MemoryDraft {
                title: input.title,
                content: input.content,
                tags: input.tags,
                metadata: MemoryMetadata {
                    source: Some(input.source.unwrap_or_else(|| OBSERVED.to_owned())),
                    importance: input.importance,
                    ..MemoryMetadata::default()
                },
                related_memories: Vec::new(),
            },
            visibility: if input.shared {
                Visibility::Shared
            } else {
                Visibility::Private
            },
            agent_id: Some(agent(call)?),
        };
        let shown = call.engine().memories().remember(&call.caller, new).await;
        let shown = shown.map_err(|error| error.as_sent(&arguments_of(Self::NAME), argument))?;
        Ok(ToolReply::Done(Output {
            hint: format!(
                "a person accepts it: charter memory accept {} {}",
                shown.memory_id, shown.version
            ),
            similar_to: ids(&shown.similar_to),
            conflicts_with: ids(&shown.conflicts_with),
            notice: shown.notice,
            memory_id: shown.memory_id.to_string(),
            version: shown.version,
            state: shown.state.as_str().to_owned(),
        }))
    }
}

/// The argument for `pointer` of a new memory.
fn argument(pointer: &str) -> String {
    let memory = pointer.strip_prefix("/memory").unwrap_or(pointer);
    memory
        .strip_prefix("/metadata")
        .unwrap_or(memory)
        .to_owned()
}

/// The calling agent, identified by its client's name.
fn agent(call: &Call) -> Result<AgentId, EngineError> {
    let name = call.context.client_info().map(|client| client.name);
    let kept = name.iter().flat_map(|name| name.chars());
    let kept = kept.filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let kept: String = kept.take(MAX_NAME).collect();
    let id = if kept.is_empty() {
        AGENT.to_owned()
    } else {
        format!("{AGENT}.{kept}")
    };
    AgentId::parse(&id).map_err(|error| EngineError::internal("naming an agent", error))
}
