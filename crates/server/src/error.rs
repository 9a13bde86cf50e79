//! Engine errors as HTTP: a status for each code, an `AgentError` as the body.

use axum::http::header::{self, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::RequestId;
use charter_engine::EngineError;
use serde_json::Value;
use uuid::Uuid;

use crate::json::Json;
use crate::state::AppState;

/// An error on its way to the client.
pub(crate) struct ApiError {
    state: AppState,
    request: RequestId,
    error: Box<EngineError>,
}

impl ApiError {
    /// An error of a call that is no agent request: it gets an id of its own.
    pub(crate) fn new(state: &AppState, error: EngineError) -> Self {
        Self::of_request(state, unnamed(), error)
    }

    /// An error of an agent request.
    pub(crate) fn of_request(state: &AppState, request: RequestId, error: EngineError) -> Self {
        Self {
            state: state.clone(),
            request,
            error: Box::new(error),
        }
    }
}

/// The id of a call that is no agent request.
pub(crate) fn unnamed() -> RequestId {
    RequestId::from_uuid(Uuid::now_v7())
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = status(self.error.code);
        log(&self.error, &self.request);
        let body = self.state.engine.agent_error(&self.request, &self.error);
        let mut response = (status, Json(body)).into_response();
        if lacks_rights(&self.error) {
            response.extensions_mut().insert(InsufficientScope);
        }
        if let Some(seconds) = wait(&self.error) {
            let headers = response.headers_mut();
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(methods) = allowed(&self.error) {
            response.headers_mut().insert(header::ALLOW, methods);
        }
        response
    }
}

/// The detail of an error that names the methods of an address; the header of the same name has them as well.
pub(crate) const ALLOW: &str = "allow";

/// The methods that the address takes, where the request's method is none of them.
fn allowed(error: &EngineError) -> Option<HeaderValue> {
    let methods = error.details.as_ref()?.get(ALLOW)?.as_array()?;
    let methods: Vec<&str> = methods.iter().filter_map(Value::as_str).collect();
    HeaderValue::try_from(methods.join(", ")).ok()
}

/// Marks the answer to a caller whose credential is good and does not open what was asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InsufficientScope;

/// Whether a credential lets its holder do too little: it names what is missing.
fn lacks_rights(error: &EngineError) -> bool {
    let details = error.details.as_ref();
    let names = |missing: &str| details.is_some_and(|details| details.get(missing).is_some());
    error.code == ErrorCode::PermissionDenied
        && ["scope", "catalogue", "grants"].into_iter().any(names)
}

/// How long the client had better wait, in seconds, where that is known.
fn wait(error: &EngineError) -> Option<u64> {
    let wait = error.details.as_ref()?.get("wait_ms")?.as_u64()?;
    Some(wait.div_ceil(1_000))
}

/// Logged once, where it leaves, with the cause that the client does not see.
pub(crate) fn log(error: &EngineError, request: &RequestId) {
    let cause = std::error::Error::source(error)
        .map(chain)
        .unwrap_or_default();
    if status(error.code).is_server_error() {
        tracing::error!(error.code = %error.code, request.id = %request, cause, "{error}");
    } else {
        tracing::debug!(error.code = %error.code, request.id = %request, cause, "{error}");
    }
}

fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

/// The status of a code.
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
