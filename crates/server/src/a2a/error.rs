//! The protocol's errors (sections 3.3.2, 5.4, 9.5, 11.6), and what becomes of the engine's.

use axum::http::StatusCode;
use charter_contract::error_code::ErrorCode;
use charter_engine::EngineError;
use serde_json::{Map, Value, json};

use crate::error::{log, status, unnamed};

/// Whose reasons the protocol's are.
const PROTOCOL_DOMAIN: &str = "a2a-protocol.org";

/// Whose reasons the others are.
const OWN_DOMAIN: &str = "charter";

/// JSON-RPC's code for what an implementation defines itself.
const IMPLEMENTATION_DEFINED: i32 = -32_000;

/// What kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Parse,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    Internal,
    TaskNotFound,
    TaskNotCancelable,
    PushNotificationNotSupported,
    UnsupportedOperation,
    ContentTypeNotSupported,
    VersionNotSupported,
    /// One that the protocol has no name for.
    Own(ErrorCode),
}

impl Kind {
    /// The JSON-RPC code, and the reason of the error's details.
    fn code_and_reason(self) -> (i32, String) {
        let (code, reason) = match self {
            Self::Parse => (-32_700, "JSON_PARSE_ERROR"),
            Self::InvalidRequest => (-32_600, "INVALID_REQUEST"),
            Self::MethodNotFound => (-32_601, "METHOD_NOT_FOUND"),
            Self::InvalidParams => (-32_602, "INVALID_PARAMS"),
            Self::Internal => (-32_603, "INTERNAL_ERROR"),
            Self::TaskNotFound => (-32_001, "TASK_NOT_FOUND"),
            Self::TaskNotCancelable => (-32_002, "TASK_NOT_CANCELABLE"),
            Self::PushNotificationNotSupported => (-32_003, "PUSH_NOTIFICATION_NOT_SUPPORTED"),
            Self::UnsupportedOperation => (-32_004, "UNSUPPORTED_OPERATION"),
            Self::ContentTypeNotSupported => (-32_005, "CONTENT_TYPE_NOT_SUPPORTED"),
            Self::VersionNotSupported => (-32_009, "VERSION_NOT_SUPPORTED"),
            Self::Own(code) => {
                return (IMPLEMENTATION_DEFINED, code.as_str().to_ascii_uppercase());
            }
        };
        (code, reason.to_owned())
    }

    fn domain(self) -> &'static str {
        match self {
            Self::Own(_) => OWN_DOMAIN,
            Self::Parse
            | Self::InvalidRequest
            | Self::MethodNotFound
            | Self::InvalidParams
            | Self::Internal
            | Self::TaskNotFound
            | Self::TaskNotCancelable
            | Self::PushNotificationNotSupported
            | Self::UnsupportedOperation
            | Self::ContentTypeNotSupported
            | Self::VersionNotSupported => PROTOCOL_DOMAIN,
        }
    }

    /// The status of the HTTP+JSON binding, and its name in `google.rpc.Status`.
    fn status(self) -> (StatusCode, &'static str) {
        match self {
            Self::Parse
            | Self::InvalidRequest
            | Self::InvalidParams
            | Self::ContentTypeNotSupported => (StatusCode::BAD_REQUEST, "INVALID_ARGUMENT"),
            Self::TaskNotFound | Self::MethodNotFound => (StatusCode::NOT_FOUND, "NOT_FOUND"),
            Self::TaskNotCancelable
            | Self::PushNotificationNotSupported
            | Self::UnsupportedOperation
            | Self::VersionNotSupported => (StatusCode::BAD_REQUEST, "FAILED_PRECONDITION"),
            Self::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL"),
            Self::Own(code) => own_status(code),
        }
    }
}

fn own_status(code: ErrorCode) -> (StatusCode, &'static str) {
    let status = status(code);
    let name = match status {
        StatusCode::UNAUTHORIZED => "UNAUTHENTICATED",
        StatusCode::FORBIDDEN => "PERMISSION_DENIED",
        StatusCode::NOT_FOUND => "NOT_FOUND",
        StatusCode::CONFLICT => "ABORTED",
        StatusCode::TOO_MANY_REQUESTS | StatusCode::INSUFFICIENT_STORAGE => "RESOURCE_EXHAUSTED",
        StatusCode::SERVICE_UNAVAILABLE => "UNAVAILABLE",
        StatusCode::GATEWAY_TIMEOUT => "DEADLINE_EXCEEDED",
        other if other.is_server_error() => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    };
    (status, name)
}

/// An error on its way to the client.
#[derive(Debug)]
pub(crate) struct A2aError(Box<Failure>);

#[derive(Debug)]
struct Failure {
    kind: Kind,
    message: String,
    metadata: Map<String, Value>,
    /// The parameter that is wrong, where it is one.
    field: Option<String>,
}

impl A2aError {
    pub(super) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self(Box::new(Failure {
            kind,
            message: message.into(),
            metadata: Map::new(),
            field: None,
        }))
    }

    /// A parameter that is wrong.
    pub(super) fn param(field: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let mut error = Self::new(Kind::InvalidParams, format!("{field}: {message}"));
        error.0.field = Some(field.to_owned());
        error
    }

    /// Adds a fact for a program. Values are text (`google.rpc.ErrorInfo`).
    pub(super) fn about(mut self, name: &str, value: &str) -> Self {
        self.0.metadata.insert(name.to_owned(), Value::from(value));
        self
    }

    /// An error of the engine, as the protocol names it. It is logged here, where it leaves.
    pub(super) fn of_engine(error: &EngineError) -> Self {
        log(error, &unnamed());
        let kind = match error.code {
            ErrorCode::NotFound => Kind::TaskNotFound,
            ErrorCode::IllegalTransition => Kind::UnsupportedOperation,
            ErrorCode::InvalidRequest
            | ErrorCode::InvalidDocument
            | ErrorCode::InvalidUtf8
            | ErrorCode::InvalidParameters
            | ErrorCode::MissingParameters
            | ErrorCode::AlreadyExists
            | ErrorCode::SessionNotFound => Kind::InvalidParams,
            ErrorCode::Internal => Kind::Internal,
            other => Kind::Own(other),
        };
        Self::new(kind, error.to_string()).about("errorCode", error.code.as_str())
    }

    /// The same failure under another name of the protocol's.
    pub(super) fn renamed(mut self, from: Kind, to: Kind) -> Self {
        if self.0.kind == from {
            self.0.kind = to;
        }
        self
    }

    fn details(&self) -> Value {
        let (_, reason) = self.0.kind.code_and_reason();
        let mut details = vec![json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason,
            "domain": self.0.kind.domain(), "metadata": self.0.metadata,
        })];
        if let Some(field) = &self.0.field {
            let violation = json!({"field": field, "description": self.0.message});
            details.push(json!({
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [violation],
            }));
        }
        Value::Array(details)
    }

    /// The `error` of a JSON-RPC response.
    pub(super) fn rpc(&self) -> Value {
        let (code, _) = self.0.kind.code_and_reason();
        json!({"code": code, "message": self.0.message, "data": self.details()})
    }

    /// The status and body of an HTTP+JSON response.
    pub(super) fn http(&self) -> (StatusCode, Value) {
        let (status, name) = self.0.kind.status();
        let body = json!({"error": {
            "code": status.as_u16(), "status": name, "message": self.0.message,
            "details": self.details(),
        }});
        (status, body)
    }
}
