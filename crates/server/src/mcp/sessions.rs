//! Whose session is whose. Revisions before 2026-07-28 have sessions; one belongs to the caller that opened
//! it, looks absent to everybody else, and their number is bounded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use charter_contract::ids::{TenantId, UserId};
use charter_engine::Caller;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};

/// Sessions that are open at once; one more is refused with `overloaded`.
pub(super) const MAX_SESSIONS: usize = 1_000;

/// A session that is silent for so long is closed.
const IDLE: Duration = Duration::from_secs(1_800);

type Owner = (TenantId, UserId);

/// The open sessions and their owners.
pub(super) struct Sessions {
    pub(super) manager: Arc<LocalSessionManager>,
    owners: Mutex<HashMap<String, Owner>>,
}

impl Sessions {
    pub(super) fn new() -> Self {
        let mut config = SessionConfig::default();
        config.keep_alive = Some(IDLE);
        let mut manager = LocalSessionManager::default();
        manager.session_config = config;
        Self {
            manager: Arc::new(manager),
            owners: Mutex::default(),
        }
    }

    fn owners(&self) -> MutexGuard<'_, HashMap<String, Owner>> {
        // Every change is one step, so a panic of a holder leaves the map whole.
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a session is this caller's.
    pub(super) fn belongs(&self, session: &str, caller: &Caller) -> bool {
        self.owners().get(session) == Some(&(caller.tenant.clone(), caller.user.clone()))
    }

    /// Notes who opened a session.
    pub(super) fn opened(&self, session: &str, caller: &Caller) {
        let owner = (caller.tenant.clone(), caller.user.clone());
        self.owners().insert(session.to_owned(), owner);
    }

    /// Whether one more session may be opened; forgets those that are closed.
    pub(super) async fn has_room(&self) -> bool {
        let open = self.manager.sessions.read().await;
        self.owners()
            .retain(|session, _| open.contains_key(session.as_str()));
        open.len() < MAX_SESSIONS
    }
}
