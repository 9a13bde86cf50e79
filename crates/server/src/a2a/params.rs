//! The parameters of the protocol's methods as clients send them.
//!
//! Unknown fields are ignored, because newer minor versions may add some (section 5.7). Names may be those of ProtoJSON
//! or of the protocol's definition. Errors use those of ProtoJSON.

use charter_contract::json::{JsonFault, Profile, decode};
use charter_contract::registry::read_typed;
use charter_contract::time::Timestamp;
use charter_engine::TaskState;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::error::{A2aError, Kind};

/// The default and the largest page size of tasks (`ListTasksRequest`).
const PAGE: usize = 50;
const MAX_PAGE: usize = 100;

/// `SendMessageRequest`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SendMessage {
    #[serde(default)]
    pub(super) tenant: Option<String>,
    pub(super) message: Message,
    #[serde(default)]
    pub(super) configuration: Option<Configuration>,
}

/// `Message`, with the fields that are read from a client's message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Message {
    #[serde(alias = "message_id")]
    pub(super) message_id: String,
    #[serde(default, alias = "context_id")]
    pub(super) context_id: Option<String>,
    #[serde(default, alias = "task_id")]
    pub(super) task_id: Option<String>,
    #[serde(default)]
    pub(super) role: Option<String>,
    #[serde(default)]
    pub(super) parts: Vec<Map<String, Value>>,
}

/// `SendMessageConfiguration`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Configuration {
    #[serde(default, alias = "accepted_output_modes")]
    pub(super) accepted_output_modes: Option<Vec<String>>,
    #[serde(default, alias = "task_push_notification_config")]
    pub(super) task_push_notification_config: Option<Value>,
    #[serde(default, alias = "history_length")]
    pub(super) history_length: Option<i32>,
    #[serde(default, alias = "return_immediately")]
    pub(super) return_immediately: Option<bool>,
}

/// `GetTaskRequest`, `CancelTaskRequest` and `SubscribeToTaskRequest`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskParams {
    #[serde(default)]
    pub(super) tenant: Option<String>,
    pub(super) id: String,
    #[serde(default, alias = "history_length")]
    pub(super) history_length: Option<i32>,
}

/// `ListTasksRequest`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListTasks {
    #[serde(default)]
    pub(super) tenant: Option<String>,
    #[serde(default, alias = "context_id")]
    pub(super) context_id: Option<String>,
    #[serde(default)]
    pub(super) status: Option<String>,
    #[serde(default, alias = "page_size")]
    pub(super) page_size: Option<i64>,
    #[serde(default, alias = "page_token")]
    pub(super) page_token: Option<String>,
    #[serde(default, alias = "history_length")]
    pub(super) history_length: Option<i32>,
    #[serde(default, alias = "status_timestamp_after")]
    pub(super) status_timestamp_after: Option<String>,
    #[serde(default, alias = "include_artifacts")]
    pub(super) include_artifacts: Option<bool>,
}

/// `GetExtendedAgentCardRequest`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct GetCard {
    #[serde(default)]
    pub(super) tenant: Option<String>,
}

/// Parses a body, whose bytes were limited when it was received.
pub(super) fn parsed(body: &[u8]) -> Result<Value, A2aError> {
    decode(body, Profile::MESSAGE.of_bytes(usize::MAX)).map_err(|fault| {
        let message = match fault {
            JsonFault::TooMuch(much) => format!("the body {much}"),
            JsonFault::Form(error) => {
                let place = format!("line {}, column {}", error.line(), error.column());
                format!("the body is not valid JSON: {place}")
            }
        };
        A2aError::new(Kind::Parse, message)
    })
}

/// Reads the parameters of a method.
pub(super) fn read<T>(mut params: Value) -> Result<T, A2aError>
where
    T: DeserializeOwned + JsonSchema + 'static,
{
    if let Ok(read) = T::deserialize(&params) {
        return Ok(read);
    }
    if let Some(fields) = params.as_object_mut() {
        settle(fields);
        for inside in ["message", "configuration"] {
            if let Some(Value::Object(fields)) = fields.get_mut(inside) {
                settle(fields);
            }
        }
    }
    read_typed(&params).map_err(|violations| A2aError::of_violations(&violations))
}

/// Normalizes fields to ProtoJSON: JSON names, without `null` values.
fn settle(fields: &mut Map<String, Value>) {
    fields.retain(|_, value| !value.is_null());
    let by_definition: Vec<String> = fields
        .keys()
        .filter(|name| name.contains('_'))
        .cloned()
        .collect();
    for name in by_definition {
        if let Some(value) = fields.remove(&name) {
            fields.entry(in_json(&name)).or_insert(value);
        }
    }
}

/// The JSON name of a field of the protocol's definition.
fn in_json(name: &str) -> String {
    let mut parts = name.split('_');
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut letters = part.chars();
        written.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        written.push_str(letters.as_str());
    }
    written
}

/// Refuses a tenant: the card declares none for its interfaces, and the credential determines the tenant.
pub(super) fn no_tenant(tenant: Option<&String>) -> Result<(), A2aError> {
    match tenant {
        Some(tenant) if !tenant.is_empty() => Err(A2aError::param(
            "tenant",
            "the agent card declares no extensions, so none may be sent",
        )),
        Some(_) | None => Ok(()),
    }
}

/// The requested length of the history; unlimited if absent.
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
                A2aError::param("status", "is not a TaskState, e.g. TASK_STATE_WORKING")
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
    TaskState::AuthorizationRequired,
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
        TaskState::AuthorizationRequired => "TASK_STATE_AUTH_REQUIRED",
        TaskState::Completed => "TASK_STATE_COMPLETED",
        TaskState::Failed => "TASK_STATE_FAILED",
        TaskState::Canceled => "TASK_STATE_CANCELED",
        TaskState::Rejected => "TASK_STATE_REJECTED",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn violations(params: Value) -> Value {
        let error = read::<SendMessage>(params).unwrap_err().rpc();
        error["data"][1]["fieldViolations"].clone()
    }

    fn missing(field: &str, within: &str) -> Value {
        json!({"field": within, "description": format!("the field `{field}` is missing")})
    }

    #[test]
    fn errors_name_fields_as_they_are_in_json() {
        assert_eq!(
            violations(json!({"message": {"parts": []}})),
            json!([missing("messageId", "message")])
        );
        assert_eq!(violations(json!({})), json!([missing("message", "")]));
        let wrong = json!({
            "message": {"message_id": 7, "parts": [1], "role": null},
            "configuration": {"history_length": "all", "return_immediately": true},
        });
        let found = violations(wrong);
        let found = found.as_array().unwrap().iter();
        let mut fields: Vec<&str> = found.map(|one| one["field"].as_str().unwrap()).collect();
        fields.sort_unstable();
        assert_eq!(
            fields,
            [
                "configuration.historyLength",
                "message.messageId",
                "message.parts[0]"
            ]
        );
    }

    #[test]
    fn names_of_the_definition_and_nulls_are_read() {
        let sent =
            json!({"tenant": null, "message": {"message_id": "m", "task_id": "t", "parts": null}});
        let read: SendMessage = read(sent).unwrap();
        let message = read.message;
        assert_eq!(
            (message.message_id.as_str(), message.task_id.as_deref()),
            ("m", Some("t"))
        );
        assert_eq!(in_json("status_timestamp_after"), "statusTimestampAfter");
    }
}
