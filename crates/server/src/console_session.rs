//! Console sessions over HTTP: their cookies, and the proof that a change comes from a page of the session.
//!
//! A session counts only without another credential. Browsers send its cookie also for pages of other ports of the same
//! host, so a request that may change something also needs the origin of this server and the token of the page.

use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Method, Uri};
use charter_contract::bounds::CONNECTION_WAIT_MS;
use charter_contract::error_code::ErrorCode;
use charter_engine::{Caller, EngineError, SessionSecret, SessionUse};

use crate::public_url::public_url;
use crate::state::AppState;

/// The header with the token of the session's page.
pub(crate) const PAGE_TOKEN: &str = "x-charter-session";

/// A cookie of the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConsoleCookie {
    /// The id of a session. It lasts as long as the browser runs.
    Session,
    /// The mark of the browser that started a sign-in.
    SignIn,
}

/// The address at which a browser sees this server.
pub(crate) struct ConsoleOrigin {
    base: String,
}

impl ConsoleOrigin {
    /// The address for a request with these headers.
    pub(crate) fn new(state: &AppState, headers: &HeaderMap) -> Self {
        Self::of_base(public_url(state.publisher.base(), headers.get(HOST)))
    }

    fn of_base(base: String) -> Self {
        Self { base }
    }

    /// The address, to which an identity provider sends a browser back.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    fn is_secure(&self) -> bool {
        self.base.starts_with("https://")
    }

    /// The name of a cookie. The prefix makes browsers refuse one that another host or a page without TLS sets.
    fn name(&self, cookie: ConsoleCookie) -> String {
        let name = match cookie {
            ConsoleCookie::Session => "charter_session",
            ConsoleCookie::SignIn => "charter_sign_in",
        };
        let prefix = if self.is_secure() { "__Host-" } else { "" };
        format!("{prefix}{name}")
    }

    /// Reads a cookie; `None` if it is absent or has another form.
    pub(crate) fn read(&self, cookie: ConsoleCookie, headers: &HeaderMap) -> Option<SessionSecret> {
        let name = self.name(cookie);
        let sent = headers.get_all(COOKIE).iter();
        let mut pairs = sent
            .filter_map(|sent| sent.to_str().ok())
            .flat_map(|sent| sent.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        let (_, value) = pairs.find(|(found, _)| *found == name)?;
        SessionSecret::parse(value)
    }

    /// Sets a cookie that scripts cannot read and other sites do not send.
    pub(crate) fn set(
        &self,
        cookie: ConsoleCookie,
        secret: &SessionSecret,
    ) -> Result<HeaderValue, EngineError> {
        let age = match cookie {
            ConsoleCookie::Session => String::new(),
            ConsoleCookie::SignIn => format!("; Max-Age={}", CONNECTION_WAIT_MS / 1_000),
        };
        self.header(cookie, secret.reveal(), &age)
    }

    /// Deletes a cookie.
    pub(crate) fn clear(&self, cookie: ConsoleCookie) -> Result<HeaderValue, EngineError> {
        self.header(cookie, "", "; Max-Age=0")
    }

    fn header(
        &self,
        cookie: ConsoleCookie,
        value: &str,
        age: &str,
    ) -> Result<HeaderValue, EngineError> {
        let secure = if self.is_secure() { "; Secure" } else { "" };
        let name = self.name(cookie);
        let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{age}");
        let header = HeaderValue::try_from(text);
        let mut header =
            header.map_err(|error| EngineError::internal("writing a cookie", error))?;
        header.set_sensitive(true);
        Ok(header)
    }

    /// Checks that a page of this server sent a request. Browsers name the page's origin in each request that may change
    /// something.
    ///
    /// # Errors
    /// `permission_denied` for a page of another site or port, and for a request that no page sent.
    pub(crate) fn must_have_sent(&self, headers: &HeaderMap) -> Result<(), EngineError> {
        let given = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
        let own = origin_of(&self.base);
        if given.is_some() && given == own.as_deref() {
            return Ok(());
        }
        let message = "only the console of this server may send this request: its `Origin` is another one, or absent; \
                       open the console at the address in `a2a.public_url`";
        Err(EngineError::new(ErrorCode::PermissionDenied, message))
    }
}

/// The origin of an address: scheme, host and port.
fn origin_of(base: &str) -> Option<String> {
    let base: Uri = base.parse().ok()?;
    let (scheme, authority) = (base.scheme_str()?, base.authority()?);
    Some(format!("{scheme}://{authority}").to_ascii_lowercase())
}

/// Authenticates the caller of a request: by the session of a browser if there is no other credential.
///
/// # Errors
/// As [`crate::auth::Access::authenticate`]; `unauthenticated` for a session that has ended; `permission_denied` for a
/// request that may change something, and comes from another page or without the token of the session's page.
pub(crate) async fn authenticate(
    state: &AppState,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Caller, EngineError> {
    let Some((origin, id)) = session_of(state, headers) else {
        return state.access.authenticate(&state.engine, headers).await;
    };
    if !method.is_safe() {
        origin.must_have_sent(headers)?;
        must_have_page_token(&id, headers)?;
    }
    let sign_in = state.engine.sign_in();
    sign_in.caller_of_session(&id, SessionUse::Request).await
}

/// Authenticates the caller of an open stream again, whose request was checked. This does not prolong a session.
///
/// # Errors
/// As [`authenticate`], but for the checks of a change.
pub(crate) async fn authenticate_again(
    state: &AppState,
    headers: &HeaderMap,
) -> Result<Caller, EngineError> {
    match session_of(state, headers) {
        Some((_, id)) => {
            let sign_in = state.engine.sign_in();
            sign_in.caller_of_session(&id, SessionUse::Check).await
        }
        None => state.access.authenticate(&state.engine, headers).await,
    }
}

/// The session of a request without another credential.
fn session_of(state: &AppState, headers: &HeaderMap) -> Option<(ConsoleOrigin, SessionSecret)> {
    if headers.contains_key(AUTHORIZATION) || !state.engine.sign_in().is_configured() {
        return None;
    }
    let origin = ConsoleOrigin::new(state, headers);
    let id = origin.read(ConsoleCookie::Session, headers)?;
    Some((origin, id))
}

fn must_have_page_token(id: &SessionSecret, headers: &HeaderMap) -> Result<(), EngineError> {
    let given = headers
        .get(PAGE_TOKEN)
        .and_then(|token| token.to_str().ok());
    if given.is_some_and(|given| id.has_page_token(given)) {
        return Ok(());
    }
    let message = format!(
        "a request of a console session that may change something needs the header `{PAGE_TOKEN}` with the session's \
         `page_token`; load the console again"
    );
    Err(EngineError::new(ErrorCode::PermissionDenied, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ";

    fn origin(base: &str) -> ConsoleOrigin {
        ConsoleOrigin::of_base(base.to_owned())
    }

    #[test]
    fn cookies_are_for_this_host_alone_and_hidden_from_scripts() {
        let secret = SessionSecret::parse(SECRET).unwrap();
        let secure = origin("https://charter.example/team");
        let plain = origin("http://127.0.0.1:7407");
        for (origin, cookie, expected) in [
            (
                &secure,
                ConsoleCookie::Session,
                format!(
                    "__Host-charter_session={SECRET}; Path=/; HttpOnly; SameSite=Strict; Secure"
                ),
            ),
            (
                &plain,
                ConsoleCookie::SignIn,
                format!("charter_sign_in={SECRET}; Path=/; HttpOnly; SameSite=Strict; Max-Age=600"),
            ),
        ] {
            let header = origin.set(cookie, &secret).unwrap();
            assert_eq!(header.to_str().unwrap(), expected);
            assert!(header.is_sensitive());
        }
        let cleared = plain.clear(ConsoleCookie::Session).unwrap();
        let expected = "charter_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0";
        assert_eq!(cleared.to_str().unwrap(), expected);
    }

    #[test]
    fn a_cookie_is_read_by_its_whole_name() {
        let secret = SessionSecret::parse(SECRET);
        let secure = origin("https://charter.example");
        let read = |sent: &str| {
            let headers = HeaderMap::from_iter([(COOKIE, sent.parse().unwrap())]);
            secure.read(ConsoleCookie::Session, &headers)
        };
        assert_eq!(
            read(&format!("a=b; __Host-charter_session={SECRET}")),
            secret
        );
        for other in [
            format!("charter_session={SECRET}"),
            format!("x__Host-charter_session={SECRET}"),
            "__Host-charter_session=short".to_owned(),
            "__Host-charter_session".to_owned(),
        ] {
            assert_eq!(read(&other), None, "{other}");
        }
    }

    /// Another port of the same host is another origin, though browsers send it the same cookies.
    #[test]
    fn only_a_page_of_this_server_sends_changes() {
        let local = origin("http://127.0.0.1:7407");
        let public = origin("https://charter.example/team");
        let sent = |from: &ConsoleOrigin, origin: Option<&str>| {
            let origin = origin.map(|origin| (ORIGIN, origin.parse().unwrap()));
            from.must_have_sent(&HeaderMap::from_iter(origin)).is_ok()
        };
        assert!(sent(&local, Some("http://127.0.0.1:7407")));
        assert!(sent(&public, Some("https://charter.example")));
        for other in [
            None,
            Some("null"),
            Some("http://127.0.0.1:5000"),
            Some("http://localhost:7407"),
            Some("http://charter.example"),
            Some("https://charter.example.evil"),
        ] {
            assert!(!sent(&local, other) && !sent(&public, other), "{other:?}");
        }
    }

    #[test]
    fn a_change_needs_the_token_of_its_session() {
        let id = SessionSecret::parse(SECRET).unwrap();
        let with = |token: &str| {
            let header = (PAGE_TOKEN.parse().unwrap(), token.parse().unwrap());
            must_have_page_token(&id, &HeaderMap::from_iter([header])).is_ok()
        };
        assert!(with(&id.page_token()));
        assert!(!with("") && !with(SECRET) && !with("other"));
        assert!(must_have_page_token(&id, &HeaderMap::new()).is_err());
    }
}
