//! Waiting for a run to come to where it needs a person, or to its end.

use std::time::Duration;

use charter_contract::ids::{RunId, TenantId};

use super::RunView;
use crate::{Caller, Engine, EngineError};

/// Time after which a run is looked at even if nobody in this process said that there is news.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

impl Engine {
    /// A run as it stands when it ends or waits for a person, or after `patience`, whichever comes first.
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
            // Registered before looking, so that what comes meanwhile is not missed.
            let news = self.change_notify().notified();
            let mut news = std::pin::pin!(news);
            news.as_mut().enable();
            // Its journal is read once, however often somebody has news of whatever run.
            let status = self.record_of(caller, run).await?.status;
            if !is_active(&status) || tokio::time::Instant::now() >= until {
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
    /// Waits until a run that somebody else drives has ended or waits for a person.
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
            if !is_active(&record.status) {
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
    /// Whether it goes on by itself.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        is_active(&self.summary.status)
    }
}

/// Whether a run that stands there goes on by itself.
pub(crate) fn is_active(status: &str) -> bool {
    matches!(status, "working" | "stopping" | "rolling_back")
}
