//! Responses of the system (003 Response Schema) and their builder.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{RequestId, ResponseId};
use crate::number::Integer;
use crate::optional::present;
use crate::schema::SchemaName;
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

/// A response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentResponse {
    /// Id of the response.
    pub id: ResponseId,
    /// Request that the response answers.
    pub request_id: RequestId,
    /// Creation time.
    pub timestamp: Timestamp,
    /// The answer, in natural language.
    pub content: String,
    /// Actions performed for the answer.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub actions: Option<Vec<Action>>,
    /// Metadata about the execution.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub metadata: Option<ResponseMetadata>,
    /// Fields outside the seed's schema.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One performed action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// Type of the action.
    pub action_type: ActionType,
    /// Time of the action.
    pub timestamp: Timestamp,
    /// Details of the action.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub details: Option<Map<String, Value>>,
    /// Fields outside the seed's schema.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

string_enum! {
    /// Type of an action (003 Response Schema).
    pub enum ActionType {
        /// Changed a file.
        FileEdit = "file_edit",
        /// Created a file.
        FileCreate = "file_create",
        /// Ran a command or tool.
        CommandExecution = "command_execution",
        /// Ran a search.
        Search = "search",
        /// Drew a chart.
        Visualization = "visualization",
    }
}

/// Metadata about the execution of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ResponseMetadata {
    /// Execution time, in milliseconds.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub execution_time_ms: Option<Integer>,
    /// Names of the tools used.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub tools_used: Option<Vec<String>>,
    /// Fields outside the seed's schema: findings, evidence, verdict.
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
    /// Adds a performed action.
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

    /// Adds a tool; each is listed once.
    pub fn tool_used(mut self, tool: impl Into<String>) -> Self {
        let tool = tool.into();
        let tools = self.metadata.tools_used.get_or_insert_default();
        if !tools.contains(&tool) {
            tools.push(tool);
        }
        self
    }

    /// Sets the execution time, in milliseconds.
    pub fn execution_time_ms(mut self, elapsed_ms: u64) -> Self {
        self.metadata.execution_time_ms = i64::try_from(elapsed_ms).ok().and_then(Integer::new);
        self
    }

    /// Adds a metadata field outside the seed's schema.
    pub fn metadata(mut self, field: impl Into<String>, value: Value) -> Self {
        self.metadata.extra.insert(field.into(), value);
        self
    }

    /// Builds the response.
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
