//! Renews the claims of a console session by its refresh token. So the provider decides at each renewal whether the
//! user still has access.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::error_code::ErrorCode;
use charter_effects::{ExpectedIdToken, OAuthClient, OAuthFault, TokenGrant, TokenSet};
use charter_store::StoreError;
use charter_store::console_session::{ConsoleSession, ConsoleSessionHash};

use super::content::{ClaimsState, SessionContent, context};
use super::session::{LiveSession, noted, over};
use super::{SignInService, unreachable_provider};
use crate::EngineError;
use crate::identity::renewals::{RenewableToken, RenewalTurns};

/// The claims of a session, which its provider renews.
struct SessionClaims {
    service: Arc<SignInService>,
    hash: ConsoleSessionHash,
    timeout: Duration,
}

#[async_trait]
impl RenewableToken for SessionClaims {
    type Value = LiveSession;

    fn lease_name(&self) -> String {
        format!(
            "console-session-{}",
            charter_contract::hex::encode(&self.hash.0)
        )
    }

    fn longest_renewal(&self) -> Duration {
        // The provider's addresses, its tokens and its keys.
        self.timeout.saturating_mul(4)
    }

    async fn usable(&self) -> Result<Option<LiveSession>, EngineError> {
        let session = self.service.read(self.hash).await?;
        let state = session.content.state(self.service.now());
        Ok((state == ClaimsState::Current).then_some(session))
    }

    async fn renew(&self) -> Result<LiveSession, EngineError> {
        let session = self.service.read(self.hash).await?;
        self.service.renew(session).await
    }

    fn busy(&self) -> EngineError {
        let message = "the console session is being renewed by another request";
        EngineError::new(ErrorCode::Unavailable, message)
    }
}

impl SignInService {
    /// Returns a session whose claims count. Claims that age are renewed in the background.
    pub(super) async fn current(
        self: &Arc<Self>,
        hash: ConsoleSessionHash,
    ) -> Result<LiveSession, EngineError> {
        let session = self.read(hash).await?;
        let client = self
            .parts
            .providers
            .console_client(session.content.issuer());
        let client = &client.ok_or_else(over)?.client;
        let claims = Arc::new(SessionClaims {
            service: Arc::clone(self),
            hash,
            timeout: client.timeout,
        });
        let turns = RenewalTurns {
            core: &self.parts.core,
            background: &self.parts.background,
        };
        match session.content.state(self.now()) {
            ClaimsState::Current => {}
            ClaimsState::Aging => {
                if let Err(error) = turns.begin(&claims).await {
                    tracing::warn!(error = %error, "the renewal of a console session could not begin");
                }
            }
            ClaimsState::Expired => return turns.value_of(&claims).await,
        }
        Ok(session)
    }

    /// Renews the claims of a session. The caller has the right to do so.
    async fn renew(&self, session: LiveSession) -> Result<LiveSession, EngineError> {
        let LiveSession { record, content } = session;
        let client = self.parts.providers.console_client(content.issuer());
        let client = &client.ok_or_else(over)?.client;
        let Some(refresh_token) = content.refresh_token() else {
            return Err(over());
        };
        let grant = TokenGrant::Refresh {
            refresh_token: refresh_token.to_owned(),
        };
        match self.parts.servers.request_token(client, &grant).await {
            Ok(issued) => self.with_issued(record, content, client, issued).await,
            Err(failure) if failure.fault == OAuthFault::Refused => {
                tracing::info!(
                    tenant.id = %record.tenant_id, user.id = %record.user_id, reason = %failure,
                    "an identity provider refused to renew a console session"
                );
                self.finish(&record).await?;
                Err(over())
            }
            Err(failure) => {
                let error = unreachable_provider(content.issuer(), &failure);
                let now = self.now();
                match content.state(now) {
                    ClaimsState::Expired => Err(error),
                    ClaimsState::Current | ClaimsState::Aging => {
                        self.store_content(record, content.postponed(now)).await
                    }
                }
            }
        }
    }

    /// Stores a session with newly issued tokens. A session whose new claims do not fit is over.
    async fn with_issued(
        &self,
        record: ConsoleSession,
        content: SessionContent,
        client: &OAuthClient,
        issued: TokenSet,
    ) -> Result<LiveSession, EngineError> {
        let claims = match &issued.id_token {
            None => Ok(None),
            Some(token) => {
                let expected = ExpectedIdToken {
                    issuer: content.issuer(),
                    client_id: &client.client_id,
                    nonce: None,
                };
                let claims = self.parts.providers.claims_of_id_token(token, &expected);
                claims.await.map(Some)
            }
        };
        let (refresh_token, recheck) = (issued.refresh_token, self.parts.settings.recheck);
        let now = self.now();
        let renewed = claims.and_then(|claims| {
            let present = content.clone();
            present.renewed(claims, refresh_token.clone(), now, recheck)
        });
        let renewed = match renewed {
            Ok(renewed) => renewed,
            // The refresh token may have been replaced: it is kept, though the claims could not be verified yet.
            Err(error) if error.code == ErrorCode::Unavailable => {
                let kept = content.with_refresh_token(refresh_token).postponed(now);
                let kept = self.store_content(record, kept).await?;
                return match kept.content.state(now) {
                    ClaimsState::Expired => Err(error),
                    ClaimsState::Current | ClaimsState::Aging => Ok(kept),
                };
            }
            Err(error) => {
                tracing::warn!(error = %error, "a console session could not be renewed");
                self.finish(&record).await?;
                return Err(over());
            }
        };
        let renewed = self.store_content(record, renewed).await?;
        let caller = self.caller(&renewed)?;
        let credentials = &self.parts.credentials;
        credentials
            .remember_token(&caller, &issued.access_token)
            .await;
        Ok(renewed)
    }

    async fn store_content(
        &self,
        record: ConsoleSession,
        content: SessionContent,
    ) -> Result<LiveSession, EngineError> {
        let context = context(&record.tenant_id, &record.user_id, &record.hash);
        let secret = content.seal(self.keys()?, &context)?;
        let store = &self.parts.core.store;
        match store.renew_console_session(&record, &secret).await {
            Ok(()) => {}
            // The user signed out in between.
            Err(StoreError::VersionConflict { .. }) => return Err(over()),
            Err(error) => return Err(error.into()),
        }
        let record = ConsoleSession {
            secret,
            version: record.version + 1,
            ..record
        };
        Ok(LiveSession { record, content })
    }

    /// Ends a session that its provider ended.
    async fn finish(&self, record: &ConsoleSession) -> Result<(), EngineError> {
        if self.parts.core.store.end_console_session(record).await? {
            noted(record, "ended by its provider");
        }
        Ok(())
    }
}
