//! The sealed content of a console session: the user's claims, and the token that renews them.

use std::fmt;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::hex;
use charter_contract::ids::{TenantId, UserId};
use charter_contract::json::{self, Profile};
use charter_contract::time::Timestamp;
use charter_store::connected_account::SealedSecret;
use charter_store::console_session::{ConsoleSession, ConsoleSessionHash};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::EngineError;
use crate::ground::moments;
use crate::ground::vault::SealingKeys;

/// How long a renewal waits after the provider did not answer.
const RETRY_AFTER: Duration = Duration::from_secs(60);

/// Claims and tokens of a user.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionContent {
    issuer: String,
    claims: Map<String, Value>,
    /// Until when the claims count.
    claims_until: Timestamp,
    /// From when they are renewed.
    renew_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
}

impl fmt::Debug for SessionContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionContent(…)")
    }
}

/// How current the claims of a session are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimsState {
    /// They need no renewal.
    Current,
    /// They count, and are renewed in the background.
    Aging,
    /// They do not count before they are renewed.
    Expired,
}

impl SessionContent {
    /// Creates the content of a new session. Claims count until their token expires.
    ///
    /// # Errors
    /// `unauthenticated` for claims without a valid `exp`.
    pub(super) fn new(
        issuer: &str,
        claims: Map<String, Value>,
        refresh_token: Option<String>,
        now: Timestamp,
        recheck: Duration,
    ) -> Result<Self, EngineError> {
        let claims_until = expiry(&claims)?;
        Ok(Self {
            issuer: issuer.to_owned(),
            claims,
            claims_until,
            renew_at: moments::after(now, recheck).min(claims_until),
            refresh_token,
        })
    }

    /// Returns the content after a renewal. A provider that sends no new ID token confirms the present claims, and one
    /// that sends no new refresh token leaves the present one valid.
    ///
    /// # Errors
    /// As [`SessionContent::new`]; also for claims of another user.
    pub(super) fn renewed(
        self,
        claims: Option<Map<String, Value>>,
        refresh_token: Option<String>,
        now: Timestamp,
        recheck: Duration,
    ) -> Result<Self, EngineError> {
        let refresh_token = refresh_token.or(self.refresh_token);
        let Some(claims) = claims else {
            let next = moments::after(now, recheck);
            return Ok(Self {
                claims_until: next.max(self.claims_until),
                renew_at: next,
                refresh_token,
                ..self
            });
        };
        if claims.get("sub") != self.claims.get("sub") {
            let message = "the identity provider renewed the session for another user";
            return Err(EngineError::new(ErrorCode::Unauthenticated, message));
        }
        Self::new(&self.issuer, claims, refresh_token, now, recheck)
    }

    /// Returns the content with a new refresh token, if there is one.
    pub(super) fn with_refresh_token(self, refresh_token: Option<String>) -> Self {
        Self {
            refresh_token: refresh_token.or(self.refresh_token),
            ..self
        }
    }

    /// Returns the content whose renewal is tried again later.
    pub(super) fn postponed(self, now: Timestamp) -> Self {
        let renew_at = moments::after(now, RETRY_AFTER).min(self.claims_until);
        Self { renew_at, ..self }
    }

    pub(super) fn issuer(&self) -> &str {
        &self.issuer
    }

    pub(super) fn claims(&self) -> &Map<String, Value> {
        &self.claims
    }

    pub(super) fn refresh_token(&self) -> Option<&str> {
        self.refresh_token.as_deref()
    }

    /// Returns when a session without a refresh token ends: with its claims.
    pub(super) fn last_end(&self) -> Option<Timestamp> {
        match &self.refresh_token {
            Some(_) => None,
            None => Some(self.claims_until),
        }
    }

    pub(super) fn state(&self, now: Timestamp) -> ClaimsState {
        let is_renewed = self.refresh_token.is_some();
        match (now < self.claims_until, now < self.renew_at) {
            (true, true) => ClaimsState::Current,
            (true, false) if is_renewed => ClaimsState::Aging,
            (true, false) => ClaimsState::Current,
            (false, _) => ClaimsState::Expired,
        }
    }

    /// Seals the content for the session of a [`context`].
    pub(super) fn seal(
        &self,
        keys: &SealingKeys,
        context: &str,
    ) -> Result<SealedSecret, EngineError> {
        let text = serde_json::to_vec(self)
            .map_err(|error| EngineError::internal("writing a console session", error))?;
        keys.seal(context, &text)
    }

    /// Opens the content of a session.
    pub(super) fn open(keys: &SealingKeys, session: &ConsoleSession) -> Result<Self, EngineError> {
        let context = context(&session.tenant_id, &session.user_id, &session.hash);
        let opened = keys.open(&context, &session.secret)?;
        json::decode(&opened, Profile::NOTICE)
            .map_err(|error| EngineError::internal("reading a console session", error))
    }
}

/// The context of a session's content: in another session's place it does not open.
pub(super) fn context(tenant: &TenantId, user: &UserId, hash: &ConsoleSessionHash) -> String {
    format!("console-session/{tenant}/{user}/{}", hex::encode(&hash.0))
}

/// Returns the expiry of an ID token.
fn expiry(claims: &Map<String, Value>) -> Result<Timestamp, EngineError> {
    let seconds = claims.get("exp").and_then(|exp| {
        let whole = exp.as_i64();
        // A number with a fraction is permitted (RFC 7519, section 2); the fraction does not count.
        whole.or_else(|| exp.to_string().split('.').next()?.parse().ok())
    });
    let micros = seconds.and_then(|seconds| seconds.checked_mul(1_000_000));
    let expiry = micros.and_then(|micros| Timestamp::from_micros(micros).ok());
    expiry.ok_or_else(|| {
        let message = "the ID token has no valid `exp`";
        EngineError::new(ErrorCode::Unauthenticated, message)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000).unwrap()
    }

    fn claims(exp: &Value) -> Map<String, Value> {
        let claims = json!({"sub": "mia", "exp": exp});
        claims.as_object().unwrap().clone()
    }

    fn content(refresh: Option<&str>) -> SessionContent {
        let refresh = refresh.map(str::to_owned);
        let recheck = Duration::from_secs(300);
        SessionContent::new("i", claims(&json!(1_000)), refresh, at(0), recheck).unwrap()
    }

    #[test]
    fn claims_are_renewed_before_they_expire() {
        let renewable = content(Some("rt"));
        for (second, state) in [
            (299, ClaimsState::Current),
            (300, ClaimsState::Aging),
            (999, ClaimsState::Aging),
            (1_000, ClaimsState::Expired),
        ] {
            assert_eq!(renewable.state(at(second)), state, "{second}");
        }
        assert_eq!(renewable.last_end(), None);
        let fixed = content(None);
        assert_eq!(fixed.state(at(999)), ClaimsState::Current);
        assert_eq!(fixed.last_end(), Some(at(1_000)));
        let postponed = renewable.postponed(at(300));
        assert_eq!(postponed.state(at(359)), ClaimsState::Current);
        assert_eq!(postponed.state(at(360)), ClaimsState::Aging);
    }

    #[test]
    fn a_renewal_keeps_the_user() {
        let recheck = Duration::from_secs(300);
        let other = json!({"sub": "ben", "exp": 2_000});
        let other = other.as_object().unwrap().clone();
        let refused = content(Some("rt")).renewed(Some(other), None, at(400), recheck);
        assert_eq!(refused.unwrap_err().code, ErrorCode::Unauthenticated);
        let confirmed = content(Some("rt")).renewed(None, None, at(1_200), recheck);
        let confirmed = confirmed.unwrap();
        assert_eq!(confirmed.refresh_token(), Some("rt"));
        assert_eq!(confirmed.state(at(1_499)), ClaimsState::Current);
        assert_eq!(confirmed.state(at(1_500)), ClaimsState::Expired);
    }

    #[test]
    fn an_expiry_is_a_number_of_seconds() {
        for (exp, expected) in [
            (json!(1_000), Some(at(1_000))),
            (json!(1_000.75), Some(at(1_000))),
            (json!("1000"), None),
            (json!(i64::MAX), None),
            (json!(null), None),
        ] {
            assert_eq!(expiry(&claims(&exp)).ok(), expected, "{exp}");
        }
    }
}
