//! Responses of the system (003 Response Schema), and how they are built.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::optional::present;
use crate::ids::{RequestId, ResponseId};
use crate::number::Integer;
use crate::schema::SchemaName;
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

/// A response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentResponse {
    /// Its id.
    pub id: ResponseId,
    /// The request it answers.
    pub request_id: RequestId,
    /// When it was made.
    pub timestamp: Timestamp,
    /// The answer, in natural language.
    pub content: String,
    /// What was done.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub actions: Option<Vec<Action>>,
    /// How it was done.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub metadata: Option<ResponseMetadata>,
    /// Fields that the seed does not name.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One thing that was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// What kind of thing.
    pub action_type: ActionType,
    /// When.
    pub timestamp: Timestamp,
    /// What exactly.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub details: Option<Map<String, Value>>,
    /// Fields that the seed does not name.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

string_enum! {
    /// Kinds of actions (003 Response Schema).
    pub enum ActionType {
        /// A file was changed.
        FileEdit = "file_edit",
        /// A file was made.
        FileCreate = "file_create",
        /// A command or tool was run.
        CommandExecution = "command_execution",
        /// Something was looked for.
        Search = "search",
        /// Something was drawn.
        Visualization = "visualization",
    }
}

/// How a response came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ResponseMetadata {
    /// How long it took, in milliseconds.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub execution_time_ms: Option<Integer>,
    /// The tools that were used.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub tools_used: Option<Vec<String>>,
    /// Fields that the seed does not name: findings, evidence, verdict.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Builds a response field by field.
#[derive(Debug, Clone)]
#[must_use]
pub struct AgentResponseBuilder {
    response: AgentResponse,
    actions: Vec<Action>,
    metadata: ResponseMetadata,
}

impl AgentResponse {
    /// Starts a response to a request.
    pub fn builder(
        id: ResponseId,
        request_id: RequestId,
        timestamp: Timestamp,
        content: impl Into<String>,
    ) -> AgentResponseBuilder {
        AgentResponseBuilder {
            response: Self {
                id,
                request_id,
                timestamp,
                content: content.into(),
                actions: None,
                metadata: None,
                extra: Map::new(),
            },
            actions: Vec::new(),
            metadata: ResponseMetadata::default(),
        }
    }
}

impl AgentResponseBuilder {
    /// Adds something that was done.
    pub fn action(
        mut self,
        action_type: ActionType,
        timestamp: Timestamp,
        details: Map<String, Value>,
    ) -> Self {
        let extra = Map::new();
        self.actions.push(Action {
            action_type,
            timestamp,
            details: Some(details),
            extra,
        });
        self
    }

    /// Adds a tool that was used; each is named once.
    pub fn tool_used(mut self, tool: impl Into<String>) -> Self {
        let tool = tool.into();
        let tools = self.metadata.tools_used.get_or_insert_default();
        if !tools.contains(&tool) {
            tools.push(tool);
        }
        self
    }

    /// Says how long it took, in milliseconds.
    pub fn execution_time_ms(mut self, elapsed_ms: u64) -> Self {
        self.metadata.execution_time_ms = i64::try_from(elapsed_ms).ok().and_then(Integer::new);
        self
    }

    /// Adds a field to the metadata that the seed does not name.
    pub fn metadata(mut self, field: impl Into<String>, value: Value) -> Self {
        self.metadata.extra.insert(field.into(), value);
        self
    }

    /// The response.
    #[must_use]
    pub fn build(self) -> AgentResponse {
        let Self {
            mut response,
            actions,
            mut metadata,
        } = self;
        metadata.tools_used.get_or_insert_default();
        response.actions = Some(actions);
        response.metadata = Some(metadata);
        response
    }
}

impl Contract for AgentResponse {
    const NAME: SchemaName = SchemaName::AgentResponse;

    fn check(&self, _: &mut Report) {}
}
