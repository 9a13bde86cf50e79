//! How asking a model fails, and which public error that is (B003-3). Must not know providers.

use std::time::Duration;

use charter_contract::agentic::error::ErrorType;
use charter_contract::error_code::ErrorCode;

use super::Usage;

/// A request that brought no draft.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelFailure {
    /// What went wrong.
    pub fault: ModelFault,
    /// What happened, in Charter's own words; safe to show to whoever asked.
    pub message: String,
    /// What the provider said of it, bounded and without keys: for operators and the log. It may
    /// name the operator's account.
    pub detail: Option<String>,
    /// Tokens that were used until then, in all attempts and repairs.
    pub usage: Usage,
    /// Requests that were sent.
    pub attempts: u32,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
}

/// Kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModelFault {
    /// The route leads nowhere.
    UnknownRoute,
    /// The provider does not know the model or the address (404).
    UnknownModel,
    /// The provider leads to another place (3xx), which is not followed.
    Redirected,
    /// The provider does not accept the request (400 and other 4xx).
    InvalidRequest,
    /// Prompts and context are more than the model reads (400, 413, stopped at the window).
    ContextTooLong,
    /// The key is missing or wrong (401).
    Authentication,
    /// The key may not do this (403).
    Permission,
    /// The account has no credit (402, or 429 with `insufficient_quota`).
    Billing,
    /// Too many requests or tokens in too little time (429).
    RateLimited,
    /// The provider has no room at the moment (503, 529).
    Overloaded,
    /// No connection.
    Unreachable,
    /// No answer in time, here or there (408, 504).
    Timeout,
    /// The provider failed (500, 502 and other 5xx).
    Broken,
    /// The answer broke off before its end.
    Truncated,
    /// The model declined.
    Refused,
    /// A filter of the provider kept the answer back.
    Filtered,
    /// The answer is not JSON, or not in the form of the provider's API.
    Malformed,
    /// The answer does not keep to the schema.
    SchemaViolated,
    /// The answer was cut at the limit of tokens.
    CutOff,
    /// The answer is larger than its bound in bytes.
    TooMuchOutput,
    /// Whoever asked does not wait any more.
    Cancelled,
    /// The fault is here.
    System,
}

impl ModelFault {
    /// Every kind.
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

    /// Its name, e.g. `rate_limited`.
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

    /// The public code.
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

    /// Which of the six types of seed 003 it is.
    #[must_use]
    pub const fn error_type(self) -> ErrorType {
        self.code().error_type()
    }

    /// Whether the same request may succeed later without a change. The same kinds are tried again
    /// within a request.
    #[must_use]
    pub const fn retryable(self) -> bool {
        self.code().retryable()
    }
}

impl ModelFailure {
    /// A failure on which nothing was spent yet.
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

    /// The public code.
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
