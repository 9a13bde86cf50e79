//! Sessions (B003-11): a bounded, expiring conversation.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::agentic::request::AgentRequest;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{RequestId, SessionId, TenantId};
use charter_contract::time::Timestamp;
use charter_domain::clock::Clock;
use charter_store::session::{SessionRecord, Turn};
use charter_store::{SharedStore, StoreError};
use schemars::JsonSchema;
use serde::Serialize;

use crate::ground::core_ports::CorePorts;
use crate::ground::ids::IdSource;
use crate::ground::moments;
use crate::{Caller, EngineError};

/// A session as shown to its user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "SessionView")]
pub struct SessionView {
    /// Its id.
    pub session_id: SessionId,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it ends unless a turn extends it.
    pub expires_at: Timestamp,
    /// Its newest turns, oldest first.
    pub turns: Vec<SessionTurn>,
}

/// One question and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "SessionTurn")]
pub struct SessionTurn {
    /// The request.
    pub request_id: RequestId,
    /// The question.
    pub input: String,
    /// The answer; absent if the request failed.
    pub output: Option<String>,
    /// When it was answered.
    pub at: Timestamp,
}

impl SessionView {
    fn new(session: SessionRecord, turns: Vec<Turn>) -> Self {
        Self {
            session_id: session.session_id,
            created_at: session.created_at,
            expires_at: session.expires_at,
            turns: turns
                .into_iter()
                .map(|turn| SessionTurn {
                    request_id: turn.request_id,
                    input: turn.input,
                    output: turn.output,
                    at: turn.at,
                })
                .collect(),
        }
    }
}

/// The bounds of sessions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionSettings {
    /// How long a session lives after its last turn.
    pub(crate) ttl: Duration,
    /// Maximum turns that a session keeps.
    pub(crate) turns: usize,
}

/// The sessions of users.
pub struct SessionService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    settings: SessionSettings,
}

impl std::fmt::Debug for SessionService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionService").finish_non_exhaustive()
    }
}

impl SessionService {
    pub(crate) fn new(ports: CorePorts, settings: SessionSettings) -> Self {
        Self {
            store: ports.store,
            clock: ports.clock,
            ids: ports.ids,
            settings,
        }
    }

    /// Opens a session for the caller.
    ///
    /// # Errors
    /// If storage fails.
    pub async fn open_session(&self, caller: &Caller) -> Result<SessionView, EngineError> {
        let session = self.record(caller, SessionId::from_uuid(self.ids.uuid()));
        self.store.open_session(&session).await?;
        Ok(SessionView::new(session, Vec::new()))
    }

    /// Opens the session of the caller that has this id, or finds it.
    ///
    /// # Errors
    /// `session_not_found` if the id is that of another user's session, or of an expired one.
    pub(crate) async fn open_or_find(
        &self,
        caller: &Caller,
        id: &SessionId,
    ) -> Result<(), EngineError> {
        let record = self.record(caller, id.clone());
        match self.store.open_session(&record).await {
            Ok(()) => Ok(()),
            Err(StoreError::AlreadyExists { .. }) => self.session(caller, id).await.map(drop),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the record of a session that the caller opens now.
    fn record(&self, caller: &Caller, session_id: SessionId) -> SessionRecord {
        let at = self.clock.now();
        SessionRecord {
            session_id,
            tenant_id: caller.tenant.clone(),
            user_id: caller.user.clone(),
            created_at: at,
            expires_at: moments::after(at, self.settings.ttl),
        }
    }

    /// Returns a live session of the caller's tenant and user.
    ///
    /// # Errors
    /// `session_not_found` if it is unknown, expired, or another user's.
    pub(crate) async fn session(
        &self,
        caller: &Caller,
        id: &SessionId,
    ) -> Result<SessionRecord, EngineError> {
        let now = self.clock.now();
        let found = self.store.session(&caller.tenant, id, now).await?;
        found
            .filter(|session| session.user_id == caller.user)
            .ok_or_else(|| {
                EngineError::new(
                    ErrorCode::SessionNotFound,
                    format!("there is no session `{id}`"),
                )
            })
    }

    /// Returns a session with its newest turns, oldest first.
    ///
    /// # Errors
    /// `session_not_found` if it is unknown, expired, or another user's.
    pub async fn show_session(
        &self,
        caller: &Caller,
        id: &SessionId,
    ) -> Result<SessionView, EngineError> {
        let session = self.session(caller, id).await?;
        let turns = self
            .store
            .turns(&caller.tenant, id, self.settings.turns)
            .await?;
        Ok(SessionView::new(session, turns))
    }

    /// Adds an answered request to its session, if it has a live one.
    pub(crate) async fn record_turn(
        &self,
        tenant: &TenantId,
        request: &AgentRequest,
        output: Option<&str>,
        at: Timestamp,
    ) -> Result<(), EngineError> {
        let Some(session) = &request.session_id else {
            return Ok(());
        };
        let turn = Turn {
            request_id: request.id.clone(),
            input: request.input.to_string(),
            output: output.map(str::to_owned),
            at,
        };
        let expires_at = moments::after(at, self.settings.ttl);
        let keep = self.settings.turns;
        let appended = self
            .store
            .append_turn(tenant, session, &turn, expires_at, keep)
            .await
            .map_err(EngineError::from);
        match appended {
            // It expired while the request was answered: the answer remains valid.
            Err(error) if error.code == ErrorCode::NotFound => Ok(()),
            other => other,
        }
    }
}
