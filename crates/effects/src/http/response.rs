//! Sends a request, reads the response within bounds and interprets it. Must not know tools.

use std::borrow::Cow;

use charter_contract::agentic::error::ErrorType;
use charter_contract::bounds::{JSON_MEMORY, LARGE_OUTPUT};
use charter_contract::charset::{self, Form, charset_of};
use charter_contract::json::JsonFault;
use reqwest::header::{self, HeaderMap};
use reqwest::{Client, Request, Response, StatusCode};
use serde_json::{Map, Value};

use crate::kept::{self, SpoolReadError, SpooledBytes};
use crate::outcome::{Failure, Success};
use crate::redact::Redactor;
use crate::room::{OutputBudget, OutputSize};

/// Bytes of a failed response's body that are quoted.
const QUOTED_BYTES: usize = 500;

/// A host's answer, with its body bounded.
#[derive(Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: SpooledBytes,
}

impl HttpAnswer {
    /// Sends a request and keeps the answer, with at most `limit` bytes of body.
    pub(crate) async fn fetch(
        client: &Client,
        request: Request,
        limit: usize,
        mut body: SpooledBytes,
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
            return Err(Failure::system(format!("storing the response: {error}")));
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
                let message = format!(
                    "the response was interrupted after {} bytes: {error}",
                    body.len()
                );
                Err(Failure::new(ErrorType::ExecutionError, message).retryable())
            }
        }
    }
}

/// How reading a body ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The whole body was read.
    Whole,
    /// The bound was reached.
    TooLong,
    /// The connection ended first.
    BrokenOff(reqwest::Error),
}

/// Reads a body until its end or the bound, which counts decompressed bytes.
pub(crate) async fn read_within(response: Response, limit: usize) -> (Vec<u8>, End) {
    let mut body = Vec::new();
    let end = pieces_within(response, limit, |piece| body.extend_from_slice(piece)).await;
    (body, end)
}

/// Reads a body piece by piece, within the same bound.
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

/// Waits for memory, then returns the JSON of a successful response, or `{"status", "body"}` for other text.
pub(crate) async fn read(
    mut answer: HttpAnswer,
    redactor: &Redactor,
    room: &dyn OutputBudget,
) -> Result<Success, Failure> {
    let status = answer.status;
    if status.is_redirection() {
        let location = answer.headers.get(header::LOCATION);
        let to = location.and_then(|to| to.to_str().ok());
        let to = to.unwrap_or("nowhere");
        let message = format!(
            "the host answered {status} with a redirect to {to:?}, which is to another host or a loop and is not \
             followed"
        );
        return Err(Failure::new(ErrorType::ExecutionError, message));
    }
    if !status.is_success() {
        let beginning = answer.body.beginning(redactor.beyond(QUOTED_BYTES));
        let beginning = beginning.unwrap_or_default();
        let message = redactor.apply_head(&beginning, QUOTED_BYTES);
        return Err(failed(status, &message));
    }
    let HttpAnswer { headers, body, .. } = answer;
    let content_type = content_type(&headers);
    let (output, log) = match Kind::from_content_type(&content_type) {
        Kind::Json if body.len() > 0 => {
            let document = document(body, &content_type, room).await;
            let value = document.map_err(|unread| not_read(status, unread))?;
            (value, String::new())
        }
        kind @ (Kind::Json | Kind::Html | Kind::Other) => {
            let text = text(status, body, kind, &content_type, room).await;
            text.map_err(|unread| not_read(status, unread))?
        }
    };
    Ok(Success {
        output,
        log: redactor.apply(&log),
    })
}

fn not_read(status: StatusCode, unread: SpoolReadError) -> Failure {
    unread.into_failure(|fault, _| match fault {
        JsonFault::TooMuch(much) => format!("the host answered {status} with a body that {much}"),
        JsonFault::Form(error) => {
            format!("the host answered {status} with a body that is not valid JSON: {error}")
        }
    })
}

/// Waits for memory, then parses the JSON of a body.
async fn document(
    mut body: SpooledBytes,
    content_type: &str,
    room: &dyn OutputBudget,
) -> Result<Value, SpoolReadError> {
    let charset = charset_of(content_type).map(ToOwned::to_owned);
    let beginning = body.beginning(2)?;
    let is_wide = beginning.contains(&0) || beginning == b"\xff\xfe" || beginning == b"\xfe\xff";
    if charset.is_none() && !is_wide {
        return body.into_value(room).await;
    }
    // The memory of its value is known only after decoding: reserve the most that it can take.
    let size = OutputSize {
        bytes: body.len(),
        memory: body
            .len()
            .saturating_mul(JSON_MEMORY / LARGE_OUTPUT)
            .min(JSON_MEMORY),
    };
    kept::set_aside(room, size).await?;
    let decode = move |bytes: &[u8]| {
        charset::document(bytes, charset.as_deref())
            .map(|text| SpooledBytes::from(text.into_owned()))
    };
    let decoded = body.decoded(room, decode).await?;
    let text = decoded.map_err(|malformed| {
        SpoolReadError::Fault(
            JsonFault::Form(serde::de::Error::custom(malformed)),
            Vec::new(),
        )
    })?;
    text.into_value(room).await
}

/// Waits for memory, then decodes any other body as text, with notices of uncertain parts.
async fn text(
    status: StatusCode,
    body: SpooledBytes,
    kind: Kind,
    content_type: &str,
    room: &dyn OutputBudget,
) -> Result<(Value, String), SpoolReadError> {
    let form = match kind {
        Kind::Html => Form::Html,
        Kind::Json | Kind::Other => Form::Text,
    };
    let charset = charset_of(content_type).map(ToOwned::to_owned);
    let decode = move |bytes: &[u8]| {
        let page = charset::page(bytes, form, charset.as_deref());
        let notices = page.notices.iter();
        let notices = notices.map(|notice| format!("body: {notice}\n")).collect();
        (page.text.into_owned(), notices)
    };
    let (text, notices): (String, String) = body.decoded(room, decode).await?;
    let output = Value::Object(Map::from_iter([
        ("status".to_owned(), Value::from(status.as_u16())),
        ("body".to_owned(), Value::String(text)),
    ]));
    Ok((output, notices))
}

/// The kind of a body, from its `Content-Type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Json,
    Html,
    Other,
}

impl Kind {
    fn from_content_type(content_type: &str) -> Self {
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        let essence = essence.to_ascii_lowercase();
        match essence.as_str() {
            "application/json" => Self::Json,
            "text/html" | "application/xhtml+xml" => Self::Html,
            other if other.ends_with("+json") => Self::Json,
            _ => Self::Other,
        }
    }
}

fn content_type(headers: &HeaderMap) -> Cow<'_, str> {
    let value = headers.get(header::CONTENT_TYPE);
    value.map_or(Cow::Borrowed(""), |value| {
        String::from_utf8_lossy(value.as_bytes())
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

/// Maps a status to a kind of failure, and whether a retry may succeed.
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

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;
    use serde_json::json;

    use super::*;
    use crate::room::UnlimitedOutput;

    /// Returns the output and the log, or the message of the failure.
    async fn answered(content_type: &str, body: &[u8]) -> Result<(Value, String), String> {
        let mut headers = HeaderMap::new();
        if let Ok(value) = HeaderValue::from_bytes(content_type.as_bytes()) {
            headers.insert(header::CONTENT_TYPE, value);
        }
        let answer = HttpAnswer {
            status: StatusCode::OK,
            headers,
            body: SpooledBytes::from(body.to_vec()),
        };
        let read = read(answer, &Redactor::new(&[]), &UnlimitedOutput).await;
        read.map(|success| (success.output, success.log))
            .map_err(|failure| failure.message)
    }

    #[tokio::test]
    async fn json_is_read_in_every_unicode_encoding() {
        let wanted = json!({"name": "Zoë \u{1f980}"});
        let text = r#"{"name": "Zoë \ud83e\udd80"}"#;
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (content_type, body) in [
            ("application/json", text.as_bytes().to_vec()),
            ("application/json; charset=", text.as_bytes().to_vec()),
            (
                "application/json; charset=\"utf-8\"",
                text.as_bytes().to_vec(),
            ),
            (
                "application/json; charset=klingon",
                text.as_bytes().to_vec(),
            ),
            // JSON is UTF-8, even if a server declares another charset by default.
            (
                "application/json; charset=ISO-8859-1",
                text.as_bytes().to_vec(),
            ),
            (
                "application/problem+json",
                [&b"\xef\xbb\xbf"[..], text.as_bytes()].concat(),
            ),
            (
                "application/json;charset=utf-16",
                [&b"\xff\xfe"[..], &wide].concat(),
            ),
            ("application/json", wide.clone()),
            (
                "application/json; charset=windows-1252",
                b"{\"name\": \"Zo\xeb \\ud83e\\udd80\"}".to_vec(),
            ),
            (
                "APPLICATION/JSON ; Charset=latin1",
                b"{\"name\": \"Zo\xeb \\ud83e\\udd80\"}".to_vec(),
            ),
        ] {
            let found = answered(content_type, &body).await;
            assert_eq!(found, Ok((wanted.clone(), String::new())), "{content_type}");
        }
        for (content_type, body, reason) in [
            (
                "application/json",
                &b"{\"a\": \"\xeb\"}"[..],
                "byte 7 is not UTF-8",
            ),
            (
                "application/json; charset=utf-8",
                b"{\"a\": \"\xeb\"}",
                "byte 7 is not UTF-8",
            ),
            (
                "application/json; charset=shift_jis",
                b"{\"a\": \"\xff\"}",
                "byte 7 is not Shift_JIS",
            ),
            (
                "application/json",
                b"\xef\xbb\xbf",
                "EOF while parsing a value at line 1 column 0",
            ),
        ] {
            let message = answered(content_type, body).await.unwrap_err();
            let wanted =
                format!("the host answered 200 OK with a body that is not valid JSON: {reason}");
            assert_eq!(message, wanted, "{content_type}");
        }
    }

    #[tokio::test]
    async fn text_is_read_in_its_encoding_and_replacements_are_logged() {
        let replaced = "body: byte 3 is not UTF-8; invalid bytes were replaced by U+FFFD\n";
        for (content_type, body, text, log) in [
            ("text/plain", &b"caf\xc3\xa9"[..], "café", ""),
            ("", b"caf\xc3\xa9", "café", ""),
            ("text/plain; charset=iso-8859-1", b"caf\xe9", "café", ""),
            (
                "text/plain; charset=euc-kr",
                b"\xc7\xd1\xb1\xdb",
                "한글",
                "",
            ),
            ("text/csv", b"\xff\xfea\0,\0b\0", "a,b", ""),
            (
                "text/html",
                b"<meta charset=koi8-r>\xf0",
                "<meta charset=koi8-r>П",
                "",
            ),
            (
                "application/xml",
                b"<?xml version='1.0' encoding='latin1'?>\xe9",
                "<?xml version='1.0' encoding='latin1'?>é",
                "",
            ),
            ("text/plain", b"caf\xe9", "caf\u{fffd}", replaced),
            (
                "text/plain; charset=klingon",
                b"cafe",
                "cafe",
                "body: the declared charset \"klingon\" is unknown and was ignored\n",
            ),
            ("application/json", b"", "", ""),
        ] {
            let (output, logged) = answered(content_type, body).await.unwrap();
            assert_eq!(
                output,
                json!({"status": 200, "body": text}),
                "{content_type}"
            );
            assert_eq!(logged, log, "{content_type}");
        }
    }
}
