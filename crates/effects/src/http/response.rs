//! Sends a request, reads the response within bounds and says what it means. Must not know tools.

use charter_contract::agentic::error::ErrorType;
use charter_contract::json::JsonFault;
use reqwest::header::{self, HeaderMap};
use reqwest::{Client, Request, Response, StatusCode};
use serde_json::{Map, Value};

use crate::kept::{Kept, Unread};
use crate::outcome::{Failure, Success};
use crate::redact::Redactor;
use crate::room::OutputRoom;

/// How much of the body of a failed response is quoted.
const QUOTED_BYTES: usize = 500;

/// What a host answered, with its body kept within a bound.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Kept,
}

impl Answer {
    /// Sends a request and keeps what is answered, at most `limit` bytes of a body.
    pub(crate) async fn to(
        client: &Client,
        request: Request,
        limit: usize,
        mut body: Kept,
    ) -> Result<Self, Failure> {
        let sent = client.execute(request).await;
        let response = sent.map_err(|error| unanswered(&error))?;
        let status = response.status();
        let headers = response.headers().clone();
        let mut lost = None;
        let end = pieces_within(response, limit, |piece| {
            if lost.is_none() {
                lost = body.push(piece).err();
            }
        });
        let end = end.await;
        if let Some(error) = lost {
            return Err(Failure::system(format!("keeping the response: {error}")));
        }
        match end {
            End::Whole => Ok(Self {
                status,
                headers,
                body,
            }),
            End::TooLong => {
                let message = format!("the response is larger than {limit} bytes");
                let failure = Failure::new(ErrorType::ResourceError, message);
                Err(if status.is_success() {
                    failure.answered()
                } else {
                    failure
                })
            }
            End::BrokenOff(error) => {
                let message = format!("the response broke off after {} bytes: {error}", body.len());
                Err(Failure::new(ErrorType::ExecutionError, message).retryable())
            }
        }
    }
}

/// How reading a body ended.
#[derive(Debug)]
pub(crate) enum End {
    /// At its end.
    Whole,
    /// At the bound.
    TooLong,
    /// Before either.
    BrokenOff(reqwest::Error),
}

/// Reads a body until its end or the bound, which counts what comes out of decompression.
pub(crate) async fn read_within(response: Response, limit: usize) -> (Vec<u8>, End) {
    let mut body = Vec::new();
    let end = pieces_within(response, limit, |piece| body.extend_from_slice(piece)).await;
    (body, end)
}

/// The same piece by piece.
async fn pieces_within(mut response: Response, limit: usize, mut take: impl FnMut(&[u8])) -> End {
    let mut length = 0;
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if length + chunk.len() > limit => return End::TooLong,
            Ok(Some(chunk)) => {
                length += chunk.len();
                take(&chunk);
            }
            Ok(None) => return End::Whole,
            Err(error) => return End::BrokenOff(error),
        }
    }
}

/// The JSON of a successful response, or `{"status", "body"}` for other text, once there is memory for it.
pub(super) async fn read(
    mut answer: Answer,
    redactor: &Redactor,
    room: &dyn OutputRoom,
) -> Result<Success, Failure> {
    let status = answer.status;
    if status.is_redirection() {
        let location = answer.headers.get(header::LOCATION);
        let to = location.and_then(|to| to.to_str().ok());
        let to = to.unwrap_or("nowhere");
        let message = format!(
            "the host answered {status} with a redirect to {to:?}, which leads elsewhere or in circles and is not followed"
        );
        return Err(Failure::new(ErrorType::ExecutionError, message));
    }
    if !status.is_success() {
        let beginning = answer.body.beginning(redactor.beyond(QUOTED_BYTES));
        let beginning = beginning.unwrap_or_default();
        let said = redactor.apply_head(&beginning, QUOTED_BYTES);
        return Err(failed(status, &said));
    }
    let unreadable = |unread: Unread| {
        unread.into_failure(|fault, _| match fault {
            JsonFault::TooMuch(much) => format!("the host answered {status} with a body that {much}"),
            JsonFault::Form(error) => format!("the host answered {status} with a body that is not the JSON it claims to be: {error}"),
        })
    };
    let output = if is_json(&answer.headers) && answer.body.len() > 0 {
        answer.body.into_value(room).await.map_err(unreadable)?
    } else {
        let body = answer.body.into_text(room).await.map_err(unreadable)?;
        Value::Object(Map::from_iter([
            ("status".to_owned(), Value::from(status.as_u16())),
            ("body".to_owned(), Value::String(body)),
        ]))
    };
    Ok(Success {
        output,
        log: String::new(),
    })
}

fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE);
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

fn failed(status: StatusCode, text: &str) -> Failure {
    let quoted = &text[..text.floor_char_boundary(QUOTED_BYTES.min(text.len()))];
    let message = format!("the host answered {status}: {quoted:?}");
    let (kind, retryable) = kind_of(status);
    Failure {
        retryable,
        stale: status == StatusCode::CONFLICT || status == StatusCode::PRECONDITION_FAILED,
        ..Failure::new(kind, message)
    }
}

/// Which kind of failure a status is, and whether a retry may help.
pub(crate) fn kind_of(status: StatusCode) -> (ErrorType, bool) {
    let kind = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ErrorType::PermissionError,
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::INSUFFICIENT_STORAGE => ErrorType::ResourceError,
        StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT => ErrorType::TimeoutError,
        _ => ErrorType::ExecutionError,
    };
    let passes = status == StatusCode::TOO_MANY_REQUESTS
        || status == StatusCode::REQUEST_TIMEOUT
        || status.is_server_error();
    (kind, passes)
}

fn unanswered(error: &reqwest::Error) -> Failure {
    let mut message = "the request was not answered".to_owned();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        message = format!("{message}: {error}");
        cause = error.source();
    }
    let kind = if error.is_timeout() {
        ErrorType::TimeoutError
    } else {
        ErrorType::ExecutionError
    };
    Failure::new(kind, message).retryable()
}
