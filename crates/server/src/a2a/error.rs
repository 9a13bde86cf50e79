//! The protocol's errors (sections 3.3.2, 5.4, 9.5, 11.6), and their mapping from the engine's.

use axum::http::StatusCode;
use charter_contract::error_code::ErrorCode;
use charter_contract::violation::Violation;
use charter_engine::EngineError;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::{log, new_request_id, status};

/// The domain of the protocol's error reasons.
const PROTOCOL_DOMAIN: &str = "a2a-protocol.org";

/// The domain of Charter's error reasons.
const OWN_DOMAIN: &str = "charter";

/// The field of a request that receives the data parts of a message.
const METADATA: &str = "/metadata";

/// JSON-RPC's code for implementation-defined errors.
const IMPLEMENTATION_DEFINED: i32 = -32_000;

/// The kind of failure.
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
    /// A failure for which the protocol has no name.
    Own(ErrorCode),
}

impl Kind {
    /// The JSON-RPC code, and the reason in the error's details.
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

/// An error for the client.
#[derive(Debug)]
pub(crate) struct A2aError(Box<Failure>);

#[derive(Debug)]
struct Failure {
    kind: Kind,
    message: String,
    metadata: Map<String, Value>,
    /// The invalid parameters.
    fields: Vec<FieldViolation>,
}

/// The fault of a parameter (`google.rpc.BadRequest.FieldViolation`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct FieldViolation {
    /// The parameter's path with the names of ProtoJSON: `message.parts[0].data`.
    field: String,
    description: String,
}

/// The faults of all parameters of a call.
#[derive(Debug, Default)]
pub(super) struct Violations {
    fields: Vec<FieldViolation>,
    /// The kind of failure of all together.
    kind: Option<Kind>,
}

impl Violations {
    /// Adds an invalid parameter.
    pub(super) fn add(&mut self, field: &str, description: impl Into<String>) {
        self.take(A2aError::param(field, description));
    }

    /// Returns the parsed value, or adds its fault.
    pub(super) fn keep<T>(&mut self, read: Result<T, A2aError>) -> Option<T> {
        read.map_err(|error| self.take(error)).ok()
    }

    fn take(&mut self, error: A2aError) {
        let Failure { kind, fields, .. } = *error.0;
        // An invalid parameter takes precedence over an unsupported one.
        if self.kind != Some(Kind::InvalidParams) {
            self.kind = Some(kind);
        }
        self.fields.extend(fields);
    }

    /// Returns the parsed value unless there is a fault.
    pub(super) fn unless_any<T>(self, read: Option<T>) -> Result<T, A2aError> {
        match (self.kind, read) {
            (None, Some(read)) => Ok(read),
            (kind, _) => {
                let kind = kind.unwrap_or(Kind::Internal);
                Err(A2aError::of_fields(kind, self.fields))
            }
        }
    }
}

impl A2aError {
    pub(super) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self(Box::new(Failure {
            kind,
            message: message.into(),
            metadata: Map::new(),
            fields: Vec::new(),
        }))
    }

    /// The error for an invalid parameter.
    pub(super) fn param(field: &str, message: impl Into<String>) -> Self {
        Self::of_field(Kind::InvalidParams, field, message)
    }

    /// A failure because of one parameter.
    pub(super) fn of_field(kind: Kind, field: &str, message: impl Into<String>) -> Self {
        let violation = FieldViolation {
            field: field.to_owned(),
            description: message.into(),
        };
        Self::of_fields(kind, vec![violation])
    }

    fn of_fields(kind: Kind, fields: Vec<FieldViolation>) -> Self {
        let first = fields
            .first()
            .map_or_else(String::new, |first| match first.field.as_str() {
                "" => first.description.clone(),
                field => format!("{field}: {}", first.description),
            });
        let message = match fields.len() {
            0 | 1 => first,
            count => format!("{first}, and {} more", count - 1),
        };
        let mut error = Self::new(kind, message);
        error.0.fields = fields;
        error
    }

    /// The error for parameters that violate their schema.
    pub(super) fn of_violations(violations: &[Violation]) -> Self {
        Self::of_fields(Kind::InvalidParams, fields(violations))
    }

    /// Adds a machine-readable fact. Values are strings (`google.rpc.ErrorInfo`).
    pub(super) fn about(mut self, name: &str, value: &str) -> Self {
        self.0.metadata.insert(name.to_owned(), Value::from(value));
        self
    }

    /// Maps an error of the engine to the protocol's, and logs it.
    pub(super) fn of_engine(error: &EngineError) -> Self {
        log(error, &new_request_id());
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
        let found = match fields(&error.violations_found()) {
            none if none.is_empty() => Self::new(kind, error.to_string()),
            fields => Self::of_fields(kind, fields),
        };
        let found = found.about("errorCode", error.code.as_str());
        let (known, _) = error.known_ids();
        match known.as_slice() {
            [] => found,
            known => found.about("known", &known.join(", ")),
        }
    }

    /// Replaces the kind `from` by `to`.
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
        if !self.0.fields.is_empty() {
            details.push(json!({
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": self.0.fields,
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

/// The violations in the protocol's form.
fn fields(violations: &[Violation]) -> Vec<FieldViolation> {
    let fields = violations.iter().map(|violation| FieldViolation {
        field: path(&violation.pointer),
        description: match &violation.suggestion {
            Some(suggestion) => format!("{} ({suggestion})", violation.message),
            None => violation.message.clone(),
        },
    });
    fields.collect()
}

/// Converts a JSON pointer to a path of the protocol: `/message/parts/0` is `message.parts[0]`. A request's metadata
/// comes from a data part.
fn path(pointer: &str) -> String {
    let data = pointer.strip_prefix(METADATA);
    let data = data.map(|below| format!("/data{below}"));
    let mut path = String::new();
    for segment in data.as_deref().unwrap_or(pointer).split('/').skip(1) {
        if segment.bytes().all(|byte| byte.is_ascii_digit()) && !segment.is_empty() {
            path.push_str(&format!("[{segment}]"));
            continue;
        }
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(&segment.replace("~1", "/").replace("~0", "~"));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_a_path_of_the_protocol() {
        for (pointer, expected) in [
            ("", ""),
            ("/message/messageId", "message.messageId"),
            ("/message/parts/12/data", "message.parts[12].data"),
            ("/metadata/flow", "data.flow"),
            ("/mission/goal", "mission.goal"),
            ("/a~1b", "a/b"),
        ] {
            assert_eq!(path(pointer), expected, "{pointer}");
        }
    }

    #[test]
    fn ids_that_the_caller_sees_are_in_the_metadata() {
        let absent = EngineError::not_found("task", "t").knowing(["t-1", "t-2"]);
        let error = A2aError::of_engine(&absent).rpc();
        assert_eq!(
            error["data"][0]["metadata"],
            json!({"errorCode": "not_found", "known": "t-1, t-2"})
        );
    }

    #[test]
    fn every_violation_is_in_the_details_and_the_first_in_the_message() {
        let mut violations = Violations::default();
        violations.add("message.role", "must be ROLE_USER");
        let kept = violations.keep::<()>(Err(A2aError::of_field(
            Kind::ContentTypeNotSupported,
            "message.parts[0]",
            "files are not taken",
        )));
        assert_eq!(kept, None);
        let error = violations.unless_any(kept).unwrap_err().rpc();
        assert_eq!(error["code"], -32_602);
        assert_eq!(
            error["message"],
            "message.role: must be ROLE_USER, and 1 more"
        );
        let expected = json!([
            {"field": "message.role", "description": "must be ROLE_USER"},
            {"field": "message.parts[0]", "description": "files are not taken"},
        ]);
        assert_eq!(error["data"][1]["fieldViolations"], expected);
        assert_eq!(Violations::default().unless_any(Some(7)).ok(), Some(7));
    }
}
