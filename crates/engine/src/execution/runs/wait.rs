//! Waits for a run to need a person, or to end.

use std::time::Duration;

use charter_contract::ids::{RunId, TenantId};

use super::RunView;
use crate::{Caller, Engine, EngineError};

/// Interval at which a run is checked even without a notification in this process.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

impl Engine {
    /// Returns a run once it has ended or waits for a person, or after `patience`, whichever is first.
    ///
    /// # Errors
    /// As for [`Engine::show_run`].
    pub async fn await_run(
        &self,
        caller: &Caller,
        run: &RunId,
        patience: Duration,
    ) -> Result<RunView, EngineError> {
        let until = tokio::time::Instant::now() + patience;
        loop {
            // Registered before looking, so that no notification in between is missed.
            let news = self.change_notify().notified();
            let mut news = std::pin::pin!(news);
            news.as_mut().enable();
            // Reads the journal once, however many notifications arrive for any run.
            let status = self.record_of(caller, run).await?.status;
            if !status.is_active() || tokio::time::Instant::now() >= until {
                return self.show_run(caller, run).await;
            }
            let look = until.min(tokio::time::Instant::now() + POLL_INTERVAL);
            tokio::select! {
                () = self.shutdown().cancelled() => return self.show_run(caller, run).await,
                () = news => {}
                () = tokio::time::sleep_until(look) => {}
            }
        }
    }
}

impl Engine {
    /// Waits until a run with another driver has ended or waits for a person.
    pub(super) async fn await_settled(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<(), EngineError> {
        loop {
            let news = self.change_notify().notified();
            let mut news = std::pin::pin!(news);
            news.as_mut().enable();
            let record = self.store().run(tenant, run).await?;
            let record = record.ok_or_else(|| EngineError::not_found("run", run))?;
            if !record.status.is_active() {
                return Ok(());
            }
            tokio::select! {
                () = self.draining().cancelled() => return Err(EngineError::interrupted()),
                () = news => {}
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
        }
    }
}

impl RunView {
    /// Returns whether the run continues without a person.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        self.summary.status.is_active()
    }
}
