//! Authorization code with PKCE (RFC 7636), for the accounts that users connect and for sign-in to the console.
//!
//! The state of a request is sealed and not stored: it holds the verifier and the subject of the request. Its reader
//! checks that the same user or browser completes the request.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use charter_contract::bounds::CONNECTION_WAIT_MS;
use charter_contract::json::{self, Profile};
use charter_contract::time::Timestamp;
use charter_effects::{
    AuthorizationRequest, AuthorizationServers, OAuthClient, OAuthFailure, TokenGrant, TokenSet,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::EngineError;
use crate::ground::moments;
use crate::ground::vault::SealingKeys;

/// Makes and completes authorization requests of one purpose.
pub(super) struct AuthorizationFlow<'f> {
    pub(super) servers: &'f dyn AuthorizationServers,
    pub(super) keys: &'f SealingKeys,
    /// The context of sealed states: a state of another purpose does not open.
    pub(super) purpose: &'static str,
}

/// An authorization request before it is made.
pub(super) struct NewAuthorization<'c, T> {
    pub(super) client: &'c OAuthClient,
    pub(super) redirect_uri: String,
    /// The nonce of the requested ID token, if one is requested.
    pub(super) nonce: Option<String>,
    /// The subject of the request, which its state holds.
    pub(super) subject: T,
}

/// A request that waits for the user's consent.
pub(super) struct StartedAuthorization {
    /// The page of the authorization server.
    pub(super) url: String,
    pub(super) redirect_uri: String,
    pub(super) expires_at: Timestamp,
}

/// A request as its state holds it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PendingAuthorization<T> {
    pub(super) subject: T,
    verifier: String,
    redirect_uri: String,
    expires_at: Timestamp,
}

/// The parameters with which an authorization server sends a browser back.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionCode {
    /// The code.
    #[schemars(length(min = 1, max = 8_000))]
    pub code: String,
    /// The state of the started request.
    #[schemars(length(min = 1, max = 8_000))]
    pub state: String,
    /// The issuer of the response (RFC 9207), if the server names it.
    #[serde(default)]
    #[schemars(length(max = 2_000))]
    pub iss: Option<String>,
}

impl fmt::Debug for ConnectionCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConnectionCode(…)")
    }
}

/// Why a state is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum StateFault {
    #[error("was not started here")]
    Foreign,
    #[error("was started by another version of Charter")]
    OtherVersion,
    #[error("was not completed in time")]
    Expired,
}

impl<T> PendingAuthorization<T> {
    /// Checks that the request was completed in time.
    pub(super) fn must_be_current(&self, now: Timestamp) -> Result<(), StateFault> {
        match self.expires_at <= now {
            true => Err(StateFault::Expired),
            false => Ok(()),
        }
    }
}

impl AuthorizationFlow<'_> {
    /// Starts a request.
    pub(super) async fn start<T: Serialize>(
        &self,
        new: NewAuthorization<'_, T>,
        now: Timestamp,
    ) -> Result<Result<StartedAuthorization, OAuthFailure>, EngineError> {
        let wait = Duration::from_millis(u64::try_from(CONNECTION_WAIT_MS).unwrap_or(u64::MAX));
        let pending = PendingAuthorization {
            subject: new.subject,
            verifier: random_text()?,
            redirect_uri: new.redirect_uri,
            expires_at: moments::after(now, wait),
        };
        let state = serde_json::to_vec(&pending).map_err(|error| {
            EngineError::internal("writing the state of an authorization", error)
        })?;
        let request = AuthorizationRequest {
            redirect_uri: pending.redirect_uri.clone(),
            state: self.keys.seal_text(self.purpose, &state)?,
            code_challenge: URL_SAFE_NO_PAD.encode(Sha256::digest(&pending.verifier)),
            nonce: new.nonce,
        };
        let url = self.servers.authorization_url(new.client, &request).await;
        Ok(url.map(|url| StartedAuthorization {
            url,
            redirect_uri: pending.redirect_uri,
            expires_at: pending.expires_at,
        }))
    }

    /// Opens the state of a request that was started here.
    pub(super) fn open<T: DeserializeOwned>(
        &self,
        state: &str,
    ) -> Result<PendingAuthorization<T>, StateFault> {
        let opened = self.keys.open_text(self.purpose, state);
        let opened = opened.ok_or(StateFault::Foreign)?;
        json::decode(&opened, Profile::NOTICE).map_err(|_| StateFault::OtherVersion)
    }

    /// Obtains the tokens of a code. The port compares `iss` of the response with the issuer of the client (RFC 9207).
    pub(super) async fn redeem<T>(
        &self,
        client: &OAuthClient,
        pending: &PendingAuthorization<T>,
        code: ConnectionCode,
    ) -> Result<TokenSet, OAuthFailure> {
        let grant = TokenGrant::AuthorizationCode {
            code: code.code,
            verifier: pending.verifier.clone(),
            redirect_uri: pending.redirect_uri.clone(),
            issuer: code.iss,
        };
        self.servers.request_token(client, &grant).await
    }
}

/// Returns 256 random bits in the alphabet of RFC 7636, section 4.1: for verifiers, nonces and session ids.
pub(super) fn random_text() -> Result<String, EngineError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| EngineError::internal("drawing a secret", error))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
