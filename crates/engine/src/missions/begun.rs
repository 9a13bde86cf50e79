//! How a mission began, as its run keeps it.

use charter_domain::run::Run;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{EngineError, Tier};

/// The data of a mission's run beside the envelope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct MissionStart {
    /// Whether the offline provider answers.
    pub(super) offline: bool,
    /// The tier of the caller that started it.
    pub(super) tier: Tier,
    /// The message that it was begun with, where another agent sent one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<FirstMessage>,
}

/// The message of another agent that began a mission.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FirstMessage {
    /// The agent's id for it.
    pub(crate) message_id: String,
    /// The conversation that it belongs to.
    pub(crate) context: String,
    /// The program that it sent.
    pub(crate) wishes: Map<String, Value>,
}

/// How a mission began.
pub(super) fn begun_of(run: &Run) -> Result<MissionStart, EngineError> {
    let begun = run.parameters().get("begun").cloned().unwrap_or_default();
    serde_json::from_value(begun)
        .map_err(|error| EngineError::internal("reading the start of a mission", error))
}
