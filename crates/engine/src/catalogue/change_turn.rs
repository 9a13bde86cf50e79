//! The turn to change the catalogue, of which there is one over all processes.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_store::lease::Lease;
use tokio::time::Instant;

use crate::EngineError;
use crate::catalogue::live::CatalogueService;
use crate::ground::moments;

/// How long a change of the catalogue waits for its turn, and how often it asks.
const CATALOGUE_LOCK_TIMEOUT: Duration = Duration::from_secs(60);
const CATALOGUE_LOCK_RETRY: Duration = Duration::from_millis(50);

/// The topic by which storage announces that a package was registered or rolled back.
pub(crate) const CATALOGUE: &str = "catalogue.changed";

/// The turn to change the catalogue; the next one comes when it is dropped.
pub(crate) struct CatalogueChangeGuard<'e> {
    catalogue: &'e CatalogueService,
    lease: Option<Lease>,
    _here: tokio::sync::MutexGuard<'e, ()>,
}

impl Drop for CatalogueChangeGuard<'_> {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.take() {
            let store = Arc::clone(&self.catalogue.store);
            self.catalogue.tasks.spawn(async move {
                // If this fails, the lease runs out.
                drop(store.release(&lease).await);
            });
        }
    }
}

impl CatalogueService {
    /// Acquires the turn to change the catalogue, which one process has at a time. Earlier changes of other
    /// processes are loaded first. If the change outlives its lease, another process may change the catalogue:
    /// storage then refuses this change, because it names an outdated revision.
    ///
    /// # Errors
    /// `overloaded` if other processes keep the turn; errors of storage.
    pub(crate) async fn registration_turn(&self) -> Result<CatalogueChangeGuard<'_>, EngineError> {
        let here = self.registration.lock().await;
        let mut turn = CatalogueChangeGuard {
            catalogue: self,
            lease: None,
            _here: here,
        };
        if !self.store.is_shared() {
            return Ok(turn);
        }
        // A name of its own: giving back the turn before must not give back this one.
        let name = self.ids.uuid().to_string();
        let patience = Instant::now() + CATALOGUE_LOCK_TIMEOUT;
        while turn.lease.is_none() {
            let now = self.clock.now();
            let until = moments::after(now, self.lease);
            turn.lease = self.store.acquire(CATALOGUE, &name, now, until).await?;
            if turn.lease.is_none() {
                if Instant::now() > patience {
                    let message = "another process is changing the catalogue; retry";
                    return Err(EngineError::new(ErrorCode::Overloaded, message));
                }
                tokio::time::sleep(CATALOGUE_LOCK_RETRY).await;
            }
        }
        if self.store.revision().await? != self.live().revision {
            self.reload_catalogue().await?;
        }
        Ok(turn)
    }
}
