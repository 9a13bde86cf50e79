//! A simulated clock that advances only when a test advances it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use charter_contract::time::{TimeError, Timestamp};
use charter_domain::clock::Clock;

/// Simulated time. Clones share it.
#[derive(Debug, Clone)]
pub struct SimulatedClock {
    micros: Arc<AtomicI64>,
    /// Elapsed time, in microseconds.
    passed: Arc<AtomicU64>,
    start: Timestamp,
}

impl SimulatedClock {
    /// Creates a clock that shows `start`.
    #[must_use]
    pub fn at(start: Timestamp) -> Self {
        Self {
            micros: Arc::new(AtomicI64::new(start.as_micros())),
            passed: Arc::default(),
            start,
        }
    }

    /// Advances the clock and returns the new time.
    ///
    /// # Errors
    /// [`TimeError`] beyond the year 9999; the clock is then unchanged.
    pub fn advance(&self, by: Duration) -> Result<Timestamp, TimeError> {
        let by = i64::try_from(by.as_micros()).map_err(|_| TimeError)?;
        let now = self.micros.load(Ordering::SeqCst);
        let then = Timestamp::from_micros(now.checked_add(by).ok_or(TimeError)?)?;
        self.passed.fetch_add(by.unsigned_abs(), Ordering::SeqCst);
        self.set(then);
        Ok(then)
    }

    /// Sets the clock to a time, also backwards, like setting a machine's clock: no time elapses.
    pub fn set(&self, time: Timestamp) {
        self.micros.store(time.as_micros(), Ordering::SeqCst);
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.micros.load(Ordering::SeqCst)).unwrap_or(self.start)
    }

    fn passed(&self) -> Duration {
        Duration::from_micros(self.passed.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_show_the_same_time() {
        let start = Timestamp::parse("2026-04-14T12:00:00Z").unwrap();
        let clock = SimulatedClock::at(start);
        let other = clock.clone();
        clock.advance(Duration::from_millis(1_500)).unwrap();
        let later = Timestamp::parse("2026-04-14T12:00:01.5Z").unwrap();
        assert_eq!(other.now(), later);
        assert!(clock.advance(Duration::MAX).is_err());
        assert_eq!(clock.now(), later);
    }
}
