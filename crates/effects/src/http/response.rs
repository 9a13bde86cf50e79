//! Reads a response within bounds and says what it means. Must not know tools.

use charter_contract::agentic::error::ErrorType;
use reqwest::{Response, StatusCode, header};
use serde_json::{Value, json};

use crate::outcome::{Failure, Success};
use crate::redact::Redactor;

/// How much of the body of a failed response is quoted.
const QUOTED_BYTES: usize = 500;

/// The JSON of a successful response, or `{"status", "body"}` for other text.
pub(super) async fn read(
    response: Response,
    limit: usize,
    redactor: &Redactor,
) -> Result<Success, Failure> {
    let status = response.status();
    let is_json = is_json(&response);
    let location = response.headers().get(header::LOCATION).cloned();
    let body = read_body(response, limit).await?;
    let text = String::from_utf8_lossy(&body);
    if status.is_redirection() {
        let to = location
            .as_ref()
            .and_then(|to| to.to_str().ok())
            .unwrap_or("nowhere");
        let message = format!(
            "the host answered {status} with a redirect to {to:?}, which leads elsewhere or in circles and is not followed"
        );
        return Err(Failure::new(ErrorType::ExecutionError, message));
    }
    if !status.is_success() {
        return Err(failed(status, &redactor.apply(&text)));
    }
    let output = if is_json && !body.is_empty() {
        serde_json::from_slice::<Value>(&body).map_err(|error| {
            let message = format!("the host answered {status} with a body that is not the JSON it claims to be: {error}");
            Failure::new(ErrorType::ExecutionError, message)
        })?
    } else {
        json!({ "status": status.as_u16(), "body": text })
    };
    Ok(Success {
        output,
        log: String::new(),
    })
}

fn is_json(response: &Response) -> bool {
    let content_type = response.headers().get(header::CONTENT_TYPE);
    content_type
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| {
            let essence = value
                .split(';')
                .next()
                .unwrap_or_default()
                .trim()
                .to_ascii_lowercase();
            essence == "application/json" || essence.ends_with("+json")
        })
}

async fn read_body(mut response: Response, limit: usize) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() > limit => {
                let message = format!("the response is larger than {limit} bytes");
                return Err(Failure::new(ErrorType::ResourceError, message));
            }
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => return Ok(body),
            Err(error) => {
                let message = format!("the response broke off after {} bytes: {error}", body.len());
                return Err(Failure::new(ErrorType::ExecutionError, message).retryable());
            }
        }
    }
}

fn failed(status: StatusCode, text: &str) -> Failure {
    let quoted = &text[..text.floor_char_boundary(QUOTED_BYTES.min(text.len()))];
    let message = format!("the host answered {status}: {quoted:?}");
    let retryable = status == StatusCode::TOO_MANY_REQUESTS
        || status == StatusCode::REQUEST_TIMEOUT
        || status.is_server_error();
    let kind = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ErrorType::PermissionError,
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::INSUFFICIENT_STORAGE => ErrorType::ResourceError,
        StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT => ErrorType::TimeoutError,
        _ => ErrorType::ExecutionError,
    };
    let failure = Failure::new(kind, message);
    if retryable {
        failure.retryable()
    } else {
        failure
    }
}
