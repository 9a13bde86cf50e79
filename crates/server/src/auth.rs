//! Authenticates callers by an API key or an identity provider's token. Without either, on a server that other machines
//! cannot reach, the caller is the local user.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{Extensions, HeaderMap, Uri};
use charter_contract::error_code::ErrorCode;
use charter_engine::{Caller, CredentialId, Engine, EngineError, KeyPresence, KeyText, Providers};
use sha2::{Digest, Sha256};

use crate::telemetry;

/// One API key, of which only the digest is stored. A key is 256 random bits, so its plain SHA-256 cannot be inverted.
#[derive(Debug, Clone)]
pub struct ApiKey {
    /// SHA-256 of the key's text.
    pub sha256: [u8; 32],
    /// The caller that it authenticates.
    pub caller: Caller,
}

/// The rules that authenticate callers.
#[derive(Debug, Clone)]
pub struct Access {
    keys: HashMap<[u8; 32], Caller>,
    local: Option<Caller>,
    /// Whether the local user is admitted only until the first key is created.
    until_a_key: bool,
}

/// The error of a server that would admit callers without a credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} can be reached from other machines, but no API key or identity provider admits callers; `charter key \
     create` creates a key"
)]
pub struct AccessError(SocketAddr);

impl Access {
    /// Access for a server that listens on `address`: by the given keys, those in the store, and identity providers'
    /// tokens. If none of these has ever existed and the address is loopback, the local user is admitted as admin of
    /// the tenant `local`, until the first key is created.
    ///
    /// # Errors
    /// [`AccessError`] for any other address if no credential could ever be valid.
    pub fn new(
        address: SocketAddr,
        keys: Vec<ApiKey>,
        kept: KeyPresence,
        providers: &Providers,
    ) -> Result<Self, AccessError> {
        let open = !address.ip().is_loopback();
        let lets_in = !keys.is_empty() || !providers.is_empty();
        match kept {
            KeyPresence::None | KeyPresence::Ended if open && !lets_in => {
                return Err(AccessError(address));
            }
            KeyPresence::None if !lets_in => {
                return Self::local_only().ok_or(AccessError(address));
            }
            KeyPresence::None | KeyPresence::Ended | KeyPresence::Live => {}
        }
        let keys = keys.into_iter().map(|key| {
            let credential = CredentialId::Configured(key.sha256);
            (key.sha256, key.caller.with_credential(credential))
        });
        Ok(Self {
            keys: keys.collect(),
            local: None,
            until_a_key: false,
        })
    }

    /// Access for callers inside this process.
    #[must_use]
    pub fn in_process(caller: Caller) -> Self {
        Self {
            keys: HashMap::new(),
            local: Some(caller),
            until_a_key: false,
        }
    }

    fn local_only() -> Option<Self> {
        let access = Caller::local().ok().map(Self::in_process)?;
        Some(Self {
            until_a_key: true,
            ..access
        })
    }

    /// The caller of a request without a credential at this time: the local user, until the first key is created.
    ///
    /// # Errors
    /// As [`Access::anonymous`]; when storage fails.
    pub(crate) async fn local_now(
        &self,
        engine: &Engine,
        headers: &HeaderMap,
    ) -> Result<Option<Caller>, EngineError> {
        let local = self.anonymous(headers)?;
        match local.is_some() && self.until_a_key && engine.keys().has_keys().await? {
            true => Ok(None),
            false => Ok(local),
        }
    }

    /// The caller of a request without a credential: the local user, or `None`.
    ///
    /// # Errors
    /// `permission_denied` when a page of another site tries to act as the local user.
    fn anonymous(&self, headers: &HeaderMap) -> Result<Option<Caller>, EngineError> {
        match &self.local {
            None => Ok(None),
            Some(_) if !names_this_machine(headers) => {
                let message = "without API keys the server accepts only the host name localhost";
                Err(EngineError::new(ErrorCode::PermissionDenied, message))
            }
            // A browser sends simple requests of any page without a preflight.
            Some(_) if !is_of_this_server(headers) => {
                let message = "cross-origin requests are not allowed";
                Err(EngineError::new(ErrorCode::PermissionDenied, message))
            }
            Some(local) => Ok(Some(local.clone())),
        }
    }

    /// Authenticates the caller by the head of a request. A key in the store is valid even if the local user needs
    /// none.
    ///
    /// # Errors
    /// `unauthenticated` without a valid credential; `permission_denied` when a page of another site tries to act as
    /// the local user through a name that resolves to this machine, and for a token whose holder has no grant;
    /// `unavailable` when a provider's keys cannot be fetched; when storage fails.
    pub(crate) async fn authenticate(
        &self,
        engine: &Engine,
        headers: &HeaderMap,
    ) -> Result<Caller, EngineError> {
        let given = credential(headers);
        let kept = given.filter(|given| KeyText::is_meant(given));
        if kept.is_none()
            && let Some(local) = self.local_now(engine, headers).await?
        {
            return Ok(local);
        }
        let configured =
            given.and_then(|key| self.keys.get(&<[u8; 32]>::from(Sha256::digest(key))));
        let token = given.filter(|given| is_token(given) && !engine.providers().is_empty());
        match (configured, kept, token) {
            (Some(caller), _, _) => Ok(caller.clone()),
            (None, Some(key), _) => engine.keys().caller_of_key(key).await,
            (None, None, Some(token)) => {
                let caller = engine.providers().caller_of_token(token).await?;
                engine.credentials().remember_token(&caller, token).await;
                Ok(caller)
            }
            (None, None, None) => Err(missing_credential()),
        }
    }
}

/// The caller of a request: authenticated once, for the limits and for the handler.
#[derive(Clone)]
pub(crate) struct Identity(Arc<Mutex<Result<Caller, Option<EngineError>>>>);

impl Identity {
    pub(crate) fn new(found: Result<Caller, EngineError>) -> Self {
        Self(Arc::new(Mutex::new(found.map_err(Some))))
    }

    /// The caller of the request with these extensions. Counts one call.
    ///
    /// # Errors
    /// As [`Access::authenticate`]; `rate_limited` when the caller's tenant exceeds its rate limit.
    pub(crate) fn caller(extensions: &Extensions, engine: &Engine) -> Result<Caller, EngineError> {
        let found = extensions.get().map(Self::take_result);
        let caller = found.unwrap_or_else(|| Err(missing_credential()))?;
        telemetry::record_tenant(&caller.tenant);
        engine.quotas().count_call(&caller.tenant)?;
        Ok(caller)
    }

    fn take_result(&self) -> Result<Caller, EngineError> {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *found {
            Ok(caller) => Ok(caller.clone()),
            Err(error) => Err(error.take().unwrap_or_else(missing_credential)),
        }
    }
}

fn missing_credential() -> EngineError {
    let message = "a valid credential is required, an API key or a token of the server's identity provider: \
                   `Authorization: Bearer …`";
    EngineError::new(ErrorCode::Unauthenticated, message)
}

/// Whether a credential has the form of a signed token (RFC 7515, section 3.1).
fn is_token(given: &str) -> bool {
    given.split('.').count() == 3
}

/// The credential of a request.
fn credential(headers: &HeaderMap) -> Option<&str> {
    let given = headers.get(AUTHORIZATION)?.to_str().ok()?;
    given.strip_prefix("Bearer ").map(str::trim)
}

/// Whether the `Host` is that of a page on this machine. A foreign name that resolves to loopback (DNS rebinding) is
/// not.
fn names_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else {
        return true;
    };
    let name = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    is_this_machine(name)
}

/// Whether a request comes from no page, from a page on this machine, or from a page of the server that it is sent to.
pub(crate) fn is_of_this_server(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(ORIGIN) else {
        return true;
    };
    let origin = origin
        .to_str()
        .ok()
        .and_then(|origin| origin.parse::<Uri>().ok());
    let Some(authority) = origin.as_ref().and_then(Uri::authority) else {
        return false;
    };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    host == Some(authority.as_str()) || is_this_machine(authority.host())
}

/// Whether a host name is one by which programs reach their own machine.
pub(crate) fn is_this_machine(name: &str) -> bool {
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost"
        || name
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> ApiKey {
        ApiKey {
            sha256: Sha256::digest("s").into(),
            caller: Caller::local().unwrap(),
        }
    }

    /// If no other machine can reach the server, and no key was ever created, the local user needs no key.
    #[test]
    fn a_public_address_requires_a_usable_key() {
        let open: SocketAddr = "0.0.0.0:1".parse().unwrap();
        let local: SocketAddr = "127.0.0.1:1".parse().unwrap();
        for (address, keys, kept, keyed) in [
            (open, vec![], KeyPresence::None, None),
            (open, vec![], KeyPresence::Ended, None),
            (open, vec![], KeyPresence::Live, Some(true)),
            (open, vec![key()], KeyPresence::None, Some(true)),
            (open, vec![key()], KeyPresence::Ended, Some(true)),
            (local, vec![], KeyPresence::None, Some(false)),
            (local, vec![], KeyPresence::Ended, Some(true)),
            (local, vec![], KeyPresence::Live, Some(true)),
            (local, vec![key()], KeyPresence::None, Some(true)),
        ] {
            let access = Access::new(address, keys, kept, &Providers::default());
            let keyed = keyed.ok_or(AccessError(address));
            assert_eq!(
                access.map(|access| access.local.is_none()),
                keyed,
                "{address} {kept:?}"
            );
        }
    }

    /// A request that a page of another site sends without a preflight is refused for every body.
    #[test]
    fn a_page_of_another_origin_does_not_act_as_the_local_user() {
        let access = Access::in_process(Caller::local().unwrap());
        let from = |origin: &str| {
            let host = (HOST, "127.0.0.1:7407".parse().unwrap());
            HeaderMap::from_iter([host, (ORIGIN, origin.parse().unwrap())])
        };
        for origin in [
            "http://127.0.0.1:7407",
            "http://localhost:5173",
            "http://[::1]:1",
        ] {
            assert!(
                access.anonymous(&from(origin)).unwrap().is_some(),
                "{origin}"
            );
        }
        for origin in [
            "https://evil.example",
            "null",
            "http://127.0.0.1.evil.example",
        ] {
            let refused = access.anonymous(&from(origin)).unwrap_err();
            assert_eq!(refused.code, ErrorCode::PermissionDenied, "{origin}");
        }
    }

    #[test]
    fn a_foreign_name_does_not_reach_the_local_user() {
        let address = "127.0.0.1:1".parse().unwrap();
        let access =
            Access::new(address, vec![], KeyPresence::None, &Providers::default()).unwrap();
        let host = |host: &str| HeaderMap::from_iter([(HOST, host.parse().unwrap())]);
        for name in ["localhost:7407", "127.0.0.1", "[::1]:7407"] {
            assert!(access.anonymous(&host(name)).unwrap().is_some(), "{name}");
        }
        let refused = access.anonymous(&host("rebind.example:7407")).unwrap_err();
        assert_eq!(refused.code, ErrorCode::PermissionDenied);
    }
}
