//! The HTTP+JSON binding (section 11). The last segment of a path may end with a colon and a verb.

use axum::extract::FromRequestParts;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri};
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use charter_engine::{Caller, apart};
use futures_util::StreamExt;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::call::{self, Method, Reply};
use super::error::{A2aError, Kind, Violations};
use super::params::parsed;
use super::version;
use crate::error::ApiError;
use crate::extract::{Authenticated, Bytes, Path, QueryParams};
use crate::json::Json;
use crate::state::AppState;
use crate::streams;

/// The media type of the binding (section 11.1).
const MEDIA_TYPE: &str = "application/a2a+json";

/// The numeric parameters of `ListTasks` and `GetTask`, and the boolean ones.
const NUMBERS: [&str; 2] = ["pageSize", "historyLength"];
const TRUTHS: [&str; 1] = ["includeArtifacts"];

/// The paths of the binding.
pub(super) fn routes() -> OpenApiRouter<AppState> {
    let configs = "/a2a/v1/tasks/{id}/pushNotificationConfigs";
    OpenApiRouter::new()
        .routes(routes!(send))
        .routes(routes!(send_streaming))
        .routes(routes!(list))
        .routes(routes!(read_task, act_on_task))
        .routes(routes!(card))
        .route(configs, get(push).post(push))
        .route(&format!("{configs}/{{config}}"), get(push).delete(push))
}

/// The client's protocol version (section 3.6).
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(
    dead_code,
    reason = "for the document: `version` reads the header, or the query"
)]
struct VersionHeader {
    /// `1.0`; if absent, the version is 0.3, which is not supported.
    #[param(rename = "A2A-Version", pattern = r"^1\.0$")]
    version: String,
}

/// A request without its body.
struct BodylessRequest {
    state: AppState,
    caller: Caller,
    headers: HeaderMap,
    uri: Uri,
}

impl FromRequestParts<AppState> for BodylessRequest {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let Authenticated(caller) = Authenticated::from_request_parts(parts, state).await?;
        Ok(Self {
            state: state.clone(),
            caller,
            headers: parts.headers.clone(),
            uri: parts.uri.clone(),
        })
    }
}

impl BodylessRequest {
    async fn call(self, method: Method, params: Result<Value, A2aError>) -> Response {
        let reply = match version::check(&self.headers, &self.uri).and(params) {
            Ok(params) => call::call(&self.state, &self.caller, method, params).await,
            Err(error) => Err(error),
        };
        match reply {
            Ok(Reply::One(value)) => {
                let text = apart(|| value.to_string());
                ([(CONTENT_TYPE, MEDIA_TYPE)], text).into_response()
            }
            Ok(Reply::Many(events, place)) => {
                let events = events.map(|event| (Event::default(), event.to_string()));
                streams::sent(&self.state, &self.headers, *place, events)
            }
            Err(error) => {
                let (status, body) = error.http();
                (status, Json(body)).into_response()
            }
        }
    }
}

fn body(bytes: &[u8]) -> Result<Value, A2aError> {
    match parsed(bytes)? {
        body @ Value::Object(_) => Ok(body),
        _ => Err(A2aError::new(
            Kind::InvalidRequest,
            "the body must be an object",
        )),
    }
}

/// Converts query parameters to the fields that they set.
fn query(asked: HashMap<String, String>) -> Result<Map<String, Value>, A2aError> {
    let mut violations = Violations::default();
    let mut fields = Map::new();
    for (name, text) in asked {
        let value = if NUMBERS.contains(&name.as_str()) {
            let number = text.parse::<i64>().map(Value::from);
            violations.keep(number.map_err(|_| A2aError::param(&name, "must be a number")))
        } else if TRUTHS.contains(&name.as_str()) {
            let truth = text.parse::<bool>().map(Value::from);
            violations.keep(truth.map_err(|_| A2aError::param(&name, "must be true or false")))
        } else {
            Some(Value::from(text))
        };
        fields.extend(value.map(|value| (name, value)));
    }
    violations.unless_any(Some(fields))
}

/// Send a message: start a task, or reply to one (A2A 1.0 SendMessage).
#[utoipa::path(post, path = "/a2a/v1/message:send", tag = "a2a", operation_id = "a2a_send_message",
    params(VersionHeader), request_body = ref("#/components/schemas/a2a_message"), responses((status = 200, description = "The task", body = Object, content_type = "application/a2a+json")))]
async fn send(request: BodylessRequest, Bytes(bytes): Bytes) -> Response {
    request.call(Method::SendMessage, body(&bytes)).await
}

/// Send a message and follow the task (A2A 1.0 SendStreamingMessage).
#[utoipa::path(post, path = "/a2a/v1/message:stream", tag = "a2a", operation_id = "a2a_stream_message",
    params(VersionHeader), request_body = ref("#/components/schemas/a2a_message"), responses((status = 200, description = "StreamResponses as events", body = String, content_type = "text/event-stream")))]
async fn send_streaming(request: BodylessRequest, Bytes(bytes): Bytes) -> Response {
    request
        .call(Method::SendStreamingMessage, body(&bytes))
        .await
}

/// List the caller's tasks, most recently changed first (A2A 1.0 ListTasks).
#[utoipa::path(get, path = "/a2a/v1/tasks", tag = "a2a", operation_id = "a2a_list_tasks",
    params(VersionHeader), responses((status = 200, description = "A page of tasks", body = Object, content_type = "application/a2a+json")))]
async fn list(
    request: BodylessRequest,
    QueryParams(asked): QueryParams<HashMap<String, String>>,
) -> Response {
    request
        .call(Method::ListTasks, query(asked).map(Value::Object))
        .await
}

/// Show a task, or follow it with `:subscribe` after its id (A2A 1.0 GetTask, SubscribeToTask).
#[utoipa::path(get, path = "/a2a/v1/tasks/{id}", tag = "a2a", operation_id = "a2a_get_task",
    params(("id" = String, Path, description = "`req-…`"), VersionHeader),
    responses((status = 200, description = "The task, or events", content((Object = "application/a2a+json"), (String = "text/event-stream")))))]
async fn read_task(
    request: BodylessRequest,
    Path(id): Path<String>,
    QueryParams(asked): QueryParams<HashMap<String, String>>,
) -> Response {
    let (id, method) = match id.split_once(':') {
        None => (id.as_str(), Method::GetTask),
        Some((id, "subscribe")) => (id, Method::SubscribeToTask),
        Some(_) => return nothing_there(),
    };
    let params = query(asked).map(|mut params| {
        params.insert("id".to_owned(), json!(id));
        Value::Object(params)
    });
    request.call(method, params).await
}

/// Cancel or follow a task: `:cancel` or `:subscribe` after its id (A2A 1.0 CancelTask).
#[utoipa::path(post, path = "/a2a/v1/tasks/{id}", tag = "a2a", operation_id = "a2a_act_on_task",
    params(("id" = String, Path, description = "`req-…:cancel` or `req-…:subscribe`"), VersionHeader),
    responses((status = 200, description = "The task, or events", content((Object = "application/a2a+json"), (String = "text/event-stream")))))]
async fn act_on_task(request: BodylessRequest, Path(id): Path<String>) -> Response {
    let (id, method) = match id.split_once(':') {
        Some((id, "cancel")) => (id, Method::CancelTask),
        Some((id, "subscribe")) => (id, Method::SubscribeToTask),
        Some(_) | None => return nothing_there(),
    };
    request.call(method, Ok(json!({"id": id}))).await
}

fn nothing_there() -> Response {
    let error = A2aError::new(Kind::MethodNotFound, "this path does not exist");
    let (status, body) = error.http();
    (status, Json(body)).into_response()
}

async fn push(request: BodylessRequest) -> Response {
    request
        .call(Method::PushNotifications, Ok(Value::Null))
        .await
}

/// The agent card with what is visible to the caller (A2A 1.0 GetExtendedAgentCard).
#[utoipa::path(get, path = "/a2a/v1/extendedAgentCard", tag = "a2a", operation_id = "get_extended_agent_card",
    params(VersionHeader), responses((status = 200, description = "An AgentCard, signed", body = Object, content_type = "application/a2a+json")))]
async fn card(request: BodylessRequest) -> Response {
    request
        .call(Method::GetExtendedAgentCard, Ok(json!({})))
        .await
}
