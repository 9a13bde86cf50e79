//! Failures of model requests, and their public errors (B003-3). Must not know providers.

use std::time::Duration;

use charter_contract::agentic::error::ErrorType;
use charter_contract::error_code::ErrorCode;

use super::Usage;

/// A request without a draft.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelFailure {
    /// The kind of failure.
    pub fault: ModelFault,
    /// The cause, in Charter's own words; safe to show to the caller.
    pub message: String,
    /// The provider's message, bounded and without keys: for operators and the log. It may name the operator's account.
    pub detail: Option<String>,
    /// Tokens that were used, in all attempts and repairs.
    pub usage: Usage,
    /// Number of requests.
    pub attempts: u32,
    /// The pause that the provider requests.
    pub retry_after: Option<Duration>,
}

/// Kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModelFault {
    /// The route is not configured.
    UnknownRoute,
    /// The provider does not know the model or the address (404).
    UnknownModel,
    /// The provider redirects the request (3xx); redirects are not followed.
    Redirected,
    /// The provider does not accept the request (400 and other 4xx).
    InvalidRequest,
    /// Prompts and context exceed the model's context window (400, 413, stopped at the window).
    ContextTooLong,
    /// The key is missing or wrong (401).
    Authentication,
    /// The key lacks permission (403).
    Permission,
    /// The account has no credit (402, or 429 with `insufficient_quota`).
    Billing,
    /// Too many requests or tokens in too little time (429).
    RateLimited,
    /// The provider is overloaded (503, 529).
    Overloaded,
    /// No connection.
    Unreachable,
    /// A timeout, here or at the provider (408, 504).
    Timeout,
    /// The provider failed (500, 502 and other 5xx).
    Broken,
    /// The answer ended early.
    Truncated,
    /// The model declined.
    Refused,
    /// A filter of the provider blocked the answer.
    Filtered,
    /// The answer is not JSON, or not in the form of the provider's API.
    Malformed,
    /// The answer does not conform to the schema.
    SchemaViolated,
    /// The answer was cut at the token limit.
    CutOff,
    /// The answer exceeds its byte limit.
    TooMuchOutput,
    /// The caller cancelled the request.
    Cancelled,
    /// An internal error.
    System,
}

impl ModelFault {
    /// All kinds.
    pub const ALL: [Self; 22] = [
        Self::UnknownRoute,
        Self::UnknownModel,
        Self::Redirected,
        Self::InvalidRequest,
        Self::ContextTooLong,
        Self::Authentication,
        Self::Permission,
        Self::Billing,
        Self::RateLimited,
        Self::Overloaded,
        Self::Unreachable,
        Self::Timeout,
        Self::Broken,
        Self::Truncated,
        Self::Refused,
        Self::Filtered,
        Self::Malformed,
        Self::SchemaViolated,
        Self::CutOff,
        Self::TooMuchOutput,
        Self::Cancelled,
        Self::System,
    ];

    /// Returns its name, e.g. `rate_limited`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownRoute => "unknown_route",
            Self::UnknownModel => "unknown_model",
            Self::Redirected => "redirected",
            Self::InvalidRequest => "invalid_request",
            Self::ContextTooLong => "context_too_long",
            Self::Authentication => "authentication",
            Self::Permission => "permission",
            Self::Billing => "billing",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::Unreachable => "unreachable",
            Self::Timeout => "timeout",
            Self::Broken => "broken",
            Self::Truncated => "truncated",
            Self::Refused => "refused",
            Self::Filtered => "filtered",
            Self::Malformed => "malformed",
            Self::SchemaViolated => "schema_violated",
            Self::CutOff => "cut_off",
            Self::TooMuchOutput => "too_much_output",
            Self::Cancelled => "cancelled",
            Self::System => "system",
        }
    }

    /// Returns the public code.
    #[must_use]
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::UnknownRoute | Self::UnknownModel | Self::Redirected => {
                ErrorCode::ModelRouteUnknown
            }
            Self::InvalidRequest => ErrorCode::InvalidRequest,
            Self::ContextTooLong => ErrorCode::TooLarge,
            Self::Authentication | Self::Permission | Self::Billing => ErrorCode::ModelAccessDenied,
            Self::RateLimited => ErrorCode::RateLimited,
            Self::Overloaded => ErrorCode::Overloaded,
            Self::Unreachable => ErrorCode::Unavailable,
            Self::Timeout => ErrorCode::RequestTimeout,
            Self::Broken | Self::Truncated => ErrorCode::ModelFailed,
            Self::Refused | Self::Filtered => ErrorCode::ModelRefused,
            Self::Malformed | Self::SchemaViolated | Self::CutOff | Self::TooMuchOutput => {
                ErrorCode::ModelAnswerInvalid
            }
            Self::Cancelled => ErrorCode::Cancelled,
            Self::System => ErrorCode::Internal,
        }
    }

    /// Returns its type among the six of seed 003.
    #[must_use]
    pub const fn error_type(self) -> ErrorType {
        self.code().error_type()
    }

    /// Whether the same request may succeed later without a change. The same kinds are retried within a request.
    #[must_use]
    pub const fn retryable(self) -> bool {
        self.code().retryable()
    }
}

impl ModelFailure {
    /// Creates a failure without usage.
    #[must_use]
    pub fn new(fault: ModelFault, message: impl Into<String>) -> Self {
        Self {
            fault,
            message: message.into(),
            detail: None,
            usage: Usage::default(),
            attempts: 0,
            retry_after: None,
        }
    }

    pub(super) fn with_detail(mut self, detail: Option<String>) -> Self {
        self.detail = detail;
        self
    }

    /// Returns the public code.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        self.fault.code()
    }

    /// Whether the same request may succeed later without a change.
    #[must_use]
    pub const fn retryable(&self) -> bool {
        self.fault.retryable()
    }
}
