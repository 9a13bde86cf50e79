//! The JSON-RPC binding (section 9): one call for each HTTP request. A failure that the protocol defines has status
//! 200. A caller without permission, or with too large a body, gets REST's error.

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::call::{self, Method, Reply};
use super::error::{A2aError, Kind};
use super::params::parsed;
use super::show::with_field;
use super::version;
use crate::extract::{Authenticated, Bytes};
use crate::json::Json;
use crate::state::AppState;
use crate::streams;

/// The schema of a call, for the OpenAPI document.
#[derive(JsonSchema)]
#[expect(
    dead_code,
    reason = "a call that breaks it gets an answer with its id: `read` looks"
)]
pub(crate) struct JsonRpcCall {
    /// `2.0`.
    #[schemars(regex(pattern = r"^2\.0$"))]
    jsonrpc: String,
    /// The id that the answer repeats: a string or an integer.
    id: Option<String>,
    /// `SendMessage`, `GetTask`, …
    method: String,
    /// The method's parameters.
    params: Option<Map<String, Value>>,
}

/// A call.
struct Call {
    id: Value,
    method: Method,
    params: Value,
}

/// Call a method of A2A 1.0 by JSON-RPC 2.0.
///
/// Needs `A2A-Version: 1.0`. `SendStreamingMessage` and `SubscribeToTask` answer with `text/event-stream`.
#[utoipa::path(post, path = "/a2a", tag = "a2a", operation_id = "a2a_call", params(("A2A-Version" = String, Header, description = "`1.0`")), request_body = ref("#/components/schemas/a2a_call"),
    responses((status = 200, description = "A JSON-RPC response, or a stream of them", content((Object = "application/json"), (String = "text/event-stream")))))]
pub(super) async fn call(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    uri: Uri,
    headers: HeaderMap,
    Bytes(body): Bytes,
) -> Response {
    let call = match read(&body) {
        Ok(call) => call,
        Err((id, error)) => return failed(&id, &error),
    };
    if let Err(error) = version::check(&headers, &uri) {
        return failed(&call.id, &error);
    }
    match call::call(&state, &caller, call.method, call.params).await {
        Err(error) => failed(&call.id, &error),
        Ok(Reply::One(result)) => Json(answered(&call.id, result)).into_response(),
        Ok(Reply::Many(events, place)) => {
            let events = events.map(move |event| {
                let data = answered(&call.id, event).to_string();
                (Event::default(), data)
            });
            streams::sent(&state, &headers, *place, events)
        }
    }
}

/// Reads a call; an error carries the call's id if it is readable.
fn read(body: &[u8]) -> Result<Call, (Value, A2aError)> {
    let sent = parsed(body).map_err(|error| (Value::Null, error))?;
    let refused =
        |id: &Value, message: &str| (id.clone(), A2aError::new(Kind::InvalidRequest, message));
    let mut call: Map<String, Value> = match sent {
        Value::Object(call) => call,
        Value::Array(_) => {
            return Err(refused(
                &Value::Null,
                "batches are not supported: send one call",
            ));
        }
        _ => return Err(refused(&Value::Null, "a call must be an object")),
    };
    let id = call.remove("id").unwrap_or_default();
    if !(id.is_null() || id.is_string() || id.is_i64() || id.is_u64()) {
        return Err(refused(
            &Value::Null,
            "an id must be a string, an integer or null",
        ));
    }
    if call.get("jsonrpc") != Some(&Value::from("2.0")) {
        return Err(refused(&id, "`jsonrpc` must be \"2.0\""));
    }
    let Some(Value::String(name)) = call.remove("method") else {
        return Err(refused(&id, "`method` must be a string"));
    };
    let params = match call.remove("params") {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(params @ Value::Object(_)) => params,
        Some(_) => {
            let error = A2aError::new(Kind::InvalidParams, "`params` must be an object");
            return Err((id, error));
        }
    };
    match name.parse() {
        Ok(method) => Ok(Call { id, method, params }),
        Err(()) => {
            let shown: String = name.chars().take(80).collect();
            let message = format!("there is no method `{shown}`");
            Err((id, A2aError::new(Kind::MethodNotFound, message)))
        }
    }
}

fn answered(id: &Value, result: Value) -> Value {
    with_field(json!({"jsonrpc": "2.0", "id": id}), "result", result)
}

fn failed(id: &Value, error: &A2aError) -> Response {
    Json(json!({"jsonrpc": "2.0", "id": id, "error": error.rpc()})).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(body: &str) -> (Value, i64) {
        let (id, error) = read(body.as_bytes()).err().unwrap();
        (id, error.rpc()["code"].as_i64().unwrap())
    }

    /// A2A 1.0 section 9.5, JSON-RPC 2.0.
    #[test]
    fn an_invalid_call_is_refused_with_its_json_rpc_code() {
        let deep = "[".repeat(100_000);
        let deeper = "[".repeat(81) + &"]".repeat(81);
        let heavy = format!("[{}0]", "{\"\":0},".repeat(200_000));
        for (body, id, code) in [
            ("", json!(null), -32_700),
            ("{\"jsonrpc\": ", json!(null), -32_700),
            (deep.as_str(), json!(null), -32_700),
            (deeper.as_str(), json!(null), -32_700),
            (heavy.as_str(), json!(null), -32_700),
            ("\u{feff}{}", json!(null), -32_600),
            ("\u{feff}{", json!(null), -32_700),
            ("[]", json!(null), -32_600),
            ("7", json!(null), -32_600),
            (
                r#"{"jsonrpc": "1.0", "id": 1, "method": "GetTask"}"#,
                json!(1),
                -32_600,
            ),
            (
                r#"{"jsonrpc": "2.0", "id": {}, "method": "GetTask"}"#,
                json!(null),
                -32_600,
            ),
            (
                r#"{"jsonrpc": "2.0", "id": 1.5, "method": "GetTask"}"#,
                json!(null),
                -32_600,
            ),
            (
                r#"{"jsonrpc": "2.0", "id": true, "method": "GetTask"}"#,
                json!(null),
                -32_600,
            ),
            (r#"{"jsonrpc": "2.0", "id": "a"}"#, json!("a"), -32_600),
            (
                r#"{"jsonrpc": "2.0", "id": "a", "method": 7}"#,
                json!("a"),
                -32_600,
            ),
            (
                r#"{"jsonrpc": "2.0", "id": "a", "method": "message/send"}"#,
                json!("a"),
                -32_601,
            ),
            (
                r#"{"jsonrpc": "2.0", "id": "a", "method": "GetTask", "params": []}"#,
                json!("a"),
                -32_602,
            ),
        ] {
            assert_eq!(refusal(body), (id, code), "{body:.80}");
        }
    }

    #[test]
    fn a_call_with_a_number_that_would_be_rounded_is_refused_with_its_pointer() {
        let body = r#"{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": 18446744073709551616}}"#;
        assert_eq!(refusal(body), (json!(null), -32_700));
        let (_, error) = read(body.as_bytes()).err().unwrap();
        assert_eq!(
            error.rpc()["message"],
            "the body has the number 18446744073709551616 at `/params/id`, which would be rounded: an integer has at \
             most 64 bits, any other number is at most 1.8e308; send it as text"
        );
    }

    #[test]
    fn a_call_without_parameters_has_none() {
        let call = read(br#"{"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}"#)
            .ok()
            .unwrap();
        assert_eq!(
            (call.id, call.method, call.params),
            (json!(1), Method::ListTasks, json!({}))
        );
    }
}
