//! Failures for clients of the protocol: the public code, message and hint, without internals.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::RequestId;
use charter_engine::{Engine, EngineError};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

use crate::error::{log, new_request_id};

/// The result of a failed tool: an AgentError (seed 003), for the client's model.
pub(super) fn failed(
    engine: &Engine,
    error: &EngineError,
    request: Option<&RequestId>,
) -> CallToolResult {
    let request = request.cloned().unwrap_or_else(new_request_id);
    log(error, &request);
    let error = engine.responses().agent_error(&request, error);
    error_result(&serde_json::to_value(error).unwrap_or_default())
}

/// A tool's error result, as JSON in its text. `structuredContent` would have to match the tool's `outputSchema`:
/// clients also validate errors against it, and then show the violation in place of the error.
pub(super) fn error_result(error: &Value) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(error.to_string())])
}

/// The error of a failed request that is not a tool call.
pub(super) fn protocol_error(error: &EngineError) -> ErrorData {
    log(error, &new_request_id());
    let data = data_of(error);
    let message = error.to_string();
    match error.code {
        ErrorCode::NotFound | ErrorCode::SessionNotFound => {
            ErrorData::resource_not_found(message, data)
        }
        code if crate::error::status(code).is_server_error() => {
            ErrorData::internal_error(message, data)
        }
        _ => ErrorData::invalid_params(message, data),
    }
}

/// The error of a request whose id the extensions treat as an ordinary parameter.
pub(super) fn invalid_params(error: &EngineError) -> ErrorData {
    let refused = protocol_error(error);
    ErrorData::invalid_params(refused.message, refused.data)
}

/// The error for a cursor that no page returned.
pub(super) fn invalid_cursor() -> ErrorData {
    ErrorData::invalid_params("invalid cursor: pass the one from the previous page", None)
}

/// Methods with parameters. If the SDK cannot read the parameters, it reports the request as one of an unknown method.
const WITH_PARAMETERS: [&str; 14] = [
    "completion/complete",
    "initialize",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "skills/get",
    "skills/list",
    "tasks/cancel",
    "tasks/get",
    "tasks/update",
    "tools/call",
    "tools/list",
];

/// The refusal of a request that the SDK does not know.
pub(super) fn unsupported_method(method: &str) -> ErrorData {
    if WITH_PARAMETERS.contains(&method) {
        let message = format!("the parameters of `{method}` are missing or malformed");
        return ErrorData::invalid_params(message, None);
    }
    let message = format!("unknown method `{method}`");
    ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, message, None)
}

fn data_of(error: &EngineError) -> Option<Value> {
    let mut data = json!({
        "error_code": error.code,
        "hint": error.code.hint(),
        "retryable": error.code.retryable(),
    });
    let (known, more) = error.known_ids();
    if !known.is_empty() {
        data["known"] = json!(known);
    }
    if more > 0 {
        data["more"] = json!(more);
    }
    Some(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_text_and_no_structured_content() {
        let error = json!({"error_code": "not_found"});
        let result = serde_json::to_value(error_result(&error)).unwrap();
        assert_eq!(result["isError"], true);
        assert_eq!(result["content"][0]["text"], error.to_string());
        assert_eq!(result["structuredContent"], Value::Null);
    }

    #[test]
    fn ids_that_the_caller_sees_are_in_the_data() {
        let absent = EngineError::not_found("prompt", "rota").or_nearest("rota", ["rotas"]);
        let refused = invalid_params(&absent);
        assert_eq!(
            refused.message,
            "there is no prompt `rota`; did you mean `rotas`?"
        );
        assert_eq!(refused.data.unwrap()["known"], json!(["rotas"]));
    }
}
