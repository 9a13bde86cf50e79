//! The sessions of the console: opened by a sign-in, looked up at each request, ended by a sign-out.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::bounds::CONSOLE_SESSIONS;
use charter_contract::error_code::ErrorCode;
use charter_effects::{AuthorizationServers, OAuthClient};
use charter_store::console_session::{ConsoleSession, ConsoleSessionHash};

use super::SignInService;
use super::content::{SessionContent, context};
use super::form::{ConsoleSessionView, OpenedConsoleSession, SignedOut};
use super::secret::SessionSecret;
use crate::ground::moments;
use crate::{Caller, EngineError};

/// The path of the console to which a browser comes back after it ended the session at the provider.
const SIGNED_OUT_PATH: &str = "/console/";

/// Minimum interval between two moves of a session's end.
const END_RESOLUTION: Duration = Duration::from_secs(60);

/// Why a session is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionUse {
    /// For a request, which moves the session's end.
    Request,
    /// To check that it still lasts, for an open stream.
    Check,
}

/// A session with its opened content.
#[derive(Clone)]
pub(super) struct LiveSession {
    pub(super) record: ConsoleSession,
    pub(super) content: SessionContent,
}

impl SignInService {
    /// Returns the caller of a session.
    ///
    /// # Errors
    /// `unauthenticated` for a session that is unknown or has ended, also because the provider ended it;
    /// `permission_denied` if the user's claims grant no access any more; `unavailable` if claims have expired and the
    /// provider does not answer; errors of storage.
    pub async fn caller_of_session(
        self: &Arc<Self>,
        id: &SessionSecret,
        purpose: SessionUse,
    ) -> Result<Caller, EngineError> {
        let session = self.current(id.hash()).await?;
        let caller = self.caller(&session)?;
        match purpose {
            SessionUse::Request => self.move_end(&session.record).await,
            SessionUse::Check => {}
        }
        Ok(caller)
    }

    /// Returns a session for its own console.
    ///
    /// # Errors
    /// As [`SignInService::caller_of_session`].
    pub async fn show(
        self: &Arc<Self>,
        id: &SessionSecret,
    ) -> Result<ConsoleSessionView, EngineError> {
        let session = self.current(id.hash()).await?;
        Ok(ConsoleSessionView::new(
            id,
            &session.record,
            session.content.issuer(),
        ))
    }

    /// Ends a session, and revokes its tokens at the provider as far as it can. Without a session, does nothing.
    /// Returns where the user can end the session at the provider, which then leads back to `base`, the address of this
    /// server.
    ///
    /// # Errors
    /// If storage fails.
    pub async fn end(&self, id: &SessionSecret, base: &str) -> Result<SignedOut, EngineError> {
        let nothing = SignedOut { sign_out_url: None };
        let Some(record) = self.delete(id).await? else {
            return Ok(nothing);
        };
        let Ok(content) = SessionContent::open(self.keys()?, &record) else {
            return Ok(nothing);
        };
        let Some(client) = self.parts.providers.console_client(content.issuer()) else {
            return Ok(nothing);
        };
        let (servers, client) = (&self.parts.servers, &client.client);
        if let Some(token) = content.refresh_token() {
            revoke(servers.as_ref(), client, token).await;
        }
        let back_to = format!("{}{SIGNED_OUT_PATH}", base.trim_end_matches('/'));
        let url = servers.sign_out_url(client, &back_to).await;
        let url = url.inspect_err(|failure| {
            tracing::warn!(reason = %failure, "the address at which users sign out of a provider is unknown");
        });
        Ok(SignedOut {
            sign_out_url: url.unwrap_or_default(),
        })
    }

    /// Deletes a session; returns it if there was one.
    pub(super) async fn delete(
        &self,
        id: &SessionSecret,
    ) -> Result<Option<ConsoleSession>, EngineError> {
        let store = &self.parts.core.store;
        let Some(record) = store.console_session(&id.hash()).await? else {
            return Ok(None);
        };
        let was_there = store.end_console_session(&record).await?;
        if was_there {
            noted(&record, "ended");
        }
        Ok(was_there.then_some(record))
    }

    /// Revokes the tokens of a deleted session at the provider in the background, as far as it can.
    pub(super) fn revoke_later(&self, record: &ConsoleSession) {
        let content = self
            .keys()
            .and_then(|keys| SessionContent::open(keys, record));
        let content = match content {
            Ok(content) => content,
            Err(error) => {
                tracing::warn!(error = %error, "the tokens of a deleted console session cannot be read");
                return;
            }
        };
        let client = self.parts.providers.console_client(content.issuer());
        let (Some(client), Some(token)) = (client, content.refresh_token()) else {
            return;
        };
        let (client, token) = (client.client.clone(), token.to_owned());
        let servers = Arc::clone(&self.parts.servers);
        let background = &self.parts.background;
        let shutdown = background.shutdown.clone();
        background.tasks.spawn(async move {
            let revoked = revoke(servers.as_ref(), &client, &token);
            if shutdown.run_until_cancelled(revoked).await.is_none() {
                tracing::warn!("the tokens of a deleted console session were not revoked: the server is stopping");
            }
        });
    }

    /// Stores a new session of a caller.
    pub(super) async fn open_session(
        &self,
        caller: &Caller,
        content: &SessionContent,
    ) -> Result<OpenedConsoleSession, EngineError> {
        let id = SessionSecret::draw()?;
        let now = self.now();
        let longest = moments::after(now, self.parts.settings.lifetime);
        let expires_at = content.last_end().map_or(longest, |end| end.min(longest));
        let (keys, hash) = (self.keys()?, id.hash());
        let record = ConsoleSession {
            hash,
            tenant_id: caller.tenant.clone(),
            user_id: caller.user.clone(),
            secret: content.seal(keys, &context(&caller.tenant, &caller.user, &hash))?,
            created_at: now,
            ends_at: moments::after(now, self.parts.settings.idle).min(expires_at),
            expires_at,
            version: 1,
        };
        // Content beyond the bounds of its reader would open no session.
        SessionContent::open(keys, &record)?;
        let store = &self.parts.core.store;
        let deleted = store
            .open_console_session(&record, CONSOLE_SESSIONS)
            .await?;
        noted(&record, "opened");
        for oldest in &deleted {
            noted(oldest, "deleted: its user opened too many");
            self.revoke_later(oldest);
        }
        let view = ConsoleSessionView::new(&id, &record, content.issuer());
        Ok(OpenedConsoleSession { id, view })
    }

    /// Returns the caller of a session. One whose claims name another user or tenant than when it began is over.
    pub(super) fn caller(&self, session: &LiveSession) -> Result<Caller, EngineError> {
        let content = &session.content;
        let providers = &self.parts.providers;
        let caller = providers.caller_of_claims(content.issuer(), content.claims())?;
        let record = &session.record;
        match caller.tenant == record.tenant_id && caller.user == record.user_id {
            true => Ok(caller),
            false => Err(over()),
        }
    }

    /// Moves the end of a used session, at most once in an interval. A failure does not refuse the request.
    async fn move_end(&self, record: &ConsoleSession) {
        let idle = moments::after(self.now(), self.parts.settings.idle);
        let ends_at = idle.min(record.expires_at);
        if moments::span(record.ends_at, ends_at) < END_RESOLUTION {
            return;
        }
        let store = &self.parts.core.store;
        if let Err(error) = store.extend_console_session(record, ends_at).await {
            tracing::warn!(error = %error, "the end of a console session could not be moved");
        }
    }

    /// Reads a session that has not ended.
    pub(super) async fn read(&self, hash: ConsoleSessionHash) -> Result<LiveSession, EngineError> {
        let found = self.parts.core.store.console_session(&hash).await?;
        let now = self.now();
        let record = found
            .filter(|record| record.is_live(now))
            .ok_or_else(over)?;
        let content = SessionContent::open(self.keys()?, &record).map_err(|error| {
            tracing::warn!(error = %error, "a console session cannot be opened");
            over()
        })?;
        Ok(LiveSession { record, content })
    }
}

/// Revokes a refresh token at its provider, as far as it can.
async fn revoke(servers: &dyn AuthorizationServers, client: &OAuthClient, token: &str) {
    if let Err(failure) = servers.revoke_token(client, token).await {
        tracing::warn!(reason = %failure, "the tokens of an ended console session could not be revoked");
    }
}

/// The error for a session that does not admit its user any more.
pub(super) fn over() -> EngineError {
    let message = "the console session has ended: sign in again";
    EngineError::new(ErrorCode::Unauthenticated, message)
}

pub(super) fn noted(record: &ConsoleSession, what: &str) {
    tracing::info!(tenant.id = %record.tenant_id, user.id = %record.user_id, "console session {what}");
}
