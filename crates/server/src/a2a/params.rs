//! The parameters of the protocol's methods as clients send them.
//!
//! Unknown fields are passed over, as newer minor versions may have more (section 5.7); names are read
//! as ProtoJSON writes them, or as the protocol's definition does.

use charter_contract::json::{JsonFault, Profile, decode};
use charter_contract::time::Timestamp;
use charter_engine::TaskState;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::error::{A2aError, Kind};

/// Tasks of a page when nothing else is asked for, and at most (`ListTasksRequest`).
const PAGE: usize = 50;
const MAX_PAGE: usize = 100;

/// How much is said of what cannot be read, in characters: it repeats what was sent.
const SHOWN: usize = 200;

/// `SendMessageRequest`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct SendMessage {
    #[serde(default)]
    pub(super) tenant: Option<String>,
    pub(super) message: Message,
    #[serde(default)]
    pub(super) configuration: Option<Configuration>,
}

/// `Message`, as far as one from a client is read.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct Message {
    #[serde(alias = "messageId")]
    pub(super) message_id: String,
    #[serde(default, alias = "contextId")]
    pub(super) context_id: Option<String>,
    #[serde(default, alias = "taskId")]
    pub(super) task_id: Option<String>,
    #[serde(default)]
    pub(super) role: Option<String>,
    #[serde(default)]
    pub(super) parts: Vec<Map<String, Value>>,
}

/// `SendMessageConfiguration`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct Configuration {
    #[serde(default, alias = "acceptedOutputModes")]
    pub(super) accepted_output_modes: Option<Vec<String>>,
    #[serde(default, alias = "taskPushNotificationConfig")]
    pub(super) task_push_notification_config: Option<Value>,
    #[serde(default, alias = "historyLength")]
    pub(super) history_length: Option<i32>,
    #[serde(default, alias = "returnImmediately")]
    pub(super) return_immediately: Option<bool>,
}

/// `GetTaskRequest`, `CancelTaskRequest` and `SubscribeToTaskRequest`.
#[derive(Debug, Deserialize)]
pub(super) struct OfTask {
    #[serde(default)]
    pub(super) tenant: Option<String>,
    pub(super) id: String,
    #[serde(default, alias = "historyLength")]
    pub(super) history_length: Option<i32>,
}

/// `ListTasksRequest`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ListTasks {
    #[serde(default)]
    pub(super) tenant: Option<String>,
    #[serde(default, alias = "contextId")]
    pub(super) context_id: Option<String>,
    #[serde(default)]
    pub(super) status: Option<String>,
    #[serde(default, alias = "pageSize")]
    pub(super) page_size: Option<i64>,
    #[serde(default, alias = "pageToken")]
    pub(super) page_token: Option<String>,
    #[serde(default, alias = "historyLength")]
    pub(super) history_length: Option<i32>,
    #[serde(default, alias = "statusTimestampAfter")]
    pub(super) status_timestamp_after: Option<String>,
    #[serde(default, alias = "includeArtifacts")]
    pub(super) include_artifacts: Option<bool>,
}

/// `GetExtendedAgentCardRequest`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct GetCard {
    #[serde(default)]
    pub(super) tenant: Option<String>,
}

/// Reads a body, which was bounded in bytes where it came in.
pub(super) fn parsed(body: &[u8]) -> Result<Value, A2aError> {
    decode(body, Profile::MESSAGE.of_bytes(usize::MAX)).map_err(|fault| {
        let message = match fault {
            JsonFault::TooMuch(much) => format!("the body {much}"),
            JsonFault::Form(error) => {
                let place = format!("line {}, column {}", error.line(), error.column());
                format!("the body is no JSON that can be read: {place}")
            }
        };
        A2aError::new(Kind::Parse, message)
    })
}

/// Reads the parameters of a method.
pub(super) fn read<T: DeserializeOwned>(params: Value) -> Result<T, A2aError> {
    serde_json::from_value(params).map_err(|error| {
        let said: String = error.to_string().chars().take(SHOWN).collect();
        let message = format!("the parameters cannot be read: {said}");
        A2aError::new(Kind::InvalidParams, message)
    })
}

/// The card declares no tenant for any interface, and whose data it is the credential says.
pub(super) fn no_tenant(tenant: Option<&String>) -> Result<(), A2aError> {
    match tenant {
        Some(tenant) if !tenant.is_empty() => Err(A2aError::param(
            "tenant",
            "the agent card declares none, so none may be sent",
        )),
        Some(_) | None => Ok(()),
    }
}

/// How much history is wanted: all that there is when it is not said.
pub(super) fn history(length: Option<i32>) -> Result<usize, A2aError> {
    match length {
        None => Ok(usize::MAX),
        Some(length) => usize::try_from(length)
            .map_err(|_| A2aError::param("historyLength", "must not be negative")),
    }
}

impl ListTasks {
    pub(super) fn page_size(&self) -> Result<usize, A2aError> {
        let asked = self.page_size.map(usize::try_from);
        match asked {
            None => Ok(PAGE),
            Some(Ok(size)) if (1..=MAX_PAGE).contains(&size) => Ok(size),
            Some(_) => Err(A2aError::param(
                "pageSize",
                format!("must be between 1 and {MAX_PAGE}"),
            )),
        }
    }

    pub(super) fn state(&self) -> Result<Option<TaskState>, A2aError> {
        match self.status.as_deref() {
            None | Some("" | "TASK_STATE_UNSPECIFIED") => Ok(None),
            Some(name) => state(name).map(Some).ok_or_else(|| {
                A2aError::param("status", "is no TaskState, e.g. TASK_STATE_WORKING")
            }),
        }
    }

    pub(super) fn since(&self) -> Result<Option<Timestamp>, A2aError> {
        let text = self.status_timestamp_after.as_deref();
        let parsed = text.filter(|text| !text.is_empty()).map(Timestamp::parse);
        parsed
            .transpose()
            .map_err(|error| A2aError::param("statusTimestampAfter", error.to_string()))
    }
}

const STATES: [TaskState; 8] = [
    TaskState::Submitted,
    TaskState::Working,
    TaskState::InputRequired,
    TaskState::ApprovalRequired,
    TaskState::Completed,
    TaskState::Failed,
    TaskState::Canceled,
    TaskState::Rejected,
];

fn state(name: &str) -> Option<TaskState> {
    STATES.into_iter().find(|state| state_name(*state) == name)
}

/// The name of a state (section 4.1.3).
pub(super) fn state_name(state: TaskState) -> &'static str {
    match state {
        TaskState::Submitted => "TASK_STATE_SUBMITTED",
        TaskState::Working => "TASK_STATE_WORKING",
        TaskState::InputRequired => "TASK_STATE_INPUT_REQUIRED",
        TaskState::ApprovalRequired => "TASK_STATE_AUTH_REQUIRED",
        TaskState::Completed => "TASK_STATE_COMPLETED",
        TaskState::Failed => "TASK_STATE_FAILED",
        TaskState::Canceled => "TASK_STATE_CANCELED",
        TaskState::Rejected => "TASK_STATE_REJECTED",
    }
}
