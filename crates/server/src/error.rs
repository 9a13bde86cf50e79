//! Engine errors as HTTP: a status for each code, an `AgentError` as the body.
//!
//! A handler returns an engine error with `?`. The error leaves it as a response with a status and no body. The layer
//! [`write_body`] adds the body, which needs an id and the time. Must not know the server's state.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{self, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use charter_contract::cause::chain;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::RequestId;
use charter_engine::{Engine, EngineError};
use serde_json::Value;
use uuid::Uuid;

use crate::json::Json;

/// An error on its way to the client. An extension of its response until [`write_body`] has written it.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    /// The agent request that failed. Any other call gets an id of its own.
    request: Option<RequestId>,
    error: Arc<EngineError>,
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        Self {
            request: None,
            error: Arc::new(error),
        }
    }
}

impl ApiError {
    /// An error of an agent request.
    pub(crate) fn of_request(request: RequestId, error: EngineError) -> Self {
        Self {
            request: Some(request),
            error: Arc::new(error),
        }
    }

    /// The whole response, for code outside [`write_body`]. The error gets its id and time here, and is logged.
    pub(crate) fn into_http_response(self, engine: &Engine) -> Response {
        let Self { request, error } = self;
        let request = request.unwrap_or_else(new_request_id);
        log(&error, &request);
        let body = engine.responses().agent_error(&request, &error);
        let mut response = (status(error.code), Json(body)).into_response();
        if lacks_rights(&error) {
            response.extensions_mut().insert(InsufficientScope);
        }
        if let Some(seconds) = wait(&error) {
            let headers = response.headers_mut();
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(methods) = allowed(&error) {
            response.headers_mut().insert(header::ALLOW, methods);
        }
        response
    }
}

/// A response without a body, for [`write_body`].
impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = status(self.error.code).into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Writes the error that a response carries. The written response replaces the one that carried it.
pub(crate) async fn write_body(
    State(engine): State<Arc<Engine>>,
    mut response: Response,
) -> Response {
    match response.extensions_mut().remove::<ApiError>() {
        Some(error) => error.into_http_response(&engine),
        None => response,
    }
}

/// The id of a call that is not an agent request.
pub(crate) fn new_request_id() -> RequestId {
    RequestId::from_uuid(Uuid::now_v7())
}

/// The detail of an error with the methods of an address, which the header of the same name repeats.
pub(crate) const ALLOW: &str = "allow";

/// The methods of the address, if it does not support the request's method.
fn allowed(error: &EngineError) -> Option<HeaderValue> {
    let methods = error.details.as_ref()?.get(ALLOW)?.as_array()?;
    let methods: Vec<&str> = methods.iter().filter_map(Value::as_str).collect();
    HeaderValue::try_from(methods.join(", ")).ok()
}

/// Marks the response to a caller with a valid credential without the required rights.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InsufficientScope;

/// Whether the credential lacks rights: the details name the missing ones.
fn lacks_rights(error: &EngineError) -> bool {
    let details = error.details.as_ref();
    let names = |missing: &str| details.is_some_and(|details| details.get(missing).is_some());
    error.code == ErrorCode::PermissionDenied
        && ["scope", "catalogue", "grants"].into_iter().any(names)
}

/// The recommended wait before a retry, in seconds, if known.
fn wait(error: &EngineError) -> Option<u64> {
    let wait = error.details.as_ref()?.get("wait_ms")?.as_u64()?;
    Some(wait.div_ceil(1_000))
}

/// Logs an error once, before the response, with the cause that the client does not see.
pub(crate) fn log(error: &EngineError, request: &RequestId) {
    let cause = match std::error::Error::source(error) {
        Some(cause) => chain(cause),
        None => String::new(),
    };
    if status(error.code).is_server_error() {
        tracing::error!(error.code = %error.code, request.id = %request, cause, "{error}");
    } else {
        tracing::debug!(error.code = %error.code, request.id = %request, cause, "{error}");
    }
}

/// The HTTP status of a code.
pub(crate) fn status(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::InvalidDocument
        | ErrorCode::InvalidRequest
        | ErrorCode::InvalidUtf8
        | ErrorCode::UnsupportedVersion
        | ErrorCode::UnknownDomain
        | ErrorCode::MissingParameters
        | ErrorCode::InvalidParameters
        | ErrorCode::RoutingTestFailed => StatusCode::BAD_REQUEST,
        ErrorCode::Unauthenticated => StatusCode::UNAUTHORIZED,
        ErrorCode::PermissionDenied
        | ErrorCode::CredentialRequired
        | ErrorCode::GuardrailBlocked
        | ErrorCode::PolicyDenied
        | ErrorCode::ApprovalRequired
        | ErrorCode::ApprovalRejected
        | ErrorCode::EgressDenied => StatusCode::FORBIDDEN,
        ErrorCode::NotFound
        | ErrorCode::NoMatch
        | ErrorCode::SessionNotFound
        | ErrorCode::ModelRouteUnknown
        | ErrorCode::TemplateMissing => StatusCode::NOT_FOUND,
        ErrorCode::MethodNotAllowed | ErrorCode::Immutable => StatusCode::METHOD_NOT_ALLOWED,
        ErrorCode::AlreadyExists
        | ErrorCode::VersionConflict
        | ErrorCode::IllegalTransition
        | ErrorCode::ApprovalExpired
        | ErrorCode::StillReferenced
        | ErrorCode::Cancelled => StatusCode::CONFLICT,
        ErrorCode::DeprecatedCollection => StatusCode::GONE,
        ErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::UnsupportedFlow | ErrorCode::ModelRefused => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorCode::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::ToolFailed
        | ErrorCode::ToolResultInvalid
        | ErrorCode::ModelAccessDenied
        | ErrorCode::ModelAnswerInvalid
        | ErrorCode::ModelFailed
        | ErrorCode::PlaceholderMissing
        | ErrorCode::ExpressionFailed => StatusCode::BAD_GATEWAY,
        ErrorCode::ToolTimeout | ErrorCode::RequestTimeout => StatusCode::GATEWAY_TIMEOUT,
        ErrorCode::ModelMissing
        | ErrorCode::ModelMismatch
        | ErrorCode::DataDirectoryLocked
        | ErrorCode::Overloaded
        | ErrorCode::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::StorageFull => StatusCode::INSUFFICIENT_STORAGE,
        ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_response_reaches_the_layer_that_writes_it() {
        let error = EngineError::not_found("skill", "x");
        let response = ApiError::from(error).into_response();
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
        let carried = response.extensions().get::<ApiError>().unwrap();
        assert_eq!(carried.error.code, ErrorCode::NotFound);
    }
}
