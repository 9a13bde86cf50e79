//! The time for which a run has worked, which its time limit bounds. Does not know when a run works.

use charter_contract::time::Timestamp;
use serde::Serialize;

/// The time for which a run has worked until its last event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct WorkTime {
    /// In microseconds.
    worked_us: u64,
    /// The time of the last event.
    last_at: Timestamp,
}

impl WorkTime {
    /// Starts to count at the first event.
    pub(super) fn start(at: Timestamp) -> Self {
        Self {
            worked_us: 0,
            last_at: at,
        }
    }

    /// Counts the time from the last event to this one.
    pub(super) fn count_until(&mut self, at: Timestamp) {
        let passed = at.as_micros().saturating_sub(self.last_at.as_micros());
        self.worked_us += u64::try_from(passed).unwrap_or(0);
        self.last_at = at;
    }

    /// Leaves out the time from the last event to this one: the run waited for people.
    pub(super) fn skip_until(&mut self, at: Timestamp) {
        self.last_at = at;
    }

    /// Returns the time at which the limit is reached if the run works from the last event on.
    pub(super) fn limit_reached_at(&self, limit_ms: u64) -> Option<Timestamp> {
        let left = limit_ms
            .saturating_mul(1_000)
            .saturating_sub(self.worked_us);
        let last = self.last_at.as_micros();
        let left = i64::try_from(left).unwrap_or(i64::MAX);
        Timestamp::from_micros(last.saturating_add(left)).ok()
    }
}
