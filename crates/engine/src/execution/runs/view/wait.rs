//! Waits for a run to need a person, or to end.

use std::time::Duration;

use charter_contract::ids::RunId;

use super::{RunView, RunViewService};
use crate::ground::change_wait::{ChangeWait, POLL_INTERVAL, WaitEnd};
use crate::{Caller, EngineError};

impl RunViewService {
    /// Returns a run as soon as it has ended or waits for a person, at the latest after `patience`.
    ///
    /// # Errors
    /// As for [`RunViewService::show`].
    pub async fn wait(
        &self,
        caller: &Caller,
        run: &RunId,
        patience: Duration,
    ) -> Result<RunView, EngineError> {
        let until = tokio::time::Instant::now() + patience;
        loop {
            // Registered before looking, so that no notification in between is missed.
            let change = ChangeWait::register(&self.news);
            // Reads the journal once, however many notifications arrive for any run.
            let status = self.record(caller, run).await?.status;
            if !status.is_active() || tokio::time::Instant::now() >= until {
                return self.show(caller, run).await;
            }
            let left = until.saturating_duration_since(tokio::time::Instant::now());
            match change.wait(left.min(POLL_INTERVAL), &self.shutdown).await {
                WaitEnd::LookAgain => {}
                WaitEnd::Stopped => return self.show(caller, run).await,
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
