//! Sign-in to the console at an identity provider, and the session of a browser.

use axum::extract::State;
use axum::http::header::{HeaderName, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::AppendHeaders;
use charter_contract::error_code::ErrorCode;
use charter_engine::{
    ConnectionCode, ConsoleSessionView, EngineError, SignInOptions, SignInOrder, SignInStart,
    SignedOut,
};

use crate::console_session::{ConsoleCookie, ConsoleOrigin};
use crate::error::ApiError;
use crate::extract::{Authenticated, JsonBody};
use crate::json::Json;
use crate::state::AppState;

/// An answer that sets cookies.
type WithCookies<const N: usize, T> = (AppendHeaders<[(HeaderName, HeaderValue); N]>, Json<T>);

/// List the identity providers at which users sign in to the console; none if users need an API key.
#[utoipa::path(get, path = "/v1/sign-in", tag = "console", operation_id = "get_sign_in_options",
    responses((status = 200, description = "The providers", body = ref("#/components/schemas/sign_in_options"))))]
pub(crate) async fn options(State(state): State<AppState>) -> Json<SignInOptions> {
    Json(state.engine.sign_in().options())
}

/// Start to sign in to the console: open `authorization_url` in the same browser, and send the parameters of the
/// redirect to `complete`. Only a page of this server may send this.
#[utoipa::path(post, path = "/v1/sign-in", tag = "console", operation_id = "start_sign_in", request_body = ref("#/components/schemas/sign_in_request"),
    responses((status = 200, description = "The page on which the user signs in", body = ref("#/components/schemas/sign_in_start")), (status = 403, description = "A page of another site sent it", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn start(
    State(state): State<AppState>,
    headers: HeaderMap,
    JsonBody(order): JsonBody<SignInOrder>,
) -> Result<WithCookies<1, SignInStart>, ApiError> {
    let origin = ConsoleOrigin::new(&state, &headers);
    origin.must_have_sent(&headers)?;
    let started = state.engine.sign_in().start(origin.base(), order).await?;
    let cookie = origin.set(ConsoleCookie::SignIn, &started.browser)?;
    let cookies = AppendHeaders([(SET_COOKIE, cookie)]);
    Ok((cookies, Json(started.start)))
}

/// Complete a sign-in with `code`, `state` and `iss` of the redirect, in the browser that started it. The browser gets
/// the cookie of a new session; an earlier session of the browser ends.
#[utoipa::path(post, path = "/v1/sign-in/complete", tag = "console", operation_id = "complete_sign_in", request_body = ref("#/components/schemas/connection_code"),
    responses((status = 200, description = "The session", body = ref("#/components/schemas/console_session")), (status = 401, description = "The identity provider sent no valid ID token", body = ref("#/components/schemas/agent_error")), (status = 403, description = "The user has no access, or a page of another site sent it", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn complete(
    State(state): State<AppState>,
    headers: HeaderMap,
    JsonBody(code): JsonBody<ConnectionCode>,
) -> Result<WithCookies<2, ConsoleSessionView>, ApiError> {
    let origin = ConsoleOrigin::new(&state, &headers);
    origin.must_have_sent(&headers)?;
    let browser = origin
        .read(ConsoleCookie::SignIn, &headers)
        .ok_or_else(|| {
            let message = "this browser started no sign-in, or refused its cookie; start it again";
            EngineError::new(ErrorCode::InvalidRequest, message)
        })?;
    let before = origin.read(ConsoleCookie::Session, &headers);
    let sign_in = state.engine.sign_in();
    let opened = sign_in.complete(&browser, before.as_ref(), code).await?;
    let cookies = AppendHeaders([
        (SET_COOKIE, origin.set(ConsoleCookie::Session, &opened.id)?),
        (SET_COOKIE, origin.clear(ConsoleCookie::SignIn)?),
    ]);
    Ok((cookies, Json(opened.view)))
}

/// Show the console session of this browser, with the `page_token` that its changes must send in `X-Charter-Session`.
#[utoipa::path(get, path = "/v1/console-session", tag = "console", operation_id = "get_console_session",
    responses((status = 200, description = "The session", body = ref("#/components/schemas/console_session")), (status = 404, description = "The caller has another credential", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn show(
    State(state): State<AppState>,
    _caller: Authenticated,
    headers: HeaderMap,
) -> Result<Json<ConsoleSessionView>, ApiError> {
    let origin = ConsoleOrigin::new(&state, &headers);
    let id = origin.read(ConsoleCookie::Session, &headers);
    let id = id.ok_or_else(|| {
        let message = "this request has no console session: its caller has another credential";
        EngineError::new(ErrorCode::NotFound, message)
    })?;
    Ok(Json(state.engine.sign_in().show(&id).await?))
}

/// Sign out: end the console session of this browser, and revoke its tokens at the identity provider. Without a
/// session, nothing happens.
#[utoipa::path(delete, path = "/v1/console-session", tag = "console", operation_id = "delete_console_session",
    responses((status = 200, description = "Where the user can sign out of the provider too, if it has such a page", body = ref("#/components/schemas/signed_out"))))]
pub(crate) async fn end(
    State(state): State<AppState>,
    _caller: Authenticated,
    headers: HeaderMap,
) -> Result<WithCookies<1, SignedOut>, ApiError> {
    let origin = ConsoleOrigin::new(&state, &headers);
    let signed_out = match origin.read(ConsoleCookie::Session, &headers) {
        Some(id) => state.engine.sign_in().end(&id, origin.base()).await?,
        None => SignedOut { sign_out_url: None },
    };
    let cookies = AppendHeaders([(SET_COOKIE, origin.clear(ConsoleCookie::Session)?)]);
    Ok((cookies, Json(signed_out)))
}
