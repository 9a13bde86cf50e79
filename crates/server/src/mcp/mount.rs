//! `/mcp`: the protocol over streamable HTTP, behind the same credential as the API.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use charter_contract::error_code::ErrorCode;
use charter_contract::json::{Profile, extent};
use charter_engine::{Caller, EngineError};
use rmcp::model::ProtocolVersion;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tracing::Span;

use super::sessions::{MAX_SESSIONS, Sessions};
use super::{Mcp, Shared, Who};
use crate::auth::is_of_this_server;
use crate::error::ApiError;
use crate::extract::read;
use crate::state::AppState;

/// Where the protocol is served.
const PATH: &str = "/mcp";

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

#[derive(Clone)]
struct Gate {
    state: AppState,
    sessions: Arc<Sessions>,
}

/// The route of the protocol.
pub(crate) fn mounted(state: &AppState) -> Router<AppState> {
    let shared = Arc::new(Shared::new(Arc::clone(&state.engine)));
    let sessions = Arc::new(Sessions::new());
    // The gate below looks at host and origin, by who may call at all.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_json_response(true)
        .with_max_request_body_bytes(state.limits.body_bytes)
        .with_cancellation_token(state.engine.stopping());
    let service = StreamableHttpService::new(
        move || {
            Ok(Mcp {
                shared: Arc::clone(&shared),
                who: Who::EachRequests,
            })
        },
        Arc::clone(&sessions.manager),
        config,
    );
    let gate = Gate {
        state: state.clone(),
        sessions,
    };
    Router::new()
        .route_service(PATH, service)
        .layer(from_fn_with_state(gate, admit))
}

/// Lets a request in whose caller is known, whose page is of this server, and whose session is its own.
async fn admit(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let caller = match gate.check(request.headers()).await {
        Ok(caller) => caller,
        Err(error) => {
            let unknown = error.code == ErrorCode::Unauthenticated;
            let mut response = ApiError::new(&gate.state, error).into_response();
            if unknown {
                let headers = response.headers_mut();
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            return response;
        }
    };
    let mut request = match gate.measured(request).await {
        Ok(request) => request,
        Err(error) => return error.into_response(),
    };
    let known = request.headers().contains_key(SESSION);
    request.extensions_mut().insert(caller.clone());
    request.extensions_mut().insert(Span::current());
    let response = next.run(request).await;
    let opened = response.headers().get(SESSION).filter(|_| !known);
    if let Some(session) = opened.and_then(|session| session.to_str().ok()) {
        gate.sessions.opened(session, &caller);
    }
    response
}

impl Gate {
    /// The request with its body read and measured: the SDK reads it twice over, and bounds its bytes only.
    async fn measured(&self, request: Request) -> Result<Request, ApiError> {
        let (head, body) = request.into_parts();
        let body = read(body, &self.state).await?;
        extent(&body, Profile::MESSAGE.of_bytes(usize::MAX)).map_err(|much| {
            let message = format!("the body {much}");
            ApiError::new(
                &self.state,
                EngineError::new(ErrorCode::InvalidRequest, message),
            )
        })?;
        Ok(Request::from_parts(head, Body::from(body)))
    }

    async fn check(&self, headers: &HeaderMap) -> Result<Caller, EngineError> {
        let (access, engine) = (&self.state.access, &self.state.engine);
        let caller = access.caller(engine, headers).await?;
        if !is_of_this_server(headers) {
            let message = "pages of other sites may not call this server";
            return Err(EngineError::new(ErrorCode::PermissionDenied, message));
        }
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        match headers.get(SESSION) {
            Some(session) => {
                let own = session
                    .to_str()
                    .is_ok_and(|session| self.sessions.belongs(session, &caller));
                if !own {
                    return Err(EngineError::new(
                        ErrorCode::SessionNotFound,
                        "there is no such session",
                    ));
                }
            }
            // Without a session, and before the revision that has none, only opening one is possible.
            None if text(VERSION) != Some(ProtocolVersion::V_2026_07_28.as_str())
                && !self.sessions.has_room().await =>
            {
                let message = format!("{MAX_SESSIONS} sessions are open");
                return Err(EngineError::new(ErrorCode::Overloaded, message));
            }
            None => {}
        }
        Ok(caller)
    }
}
