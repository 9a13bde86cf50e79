//! `/mcp`: the protocol over streamable HTTP, behind the same credential as the API.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on_service};
use charter_contract::charset::bytes_without_mark;
use charter_contract::error_code::ErrorCode;
use charter_contract::json::Profile;
use charter_engine::{Caller, EngineError, Share};
use futures_util::StreamExt;
use rmcp::model::{ProtocolVersion, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tracing::Span;

use super::lines::Refusal;
use super::log_level::SessionLogLevel;
use super::message;
use super::sessions::Sessions;
use super::{ADMITTED, ConnectionIdentity, ListMode, LoadingEngine, Mcp, Shared};
use crate::auth::{Identity, is_of_this_server};
use crate::error::ApiError;
use crate::extract::ReadBody;
use crate::json::Json;
use crate::limits::is_stream;
use crate::operations::MCP_PATH;
use crate::shares::Use;
use crate::state::AppState;
use crate::streams::{self, StreamSlot};
use crate::transfer::HeldBody;

/// The media types of answers. The SDK refuses a client that does not name both.
const ANSWERS: &str = "application/json, text/event-stream";

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

#[derive(Clone)]
struct Gate {
    state: AppState,
    sessions: Arc<Sessions>,
}

/// The route of the protocol.
pub(crate) fn mounted(state: &AppState) -> Router<AppState> {
    let refused = |places: Use| state.metrics.refused(places.as_str());
    let engine = LoadingEngine::ready(Arc::clone(&state.engine));
    let shared = Shared::new(engine, ListMode::AtOnce, refused(Use::Calls));
    let shared = Arc::new(shared);
    let sessions = Arc::new(Sessions::new(refused(Use::Sessions)));
    // The gate below checks host and origin, by the caller's access.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_json_response(true)
        .with_max_request_body_bytes(state.limits.body_bytes)
        .with_cancellation_token(state.engine.stopping());
    let service = StreamableHttpService::new(
        move || {
            Ok(Mcp {
                shared: Arc::clone(&shared),
                identity: ConnectionIdentity::EachRequests,
                log_level: SessionLogLevel::default(),
            })
        },
        Arc::clone(&sessions.manager),
        config,
    );
    let gate = Gate {
        state: state.clone(),
        sessions,
    };
    let methods = MethodFilter::GET
        .or(MethodFilter::POST)
        .or(MethodFilter::DELETE);
    Router::new()
        .route(MCP_PATH, on_service(methods, service))
        .layer(from_fn_with_state(gate, admit))
}

/// An admitted request, and the slots that its answer may need.
struct AdmittedRequest {
    caller: Caller,
    /// For the session that it may open.
    session: Option<Share>,
    /// For the stream that its answer may be.
    stream: Option<StreamSlot>,
}

/// Admits a request with an authenticated caller, an origin of this server, and a session of the caller. A stream ends
/// with the credential that opened it.
async fn admit(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    name_accepted(request.headers_mut());
    let admitted = match gate.check(request.headers(), request.extensions()).await {
        Ok(admitted) => admitted,
        Err(error) => return ApiError::from(error).into_response(),
    };
    let (mut request, body) = match gate.measured(request).await {
        Ok(measured) => measured,
        Err(error) => return error.into_response(),
    };
    let credential = streams::credential(request.headers());
    let facts = RequestFacts::new(&request, body);
    request.extensions_mut().insert(admitted.caller.clone());
    request.extensions_mut().insert(Span::current());
    let response = ADMITTED.scope(admitted.caller.clone(), next.run(request));
    let response = gate.with_protocol_error(&facts, response.await);
    let opened = text(response.headers(), SESSION);
    if let (Some(id), Some(share)) = (opened, admitted.session) {
        let (state, caller) = (&gate.state, &admitted.caller);
        gate.sessions
            .opened(state, id, caller, credential.clone(), share);
    }
    match admitted.stream {
        Some(place) if is_stream(&response) => {
            let ended = streams::wait_for_end(gate.state, credential, place);
            response.map(|body| Body::from_stream(body.into_data_stream().take_until(ended)))
        }
        Some(_) | None => response,
    }
}

/// Names the media types of answers for a client that accepts `*/*`.
fn name_accepted(headers: &mut HeaderMap) {
    let given = headers.get_all(ACCEPT).iter();
    let mut given = given.filter_map(|value| value.to_str().ok());
    if given.any(|value| value.split(',').any(accepts_all)) {
        headers.insert(ACCEPT, HeaderValue::from_static(ANSWERS));
    }
}

/// Whether a range of media types is `*/*` without weight 0, which refuses it (RFC 9110, section 12.4.2).
fn accepts_all(range: &str) -> bool {
    let mut parts = range.split(';').map(str::trim);
    let refuses = |part: &str| {
        let weight = part
            .strip_prefix("q=")
            .and_then(|weight| weight.parse().ok());
        weight.is_some_and(|weight: f32| weight <= 0.0)
    };
    parts.next() == Some("*/*") && !parts.any(refuses)
}

/// The facts of a request that its answer depends on.
struct RequestFacts {
    method: Method,
    is_json: bool,
    session: Option<String>,
    body: Bytes,
}

impl RequestFacts {
    fn new(request: &Request, body: Bytes) -> Self {
        let headers = request.headers();
        let kind = text(headers, CONTENT_TYPE.as_str()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default();
        Self {
            method: request.method().clone(),
            is_json: kind.trim().eq_ignore_ascii_case("application/json"),
            session: text(headers, SESSION).map(str::to_owned),
            body,
        }
    }
}

/// Why a request is not passed to the SDK.
enum RejectedRequest {
    /// The body could not be read.
    Body(ApiError),
    /// The error response for its message.
    Message(Box<ServerJsonRpcMessage>),
}

impl From<EngineError> for RejectedRequest {
    fn from(error: EngineError) -> Self {
        Self::Body(error.into())
    }
}

impl IntoResponse for RejectedRequest {
    fn into_response(self) -> Response {
        match self {
            Self::Body(error) => error.into_response(),
            Self::Message(answer) => Json(answer).into_response(),
        }
    }
}

impl Gate {
    /// Reads and measures the body of a request: the SDK parses it twice, and limits only its bytes.
    async fn measured(&self, request: Request) -> Result<(Request, Bytes), RejectedRequest> {
        let (head, body) = request.into_parts();
        let mut read = ReadBody::read(&head, body, &self.state).await?;
        let profile = Profile::MCP_MESSAGE.of_bytes(usize::MAX);
        if let Some(much) = read.set_aside(&head, &self.state, profile).await? {
            read.bytes = match Refusal::for_message(&read.bytes, &much) {
                Refusal::Answer(answer) => return Err(RejectedRequest::Message(answer)),
                Refusal::Instead(failure) => serde_json::to_vec(&failure).unwrap_or_default(),
                Refusal::Silent | Refusal::Unknown => {
                    let message = format!("the body {much}");
                    let error = EngineError::new(ErrorCode::InvalidRequest, message);
                    return Err(error.into());
                }
            };
        }
        let bytes = Bytes::from(read.bytes);
        // The SDK accepts no byte order mark.
        let bytes = bytes.slice_ref(bytes_without_mark(&bytes));
        let body = HeldBody::new(Body::from(bytes.clone()), read.share);
        let request = Request::from_parts(head, Body::new(body));
        Ok((request, bytes))
    }

    /// Corrects the SDK's status where clients expect another.
    fn with_protocol_error(&self, facts: &RequestFacts, mut response: Response) -> Response {
        match response.status() {
            // The SDK's status for an unreadable body.
            StatusCode::UNSUPPORTED_MEDIA_TYPE if facts.is_json => {
                message::refuse_body(&facts.body)
            }
            // Clients accept 200 and 204 for the end of a session, and report any other status.
            StatusCode::ACCEPTED if facts.method == Method::DELETE => {
                if let Some(session) = &facts.session {
                    self.sessions.closed(session);
                }
                *response.status_mut() = StatusCode::NO_CONTENT;
                response
            }
            _ => response,
        }
    }

    async fn check(
        &self,
        headers: &HeaderMap,
        extensions: &Extensions,
    ) -> Result<AdmittedRequest, EngineError> {
        let caller = Identity::caller(extensions, &self.state.engine)?;
        if !is_of_this_server(headers) {
            let message = "cross-origin requests are not allowed";
            return Err(EngineError::new(ErrorCode::PermissionDenied, message));
        }
        let session = self.session(headers, &caller).await?;
        let accepts = text(headers, ACCEPT.as_str());
        let may_stream = accepts.is_some_and(|accept| accept.contains("text/event-stream"));
        let stream = may_stream.then(|| self.state.stream_place(&caller));
        Ok(AdmittedRequest {
            session,
            stream: stream.transpose()?,
            caller,
        })
    }

    /// Refuses a session that is not the caller's. Takes a slot for a new session if the request may open one.
    async fn session(
        &self,
        headers: &HeaderMap,
        caller: &Caller,
    ) -> Result<Option<Share>, EngineError> {
        if headers.contains_key(SESSION) {
            let own = text(headers, SESSION)
                .is_some_and(|session| self.sessions.belongs_to(session, caller));
            let message = "the session does not exist";
            let refused = || EngineError::new(ErrorCode::SessionNotFound, message);
            return own.then_some(None).ok_or_else(refused);
        }
        // The revision of 2026-07-28 has no sessions; before it, a request without one can only open one.
        if text(headers, VERSION) == Some(ProtocolVersion::V_2026_07_28.as_str()) {
            return Ok(None);
        }
        self.sessions.place(caller).await.map(Some)
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// curl and many HTTP libraries send `*/*` by default.
    #[test]
    fn a_client_that_accepts_everything_accepts_both_types_of_answers() {
        let cases: [(&[&str], bool); 7] = [
            (&["*/*"], true),
            (&["text/html, */*;q=0.8"], true),
            (&["application/json", "*/*"], true),
            (&["application/json, text/event-stream"], false),
            (&["application/json, */*;q=0"], false),
            (&["application/*"], false),
            (&[], false),
        ];
        for (given, named) in cases {
            let mut headers = HeaderMap::new();
            for value in given {
                headers.append(ACCEPT, HeaderValue::from_str(value).unwrap());
            }
            let before = headers.clone();
            name_accepted(&mut headers);
            if named {
                assert_eq!(headers.get_all(ACCEPT).iter().count(), 1, "{given:?}");
                assert_eq!(headers[ACCEPT], ANSWERS, "{given:?}");
            } else {
                assert_eq!(headers, before, "{given:?}");
            }
        }
    }
}
