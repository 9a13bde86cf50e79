//! Refuses a body that is not a message of the protocol: 400, with an error that has no id because none could be read
//! (2025-11-25, Streamable HTTP; JSON-RPC 2.0, section 5.1).

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use charter_contract::json::{Profile, decode};
use rmcp::ErrorData;
use rmcp::model::JsonRpcError;
use serde_json::Value;

use crate::json::Json;

/// The answer to a body that could not be read.
pub(super) fn refuse_body(body: &[u8]) -> Response {
    let error = JsonRpcError::new(None, fault(body));
    (StatusCode::BAD_REQUEST, Json(error)).into_response()
}

/// The fault of a body.
fn fault(body: &[u8]) -> ErrorData {
    match decode::<Value>(body, Profile::MCP_MESSAGE.of_bytes(usize::MAX)) {
        Err(error) => ErrorData::parse_error(format!("the body is not JSON: {error}"), None),
        Ok(Value::Array(_)) => {
            let message = "a body must be one message: send the messages of a batch one by one";
            ErrorData::invalid_request(message, None)
        }
        Ok(_) => {
            let message = "the body is not a JSON-RPC 2.0 message: it needs `\"jsonrpc\": \"2.0\"`, a `method`, and \
                           in a request an `id` that is a string or an integer";
            ErrorData::invalid_request(message, None)
        }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::ErrorCode;

    use super::*;

    #[test]
    fn each_fault_of_a_body_has_its_code() {
        for (body, code, part) in [
            (
                r#"{"jsonrpc": "2.0", "id"#,
                ErrorCode::PARSE_ERROR,
                "not JSON",
            ),
            ("", ErrorCode::PARSE_ERROR, "not JSON"),
            (
                r#"[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]"#,
                ErrorCode::INVALID_REQUEST,
                "one by one",
            ),
            ("[]", ErrorCode::INVALID_REQUEST, "one by one"),
            (
                r#"{"id": 1, "method": "ping"}"#,
                ErrorCode::INVALID_REQUEST,
                "jsonrpc",
            ),
            (r#""ping""#, ErrorCode::INVALID_REQUEST, "jsonrpc"),
        ] {
            let fault = fault(body.as_bytes());
            assert_eq!(fault.code, code, "{body}");
            assert!(fault.message.contains(part), "{body}: {}", fault.message);
        }
    }

    #[test]
    fn a_refusal_has_no_id() {
        let written = serde_json::to_value(JsonRpcError::new(None, fault(b"[]"))).unwrap();
        assert_eq!(written["jsonrpc"], "2.0");
        assert_eq!(written.get("id"), None);
    }
}
