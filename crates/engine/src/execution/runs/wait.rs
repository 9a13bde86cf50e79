//! Waits for a run to need a person, or to end.

use std::time::Duration;

use charter_contract::ids::{RunId, TenantId};

use super::RunView;
use crate::ground::change_wait::{POLL_INTERVAL, WaitEnd};
use crate::{Caller, Engine, EngineError};

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
            let change = self.register_for_change();
            // Reads the journal once, however many notifications arrive for any run.
            let status = self.record_of(caller, run).await?.status;
            if !status.is_active() || tokio::time::Instant::now() >= until {
                return self.show_run(caller, run).await;
            }
            let left = until.saturating_duration_since(tokio::time::Instant::now());
            match change.wait(left.min(POLL_INTERVAL), self.shutdown()).await {
                WaitEnd::LookAgain => {}
                WaitEnd::Stopped => return self.show_run(caller, run).await,
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
            let change = self.register_for_change();
            let record = self.store().run(tenant, run).await?;
            let record = record.ok_or_else(|| EngineError::not_found("run", run))?;
            if !record.status.is_active() {
                return Ok(());
            }
            match change.wait(POLL_INTERVAL, self.draining()).await {
                WaitEnd::LookAgain => {}
                WaitEnd::Stopped => return Err(EngineError::interrupted()),
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
