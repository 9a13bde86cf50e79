//! The secrets that all users of a credential share, kept in memory while they are valid.

use std::time::Duration;

use charter_contract::cause::chain;
use charter_contract::error_code::ErrorCode;
use charter_contract::time::Timestamp;
use charter_effects::{
    AuthorizationServers, OAuthClient, OAuthFailure, OAuthFault, StaticSecret, TokenGrant,
};
use tokio::sync::Mutex;

use crate::EngineError;
use crate::ground::credentials::CredentialDefinition;
use crate::ground::moments;

/// How long the output of a program is used.
const PRINTED_LASTS: Duration = Duration::from_secs(60);
/// How long a token without a stated lifetime is used.
const TOKEN_LASTS: Duration = Duration::from_secs(300);
/// How long before its end a token is replaced, at most half its lifetime.
const MARGIN: Duration = Duration::from_secs(30);

/// A credential with the secret that its users share, if they do.
pub(super) struct PreparedCredential {
    pub(super) definition: CredentialDefinition,
    /// Locked while a secret is obtained, so that concurrent calls wait for one request.
    shared: Mutex<Option<SharedToken>>,
}

/// A secret in memory.
struct SharedToken {
    secret: String,
    until: Timestamp,
}

impl PreparedCredential {
    pub(super) fn new(definition: CredentialDefinition) -> Self {
        Self {
            definition,
            shared: Mutex::default(),
        }
    }

    /// Returns a static secret.
    pub(super) async fn static_secret(
        &self,
        source: &StaticSecret,
        now: Timestamp,
    ) -> Result<String, EngineError> {
        let read = async || {
            source.read().await.map_err(|error| {
                let message = "the secret of a credential cannot be read; the log has the cause";
                tracing::error!(error = %chain(&error), "{message}");
                EngineError::new(ErrorCode::Unavailable, message).caused_by(error)
            })
        };
        match source {
            StaticSecret::Value(_) | StaticSecret::File(_) => read().await,
            StaticSecret::Command { .. } => {
                let mut shared = self.shared.lock().await;
                if let Some(known) = shared.as_ref().filter(|known| known.until > now) {
                    return Ok(known.secret.clone());
                }
                let secret = read().await?;
                *shared = Some(SharedToken {
                    secret: secret.clone(),
                    until: moments::after(now, PRINTED_LASTS),
                });
                Ok(secret)
            }
        }
    }

    /// Returns a token for Charter itself.
    pub(super) async fn client_token(
        &self,
        client: &OAuthClient,
        servers: &dyn AuthorizationServers,
        now: Timestamp,
    ) -> Result<String, EngineError> {
        let mut shared = self.shared.lock().await;
        if let Some(known) = shared.as_ref().filter(|known| known.until > now) {
            return Ok(known.secret.clone());
        }
        let issued = servers.request_token(client, &TokenGrant::ClientCredentials);
        let issued = issued.await.map_err(|failure| failed(&failure))?;
        let lasts = issued.expires_in.unwrap_or(TOKEN_LASTS);
        let lasts = lasts.saturating_sub(MARGIN.min(lasts / 2));
        *shared = Some(SharedToken {
            secret: issued.access_token.clone(),
            until: moments::after(now, lasts),
        });
        Ok(issued.access_token)
    }
}

/// Converts a failure of an authorization server.
pub(super) fn failed(failure: &OAuthFailure) -> EngineError {
    let code = match failure.fault {
        OAuthFault::Unavailable => ErrorCode::Unavailable,
        OAuthFault::Refused | OAuthFault::Misconfigured | OAuthFault::Forbidden => {
            ErrorCode::ToolFailed
        }
    };
    EngineError::new(code, format!("obtaining a token failed: {failure}"))
}
