//! Which runs this process claims: when there may be some, and which are left to others.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use charter_contract::ids::RunId;
use tokio::sync::Notify;

/// Maximum remembered runs that are left to a newer version.
const MOST_LEFT: usize = 1_000;

/// The claims of this process.
#[derive(Debug, Default)]
pub(crate) struct RunClaims {
    /// Notified when there may be runs to claim.
    due: Notify,
    /// Runs that are left to a newer version, the newest last.
    left: Mutex<VecDeque<RunId>>,
}

impl RunClaims {
    /// Returns once there may be runs to claim.
    pub(crate) async fn due(&self) {
        self.due.notified().await;
    }

    /// Announces that there may be runs to claim.
    pub(crate) fn announce(&self) {
        self.due.notify_one();
    }

    /// Stops claiming a run. Beyond the limit the oldest entry is dropped, and that run is claimed and released again.
    pub(super) fn leave(&self, run: RunId) {
        let mut left = self.entries();
        if left.len() == MOST_LEFT {
            left.pop_front();
        }
        left.push_back(run);
    }

    /// Returns the runs that are not claimed.
    pub(super) fn left(&self) -> Vec<RunId> {
        self.entries().iter().cloned().collect()
    }

    fn entries(&self) -> MutexGuard<'_, VecDeque<RunId>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn no_more_runs_are_left_than_may() {
        let claims = RunClaims::default();
        let run = |number: usize| RunId::from_uuid(Uuid::from_u128(number as u128));
        for number in 0..=MOST_LEFT {
            claims.leave(run(number));
        }
        let left = claims.left();
        assert_eq!(left.len(), MOST_LEFT);
        assert_eq!((&left[0], left.last()), (&run(1), Some(&run(MOST_LEFT))));
    }
}
