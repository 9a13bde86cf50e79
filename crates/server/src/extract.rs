//! Reads requests: the caller from the credential, bodies by their contracts.

use axum::body::{Body, HttpBody};
use axum::extract::{FromRequest, FromRequestParts, MatchedPath, Query, Request};
use axum::http::request::Parts;
use charter_contract::bounds::LIGHT_BODY;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::IdError;
use charter_contract::json::{Extent, JsonLimitExceeded, JsonText, Profile, extent};
use charter_contract::mission::envelope::MissionEnvelope;
use charter_contract::package::PackageScope;
use charter_contract::registry::parse_typed;
use charter_contract::validate::{Contract, measure, parse_text};
use charter_contract::violation::Violation;
use charter_engine::{Caller, EngineError, IdempotencyKey, MissionOrder, Share, Shares};
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::json;
use utoipa::IntoParams;

use crate::auth::Identity;
use crate::error::ApiError;
use crate::limits::RequestSlot;
use crate::state::AppState;
use crate::transfer::TooSlow;

/// The authenticated caller, with permission for the route's operation.
pub(crate) struct Authenticated(pub(crate) Caller);

impl FromRequestParts<AppState> for Authenticated {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let caller = Identity::caller(&parts.extensions, &state.engine)?;
        let path = parts.extensions.get::<MatchedPath>();
        let path = path.map_or("", MatchedPath::as_str);
        state.operations.admit(&parts.method, path, &caller)?;
        Ok(Self(caller))
    }
}

/// The layer that a request is about.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ScopeQuery {
    /// `tenant` (the default) or `global`.
    #[param(value_type = Option<String>)]
    scope: Option<PackageScope>,
}

impl ScopeQuery {
    pub(crate) fn scope(&self) -> PackageScope {
        self.scope.unwrap_or(PackageScope::Tenant)
    }
}

/// The header by which a repeated command is recognized.
const ORDER_KEY: &str = "idempotency-key";

/// The idempotency key of a command.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct IdempotencyHeader {
    /// The client's idempotency key: the same command with the same key returns what it started before.
    #[param(rename = "Idempotency-Key", value_type = String, required = false, pattern = r"^[!-~]{1,256}$")]
    pub(crate) key: Option<IdempotencyKey>,
}

impl FromRequestParts<AppState> for IdempotencyHeader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ApiError> {
        let mut named = parts.headers.get_all(ORDER_KEY).iter();
        let key = named.next().map(|name| {
            let only: &[u8] = if named.next().is_none() {
                name.as_bytes()
            } else {
                b""
            };
            IdempotencyKey::parse(&String::from_utf8_lossy(only))
        });
        Ok(Self {
            key: key.transpose()?,
        })
    }
}

/// A body that conforms to its contract.
pub(crate) struct Valid<T>(pub(crate) T);

impl<T: Contract> FromRequest<AppState> for Valid<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, ApiError> {
        let (head, body) = request.into_parts();
        let body = ReadBody::read(&head, body, state).await?;
        let unfit =
            |violations: Vec<Violation>| EngineError::violations(T::NAME.as_str(), &violations);
        let text = body.text(Profile::MESSAGE, unfit)?;
        set_aside(text.extent(), &head, state).await?;
        Ok(Self(parse_text(&text).map_err(unfit)?))
    }
}

/// A body of this API's own, without a contract; an empty one counts as `{}`.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned + JsonSchema + 'static> FromRequest<AppState> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, ApiError> {
        let (head, body) = request.into_parts();
        let body = ReadBody::read(&head, body, state).await?.or_empty_object();
        let text = json_text(&body, &head, state).await?;
        let read = parse_typed(&text);
        Ok(Self(read.map_err(|found| unfit_body(&found))?))
    }
}

/// The body of a start of a mission: the interface's own form, or a mission envelope.
pub(crate) struct MissionBody(pub(crate) MissionOrder);

/// The field that only an envelope has.
#[derive(Deserialize)]
struct SchemaHeader {
    #[serde(default)]
    schema_name: Option<IgnoredAny>,
}

impl FromRequest<AppState> for MissionBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, ApiError> {
        let (head, body) = request.into_parts();
        let body = ReadBody::read(&head, body, state).await?.or_empty_object();
        let text = json_text(&body, &head, state).await?;
        let header = text.parse::<SchemaHeader>();
        let order = match header.is_ok_and(|header| header.schema_name.is_some()) {
            true => parse_text::<MissionEnvelope>(&text).map(MissionOrder::from),
            false => parse_typed(&text),
        };
        Ok(Self(order.map_err(|found| unfit_body(&found))?))
    }
}

/// Measures a body of this API's own, and waits for the memory of its document.
async fn json_text<'b>(
    body: &'b ReadBody,
    head: &Parts,
    state: &AppState,
) -> Result<JsonText<'b>, EngineError> {
    let profile = Profile::MESSAGE.of_bytes(state.limits.body_bytes);
    let text = body.text(profile, |found| unfit_body(&found))?;
    set_aside(text.extent(), head, state).await?;
    Ok(text)
}

fn unfit_body(violations: &[Violation]) -> EngineError {
    EngineError::unfit("the body", violations)
}

fn must_be_utf8(bytes: &[u8]) -> Result<(), EngineError> {
    std::str::from_utf8(bytes).map(drop).map_err(|malformed| {
        let message = format!(
            "the body is not valid UTF-8 at byte {}",
            malformed.valid_up_to()
        );
        EngineError::new(ErrorCode::InvalidUtf8, message)
    })
}

/// The raw body, for protocols that report its faults themselves.
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl FromRequest<AppState> for Bytes {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, ApiError> {
        let (head, body) = request.into_parts();
        let body = ReadBody::read(&head, body, state).await?;
        body.set_aside(&head, state, Profile::BUNDLE).await?;
        Ok(Self(body.bytes))
    }
}

/// A body that was read, with its share of the memory for bodies.
pub(crate) struct ReadBody {
    pub(crate) bytes: Vec<u8>,
    pub(crate) share: Option<Share>,
}

/// The memory that a request needs for its document, in copies of it.
const COPIES: usize = 2;

impl ReadBody {
    /// Reads a body; waits for memory before it reads more than [`LIGHT_BODY`].
    pub(crate) async fn read(
        head: &Parts,
        body: Body,
        state: &AppState,
    ) -> Result<Self, EngineError> {
        let limit = state.limits.body_bytes;
        // A body of unknown length may be as long as the limit.
        let length = body.size_hint().upper();
        let length = length.map_or(limit, |length| {
            usize::try_from(length).unwrap_or(usize::MAX)
        });
        let mut read = Self {
            bytes: Vec::new(),
            share: None,
        };
        if length > limit {
            return Err(too_large(limit));
        }
        let mut chunks = body.into_data_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(unread)?;
            let seen = read.bytes.len().saturating_add(chunk.len());
            if seen > limit {
                return Err(too_large(limit));
            }
            if seen > LIGHT_BODY && read.share.is_none() {
                read.share = memory_of(head, &state.memory.bodies, length.max(seen), state).await?;
                read.bytes
                    .reserve_exact(length.saturating_sub(read.bytes.len()));
            }
            read.bytes.extend_from_slice(&chunk);
        }
        Ok(read)
    }

    /// The body, with `{}` in place of nothing.
    fn or_empty_object(mut self) -> Self {
        if self.bytes.is_empty() {
            self.bytes.extend_from_slice(b"{}");
        }
        self
    }

    /// The measured text of the body; `unfit` makes the error of one that is not within the profile.
    fn text(
        &self,
        profile: Profile,
        unfit: impl FnOnce(Vec<Violation>) -> EngineError,
    ) -> Result<JsonText<'_>, EngineError> {
        must_be_utf8(&self.bytes)?;
        measure(&self.bytes, profile).map_err(unfit)
    }

    /// Waits for the memory that the document takes until the request is answered. A document beyond the profile's
    /// limits takes none, because its reader refuses it.
    pub(crate) async fn set_aside(
        &self,
        head: &Parts,
        state: &AppState,
        profile: Profile,
    ) -> Result<Option<JsonLimitExceeded>, EngineError> {
        match extent(&self.bytes, profile) {
            Ok(extent) => set_aside(extent, head, state).await.map(|()| None),
            Err(much) => Ok(Some(much)),
        }
    }
}

/// Waits for the memory that a document of this size takes until the request is answered.
async fn set_aside(extent: Extent, head: &Parts, state: &AppState) -> Result<(), EngineError> {
    if extent.memory > LIGHT_BODY {
        let memory = extent.memory.saturating_mul(COPIES);
        let share = memory_of(head, &state.memory.documents, memory, state).await?;
        if let (Some(place), Some(share)) = (head.extensions.get::<RequestSlot>(), share) {
            place.keep_document(share);
        }
    }
    Ok(())
}

fn too_large(limit: usize) -> EngineError {
    let message = format!("the body is larger than {limit} bytes");
    let error = EngineError::new(ErrorCode::TooLarge, message);
    error.with_details(json!({"limit_bytes": limit}))
}

/// A share of memory for a request; `None` for one without a caller, whose body is not read.
async fn memory_of(
    head: &Parts,
    shares: &Shares,
    bytes: usize,
    state: &AppState,
) -> Result<Option<Share>, EngineError> {
    let Some(place) = head.extensions.get::<RequestSlot>() else {
        return Ok(None);
    };
    // Waits for half of the request's timeout; the other half is for its answer.
    let patience = state.limits.timeout / 2;
    let share = shares.wait_for(place.caller(), bytes, patience).await?;
    Ok(Some(share))
}

/// The error of a body that broke off, or was too slow.
fn unread(error: axum::Error) -> EngineError {
    let error = error.into_inner();
    match error.downcast_ref::<TooSlow>() {
        Some(slow) => EngineError::new(ErrorCode::RequestTimeout, slow.to_string()),
        None => {
            let message = "the body could not be read";
            EngineError::new(ErrorCode::InvalidRequest, message).caused_by(error)
        }
    }
}

/// Query parameters.
pub(crate) struct QueryParams<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<AppState> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ApiError> {
        let Query(query) = Query::try_from_uri(&parts.uri).map_err(|rejection| {
            let message = format!(
                "the query parameters cannot be read: {}",
                rejection.body_text()
            );
            EngineError::new(ErrorCode::InvalidRequest, message)
        })?;
        Ok(Self(query))
    }
}

/// The parameters of a path, decoded.
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<AppState> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let read = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        let axum::extract::Path(of) = read.map_err(|rejection| {
            let message = format!("the path cannot be read: {}", rejection.body_text());
            EngineError::new(ErrorCode::InvalidRequest, message)
        })?;
        Ok(Self(of))
    }
}

/// Parses a path segment or parameter into an id.
pub(crate) fn parsed<T>(text: &str) -> Result<T, ApiError>
where
    T: std::str::FromStr,
    T::Err: std::error::Error + 'static,
{
    let read = text.parse::<T>();
    Ok(read.map_err(|error| malformed(text, &error))?)
}

/// The error for a text of the wrong form. For an id, the details name its kind, as for one that is not found.
fn malformed(text: &str, error: &(dyn std::error::Error + 'static)) -> EngineError {
    let message = format!("`{text}`: {error}");
    let malformed = EngineError::new(ErrorCode::InvalidRequest, message);
    match error.downcast_ref::<IdError>() {
        Some(id) => {
            let kind = id.kind();
            let kind = kind.trim_end_matches("Id").trim_end_matches("Name");
            malformed.with_details(json!({"what": kind.to_lowercase()}))
        }
        None => malformed,
    }
}

#[cfg(test)]
mod tests {
    use charter_contract::ids::{PackageName, RunId};

    use super::*;

    #[test]
    fn an_id_of_the_wrong_form_names_its_kind() {
        let id = "x".parse::<RunId>().unwrap_err();
        let refused = malformed("x", &id);
        assert_eq!(refused.code, ErrorCode::InvalidRequest);
        assert_eq!(refused.details, Some(json!({"what": "run"})));
        let name = "no name".parse::<PackageName>().unwrap_err();
        let refused = malformed("no name", &name);
        assert_eq!(refused.details, Some(json!({"what": "package"})));
        let number = "x".parse::<u64>().unwrap_err();
        assert_eq!(malformed("x", &number).details, None);
    }

    #[test]
    fn a_slow_body_and_a_broken_body_have_different_errors() {
        let slow = unread(axum::Error::new(TooSlow::Paused));
        let broken = unread(axum::Error::new(std::io::Error::other("broken")));
        let message = [slow, broken].map(|error| (error.code, error.to_string()));
        assert_eq!(
            message,
            [
                (
                    ErrorCode::RequestTimeout,
                    "no data of the body arrived for 10 s".to_owned()
                ),
                (
                    ErrorCode::InvalidRequest,
                    "the body could not be read".to_owned()
                ),
            ]
        );
    }
}
