//! The output of a stage's step, as journaled.

use charter_contract::ids::ToolId;

use charter_contract::validate::{Contract, read_value};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A call that a worker or researcher needs before it can answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestedCall {
    /// The tool.
    pub tool: ToolId,
    /// Its parameters.
    #[serde(default)]
    pub parameters: Map<String, Value>,
}

/// The output of a stage: the artifacts that it created, or the calls that it needs first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StageOutput {
    /// The artifacts in the order of creation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Value>,
    /// The calls that are needed before the next turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wanted: Vec<RequestedCall>,
    /// The result of executing a proposal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// The model that answered, as `provider/model`; absent if no model was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl StageOutput {
    /// Reads a step's output; `None` if it does not belong to a stage.
    #[must_use]
    pub fn read(output: &Value) -> Option<Self> {
        serde_json::from_value(output.clone()).ok()
    }

    /// Returns the artifacts of one type.
    #[must_use]
    pub fn all<T: Contract>(&self) -> Vec<T> {
        let named = |value: &&Value| {
            value.get("schema_name").and_then(Value::as_str) == Some(T::NAME.as_str())
        };
        let read = |value| read_value::<T>(value).ok().map(|(artifact, _)| artifact);
        self.artifacts
            .iter()
            .filter(named)
            .filter_map(read)
            .collect()
    }

    /// Returns the first artifact of one type.
    #[must_use]
    pub fn first<T: Contract>(&self) -> Option<T> {
        self.all().into_iter().next()
    }
}
