//! The SDK's HTTP client for a server. The SDK's own client bounds only the bytes of an answer; this one checks each
//! message before it is parsed. Must not know tools or calls.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use charter_contract::bounds::JSON_BYTES;
use charter_contract::cause::chain;
use charter_contract::json::{
    JsonFault, JsonLimitExceeded, Profile, decode, decode_beside_numbers, extent,
};
use futures_util::{Stream, StreamExt};
use http_body_util::BodyExt;
use reqwest::header::{
    ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use reqwest::{Response, StatusCode};
use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::{
    HttpStatusError, SseError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use rmcp::transport::worker::WorkerQuitReason;
use sse_stream::{Sse, SseStream};

use crate::http::{End, read_within};

/// Error code of an answer that arrived but is unusable. A server that sends this code itself is trusted: the call may
/// have been executed.
pub(super) const UNUSABLE: ErrorCode = ErrorCode(-32_090);

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const SESSION: &str = "mcp-session-id";
/// Headers that only the transport sets.
const RESERVED: [&str; 3] = ["accept", SESSION, "last-event-id"];
/// Largest body of a refusal that is read, in bytes.
const MAX_REFUSAL_BYTES: usize = 64 << 10;
/// What to do about a server that wants a token.
const TOKEN_ADVICE: &str =
    "; the server wants a token: give it a `credential`, with `list_as` for the list of its tools";
/// Characters of a refusal that are quoted.
const QUOTED: usize = 200;

type Headers = HashMap<HeaderName, HeaderValue>;
type Refused = StreamableHttpError<reqwest::Error>;
type Events = Pin<Box<dyn Stream<Item = Result<Sse, SseError>> + Send>>;

/// A client that checks the size of answers.
#[derive(Debug, Clone)]
pub(super) struct MeasuredHttp(reqwest::Client);

impl MeasuredHttp {
    pub(super) fn new(client: reqwest::Client) -> Self {
        Self(client)
    }
}

impl StreamableHttpClient for MeasuredHttp {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Refused> {
        let mut request = self
            .0
            .post(uri.as_ref())
            .header(ACCEPT, format!("{EVENTS}, {JSON}"))
            .header(CONTENT_TYPE, JSON);
        if let Some(token) = auth_header {
            request = request.bearer_auth(token);
        }
        for (name, value) in custom_headers {
            if RESERVED.contains(&name.as_str()) {
                return Err(StreamableHttpError::ReservedHeaderConflict(
                    name.to_string(),
                ));
            }
            request = request.header(name, value);
        }
        if let Some(session) = &session_id {
            request = request.header(SESSION, session.as_ref());
        }
        let body = serde_json::to_vec(&message)?;
        let response = request.body(body).send().await?;
        answered(response, &message, session_id.is_some()).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
        _max_sse_event_size: usize,
    ) -> Result<StreamableHttpPostResponse, Refused> {
        self.post_message(uri, message, session_id, auth_header, custom_headers)
            .await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), Refused> {
        self.0
            .delete_session(uri, session_id, auth_header, custom_headers)
            .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<Events, Refused> {
        self.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            auth_header,
            custom_headers,
            JSON_BYTES,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
        max_sse_event_size: usize,
    ) -> Result<Events, Refused> {
        // The SDK's own client does not parse JSON here.
        let events = self
            .0
            .get_stream_with_max_sse_event_size(
                uri,
                session_id,
                last_event_id,
                auth_header,
                custom_headers,
                max_sse_event_size,
            )
            .await?;
        Ok(Box::pin(
            events.map(|event| event.map(|event| measured(event, None))),
        ))
    }
}

/// The cause of a failed exchange, if `error` is one of this transport. The SDK's errors do not name it as their source.
pub(super) fn reason_of(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let refused = match error.downcast_ref::<WorkerQuitReason<Refused>>() {
        Some(WorkerQuitReason::Fatal { error, .. }) => error,
        Some(_) | None => error.downcast_ref::<Refused>()?,
    };
    Some(match refused {
        StreamableHttpError::Client(error) => chain(error),
        other => chain(other),
    })
}

/// Reads a server's answer to a message.
async fn answered(
    response: Response,
    message: &ClientJsonRpcMessage,
    in_session: bool,
) -> Result<StreamableHttpPostResponse, Refused> {
    let status = response.status();
    let empty = status.is_success() && response.content_length() == Some(0);
    let request = request_id(message);
    if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT)
        || (empty && request.is_none())
    {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    if status == StatusCode::NOT_FOUND && in_session {
        return Err(StreamableHttpError::SessionExpired);
    }
    if !status.is_success() {
        return refusal(response, message, in_session).await;
    }
    let session = text_of(&response, SESSION);
    let kind = text_of(&response, CONTENT_TYPE.as_str()).unwrap_or_default();
    if kind.starts_with(EVENTS) {
        let events = events(response, request);
        return Ok(StreamableHttpPostResponse::Sse(events, session));
    }
    if !kind.starts_with(JSON) {
        return Err(StreamableHttpError::UnexpectedContentType(Some(kind)));
    }
    let (body, end) = read_within(response, JSON_BYTES).await;
    let read = match end {
        End::Whole => message_of(&body),
        End::TooLong => {
            let error = StreamableHttpError::ResponseBodyTooLarge {
                max_size: JSON_BYTES,
            };
            return unusable(request, &error.to_string(), &error, session);
        }
        End::BrokenOff(error) => return Err(StreamableHttpError::Client(error)),
    };
    match read {
        Ok(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
        Err(fault) => {
            let said = match fault {
                JsonFault::TooMuch(much) => format!("its answer {much}"),
                JsonFault::Form(error) => format!("its answer is not a message: {error}"),
            };
            let error = StreamableHttpError::UnexpectedServerResponse(said.clone().into());
            unusable(request, &said, &error, session)
        }
    }
}

/// Returns the failure of the request that an unusable answer belongs to, or nothing without one.
fn unusable(
    request: Option<RequestId>,
    said: &str,
    error: &Refused,
    session: Option<String>,
) -> Result<StreamableHttpPostResponse, Refused> {
    match request {
        Some(request) => Ok(StreamableHttpPostResponse::Json(
            failure_of(request, said),
            session,
        )),
        None => {
            tracing::warn!(%error, "ignoring an MCP server's answer to a notification");
            Ok(StreamableHttpPostResponse::Accepted)
        }
    }
}

/// Parses a message of a server. Numbers in a list of tools may be rounded.
fn message_of(body: &[u8]) -> Result<ServerJsonRpcMessage, JsonFault> {
    match decode(body, Profile::MCP_MESSAGE) {
        Err(JsonFault::TooMuch(much)) if is_of_listing(&much) => {
            decode_beside_numbers(body, Profile::MCP_MESSAGE)
        }
        read => read,
    }
}

/// Whether a number is part of a tool's definition, where it bounds a schema and is never an argument or an output.
pub(super) fn is_of_listing(much: &JsonLimitExceeded) -> bool {
    matches!(much, JsonLimitExceeded::Number { pointer, .. } if pointer.starts_with("/result/tools/"))
}

/// Builds an error response to replace an unusable response.
pub(super) fn failure_of(request: RequestId, said: &str) -> ServerJsonRpcMessage {
    let error = ErrorData::new(UNUSABLE, said.to_owned(), None);
    ServerJsonRpcMessage::error(error, Some(request))
}

/// Returns the id of a request; other messages have none.
fn request_id(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
        ClientJsonRpcMessage::Response(_)
        | ClientJsonRpcMessage::Notification(_)
        | ClientJsonRpcMessage::Error(_) => None,
    }
}

/// Interprets a status other than success: a JSON-RPC error, if the body is one.
async fn refusal(
    response: Response,
    message: &ClientJsonRpcMessage,
    in_session: bool,
) -> Result<StreamableHttpPostResponse, Refused> {
    let status = response.status();
    let session = text_of(&response, SESSION);
    let wait = text_of(&response, RETRY_AFTER.as_str());
    let passes = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
    let asks_for_token = status == StatusCode::UNAUTHORIZED
        && text_of(&response, WWW_AUTHENTICATE.as_str())
            .is_some_and(|challenge| challenge.to_ascii_lowercase().starts_with("bearer"));
    let advice = if asks_for_token { TOKEN_ADVICE } else { "" };
    // A truncated body is used as far as it arrived: the status is more important.
    let (body, _) = read_within(response, MAX_REFUSAL_BYTES).await;
    let told = match decode::<ServerJsonRpcMessage>(&body, Profile::NOTICE) {
        Ok(ServerJsonRpcMessage::Error(told)) => Some(told),
        Ok(_) | Err(_) => None,
    };
    let forbidden = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let quoted: String = String::from_utf8_lossy(&body)
        .chars()
        .take(QUOTED)
        .collect();
    // An older server, or a proxy in front of it, refuses `server/discover` without repeating its id. With the id
    // added, the SDK continues with the older handshake.
    if let ClientJsonRpcMessage::Request(request) = message
        && matches!(request.request, ClientRequest::DiscoverRequest(_))
        && status.is_client_error()
        && !forbidden
        && !in_session
    {
        let error = told.map_or_else(
            || ErrorData::invalid_request(format!("HTTP {status}: {quoted}"), None),
            |told| told.error,
        );
        let message = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(message, None));
    }
    match told {
        Some(told) if !forbidden => Ok(StreamableHttpPostResponse::Json(
            ServerJsonRpcMessage::Error(told),
            session,
        )),
        Some(_) | None if passes => Err(HttpStatusError::new(status.as_u16(), wait).into()),
        Some(_) | None => Err(StreamableHttpError::UnexpectedServerResponse(
            format!("HTTP {status}: {quoted}{advice}").into(),
        )),
    }
}

fn text_of(response: &Response, header: &str) -> Option<String> {
    let value = response.headers().get(header)?;
    value.to_str().ok().map(str::to_owned)
}

/// Returns the events of a response. Each is bounded in bytes before it is kept, and then checked.
fn events(response: Response, request: Option<RequestId>) -> Events {
    let mut event = EventBytes::default();
    let pieces = reqwest::Body::from(response).into_data_stream();
    let pieces = pieces.map(move |piece| {
        let piece = piece.map_err(io::Error::other)?;
        event.count(&piece)?;
        Ok::<_, io::Error>(piece)
    });
    let events = SseStream::from_bytes_stream(pieces);
    Box::pin(events.map(move |event| event.map(|event| measured(event, request.as_ref()))))
}

/// Returns an event that the SDK may parse. An oversized one becomes the failure of its request, or nothing.
fn measured(mut event: Sse, request: Option<&RequestId>) -> Sse {
    let data = event.data.as_deref().unwrap_or_default();
    if let Err(much) = extent(data.as_bytes(), Profile::MCP_MESSAGE)
        && !is_of_listing(&much)
    {
        let said = format!("its answer {much}");
        tracing::warn!(said, "ignoring an event of an MCP server");
        event.data = request.and_then(|request| {
            let failure = failure_of(request.clone(), &said);
            serde_json::to_string(&failure).ok()
        });
    }
    event
}

/// Number of received bytes of an event.
#[derive(Debug, Default)]
struct EventBytes {
    kept: usize,
    line: usize,
}

impl EventBytes {
    fn count(&mut self, piece: &[u8]) -> io::Result<()> {
        for byte in piece {
            match byte {
                // An empty line ends an event.
                b'\n' if self.line == 0 => self.kept = 0,
                b'\n' => {
                    self.kept += self.line;
                    self.line = 0;
                }
                b'\r' => {}
                _ => self.line += 1,
            }
            if self.kept + self.line > JSON_BYTES {
                let said = format!("it sent an event of more than {JSON_BYTES} bytes");
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, said));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
