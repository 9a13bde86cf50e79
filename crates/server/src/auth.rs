//! Who is calling: an API key, or the local user where nobody else can reach the server.

use std::collections::HashMap;
use std::net::SocketAddr;

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HOST};
use charter_contract::error_code::ErrorCode;
use charter_engine::{Caller, EngineError};
use sha2::{Digest, Sha256};

/// One API key, known by its digest only. A key is 256 random bits, so a plain SHA-256 of it
/// cannot be turned back.
#[derive(Debug, Clone)]
pub struct ApiKey {
    /// SHA-256 of the key's text.
    pub sha256: [u8; 32],
    /// Whom it stands for.
    pub caller: Caller,
}

/// How callers are told apart.
#[derive(Debug, Clone)]
pub struct Access {
    keys: HashMap<[u8; 32], Caller>,
    local: Option<Caller>,
}

/// A server that would let anybody in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} can be reached from other machines and no API key is configured")]
pub struct AccessError(SocketAddr);

impl Access {
    /// Access for a server that listens on `address`: the given keys; or, on a loopback address
    /// without any key, the local user as admin of the tenant `local`.
    ///
    /// # Errors
    /// [`AccessError`] for any other address without a key.
    pub fn new(address: SocketAddr, keys: Vec<ApiKey>) -> Result<Self, AccessError> {
        if !keys.is_empty() {
            let keys = keys
                .into_iter()
                .map(|key| (key.sha256, key.caller))
                .collect();
            return Ok(Self { keys, local: None });
        }
        match Self::local_only() {
            Some(access) if address.ip().is_loopback() => Ok(access),
            Some(_) | None => Err(AccessError(address)),
        }
    }

    /// Access for callers inside this process.
    #[must_use]
    pub fn in_process(caller: Caller) -> Self {
        Self {
            keys: HashMap::new(),
            local: Some(caller),
        }
    }

    fn local_only() -> Option<Self> {
        Caller::local().ok().map(Self::in_process)
    }

    /// Whether callers are known by keys.
    pub(crate) fn is_keyed(&self) -> bool {
        self.local.is_none()
    }

    /// Whom somebody without a credential stands for: the local user, or nobody.
    ///
    /// # Errors
    /// `permission_denied` when a page of another site reaches for the local user.
    pub(crate) fn anonymous(&self, headers: &HeaderMap) -> Result<Option<Caller>, EngineError> {
        if self.is_keyed() {
            return Ok(None);
        }
        self.caller(headers).map(Some)
    }

    /// The caller of a request.
    ///
    /// # Errors
    /// `unauthenticated` without a known key; `permission_denied` when a page of another site
    /// reaches for the local user through a name that points here.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Result<Caller, EngineError> {
        if let Some(local) = &self.local {
            return if names_this_machine(headers) {
                Ok(local.clone())
            } else {
                let message = "without API keys the server answers to the name localhost only";
                Err(EngineError::new(ErrorCode::PermissionDenied, message))
            };
        }
        let given = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        let key = given
            .and_then(|value| value.strip_prefix("Bearer "))
            .map(str::trim);
        let known = key.and_then(|key| self.keys.get(&<[u8; 32]>::from(Sha256::digest(key))));
        known.cloned().ok_or_else(|| {
            let message = "a known API key is needed: `Authorization: Bearer …`";
            EngineError::new(ErrorCode::Unauthenticated, message)
        })
    }
}

/// The `Host` that a browser sends for a page of this machine. A foreign name that resolves to
/// loopback (DNS rebinding) is not one.
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

/// Whether a host's name is one by which programs reach the machine that they run on.
pub(crate) fn is_this_machine(name: &str) -> bool {
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost"
        || name
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use charter_contract::ids::{TenantId, UserId};
    use charter_engine::{Role, SkillGrants, Tier};

    use super::*;

    fn key(secret: &str, tenant: &str) -> ApiKey {
        ApiKey {
            sha256: Sha256::digest(secret).into(),
            caller: Caller {
                tenant: TenantId::parse(tenant).unwrap(),
                user: UserId::parse("u").unwrap(),
                role: Role::User,
                tier: Tier::Basic,
                agent_skills: SkillGrants::default(),
            },
        }
    }

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())])
    }

    #[test]
    fn an_open_address_needs_a_key() {
        let open: SocketAddr = "0.0.0.0:1".parse().unwrap();
        let local: SocketAddr = "127.0.0.1:1".parse().unwrap();
        assert_eq!(Access::new(open, vec![]).unwrap_err(), AccessError(open));
        assert!(Access::new(open, vec![key("s", "acme")]).is_ok());
        assert!(Access::new(local, vec![]).is_ok());
    }

    /// The tenant comes from the credential.
    #[test]
    fn a_key_says_whose_data_is_seen() {
        let keys = vec![key("one", "acme"), key("two", "umbrella")];
        let access = Access::new("127.0.0.1:1".parse().unwrap(), keys).unwrap();
        let caller = access
            .caller(&headers("authorization", "Bearer two"))
            .unwrap();
        assert_eq!(caller.tenant.as_ref(), "umbrella");
        for (name, value) in [
            ("authorization", "Bearer three"),
            ("authorization", "two"),
            ("x-tenant", "acme"),
        ] {
            let refused = access.caller(&headers(name, value)).unwrap_err();
            assert_eq!(refused.code, ErrorCode::Unauthenticated);
        }
    }

    #[test]
    fn a_foreign_name_does_not_reach_the_local_user() {
        let access = Access::new("127.0.0.1:1".parse().unwrap(), vec![]).unwrap();
        for host in ["localhost:7407", "127.0.0.1", "[::1]:7407"] {
            assert!(access.caller(&headers("host", host)).is_ok(), "{host}");
        }
        let refused = access
            .caller(&headers("host", "rebind.example:7407"))
            .unwrap_err();
        assert_eq!(refused.code, ErrorCode::PermissionDenied);
    }
}
