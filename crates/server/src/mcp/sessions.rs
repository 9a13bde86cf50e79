//! The owners of sessions. Revisions before 2026-07-28 have sessions. A session belongs to the credential that opened
//! it, with its rights at that time, and looks absent to all others. Callers share the allowed number of sessions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use charter_contract::bounds::MCP_SESSIONS;
use charter_contract::identity::Rights;
use charter_contract::ids::{TenantId, UserId};
use charter_engine::{Caller, CredentialId, EngineError, Share, Shares};
use prometheus_client::metrics::counter::Counter;
use rmcp::transport::streamable_http_server::SessionManager;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};

use crate::shares::Use;
use crate::state::AppState;
use crate::streams;

/// How long a session may be idle before it is closed.
const IDLE: Duration = Duration::from_secs(1_800);

/// How often the credential of a session is checked again. Its requests and streams check it themselves.
const SWEEP_INTERVAL: Duration = Duration::from_secs(30);

/// The caller that opened a session. Another token of the same holder may have other rights.
#[derive(Debug, PartialEq, Eq)]
struct Owner {
    tenant: TenantId,
    user: UserId,
    credential: CredentialId,
    rights: Rights,
}

impl Owner {
    fn new(caller: &Caller) -> Self {
        Self {
            tenant: caller.tenant.clone(),
            user: caller.user.clone(),
            credential: caller.credential.clone(),
            rights: caller.rights(),
        }
    }
}

struct Session {
    owner: Owner,
    _share: Share,
}

/// The open sessions and their owners.
pub(super) struct Sessions {
    pub(super) manager: Arc<LocalSessionManager>,
    shares: Shares,
    open: Mutex<HashMap<String, Session>>,
}

impl Sessions {
    /// Creates an empty table; `refused` counts the sessions without a free slot.
    pub(super) fn new(refused: Counter) -> Self {
        let mut config = SessionConfig::default();
        config.keep_alive = Some(IDLE);
        let mut manager = LocalSessionManager::default();
        manager.session_config = config;
        Self {
            manager: Arc::new(manager),
            shares: Use::Sessions.shared(MCP_SESSIONS, refused),
            open: Mutex::default(),
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        // Every change is one step, so a panic of a holder leaves the map whole.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a session is this caller's.
    pub(super) fn belongs_to(&self, session: &str, caller: &Caller) -> bool {
        let open = self.open();
        let found = open.get(session);
        found.is_some_and(|session| session.owner == Owner::new(caller))
    }

    /// A slot for one more session of a caller; closed sessions release theirs first.
    ///
    /// # Errors
    /// `overloaded` when the limit of open sessions is reached.
    pub(super) async fn place(&self, caller: &Caller) -> Result<Share, EngineError> {
        {
            let open = self.manager.sessions.read().await;
            self.open()
                .retain(|session, _| open.contains_key(session.as_str()));
        }
        self.shares.take(caller)
    }

    /// Records the owner of a session, and closes it when the credential ends.
    pub(super) fn opened(
        self: &Arc<Self>,
        state: &AppState,
        id: &str,
        caller: &Caller,
        credential: HeaderMap,
        share: Share,
    ) {
        let session = Session {
            owner: Owner::new(caller),
            _share: share,
        };
        self.open().insert(id.to_owned(), session);
        let (sessions, state, id) = (Arc::clone(self), state.clone(), id.to_owned());
        tokio::spawn(async move { sessions.end_with(&state, &credential, &id).await });
    }

    /// Forgets a session that its owner closed.
    pub(super) fn closed(&self, id: &str) {
        self.open().remove(id);
    }

    /// Waits until a session is closed, or closes it when its credential ends; then releases its slot.
    async fn end_with(&self, state: &AppState, credential: &HeaderMap, id: &str) {
        let stopping = state.engine.stopping();
        loop {
            tokio::select! {
                () = stopping.cancelled() => return,
                () = tokio::time::sleep(SWEEP_INTERVAL) => {}
            }
            if !self.manager.sessions.read().await.contains_key(id) {
                break;
            }
            if streams::has_ended(state, credential).await {
                if let Err(error) = self.manager.close_session(&id.into()).await {
                    tracing::debug!(error = %error, "a session is not closed");
                }
                break;
            }
        }
        self.open().remove(id);
    }
}
