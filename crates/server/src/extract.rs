//! Reading requests: the caller from the credential, bodies through the contract.

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use charter_contract::error_code::ErrorCode;
use charter_contract::validate::{Contract, parse};
use charter_contract::violation::Violation;
use charter_engine::{Caller, EngineError};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::error::ApiError;
use crate::state::AppState;

/// The authenticated caller.
pub(crate) struct By(pub(crate) Caller);

impl FromRequestParts<AppState> for By {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let caller = state.access.caller(&parts.headers);
        caller.map(By).map_err(|error| ApiError::new(state, error))
    }
}

/// A body that keeps its contract.
pub(crate) struct Valid<T>(pub(crate) T);

impl<T: Contract> FromRequest<AppState> for Valid<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, ApiError> {
        let bytes = read(request.into_body(), state).await?;
        if std::str::from_utf8(&bytes).is_err() {
            let error = EngineError::new(ErrorCode::InvalidUtf8, "the body is not valid UTF-8");
            return Err(ApiError::new(state, error));
        }
        parse::<T>(&bytes).map(Valid).map_err(|violations| {
            let error = EngineError::new(
                ErrorCode::InvalidDocument,
                summary(T::NAME.as_str(), &violations),
            );
            ApiError::new(state, error.with_details(json!({"violations": violations})))
        })
    }
}

async fn read(body: Body, state: &AppState) -> Result<axum::body::Bytes, ApiError> {
    let limit = state.limits.body_bytes;
    to_bytes(body, limit).await.map_err(|error| {
        let too_large = std::error::Error::source(&error)
            .is_some_and(|cause| cause.is::<http_body_util::LengthLimitError>());
        ApiError::new(
            state,
            if too_large {
                let message = format!("the body is larger than {limit} bytes");
                EngineError::new(ErrorCode::TooLarge, message)
                    .with_details(json!({"limit_bytes": limit}))
            } else {
                EngineError::new(ErrorCode::InvalidRequest, "the body could not be read")
                    .caused_by(error)
            },
        )
    })
}

fn summary(name: &str, violations: &[Violation]) -> String {
    let first = violations
        .first()
        .map(ToString::to_string)
        .unwrap_or_default();
    match violations.len() {
        0 | 1 => format!("this is no {name}: {first}"),
        count => format!("this is no {name}: {first}, and {} more", count - 1),
    }
}

/// Query parameters.
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<AppState> for Asked<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        Query::try_from_uri(&parts.uri)
            .map(|Query(query)| Asked(query))
            .map_err(|rejection| {
                let message = format!(
                    "the query parameters cannot be read: {}",
                    rejection.body_text()
                );
                ApiError::new(state, EngineError::new(ErrorCode::InvalidRequest, message))
            })
    }
}

/// Parses a path segment or parameter into an id.
pub(crate) fn parsed<T>(state: &AppState, text: &str) -> Result<T, ApiError>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error| {
        let message = format!("`{text}`: {error}");
        ApiError::new(state, EngineError::new(ErrorCode::InvalidRequest, message))
    })
}
