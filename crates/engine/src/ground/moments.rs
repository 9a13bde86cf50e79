//! Times that runs wait for: retries, the ends of approvals and of time limits. The machine's clock may be set back
//! while a run waits; a time that was a minute away at first is reached within a minute nevertheless. Leases and
//! journals use only the machine's clock, because other processes compare them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use charter_contract::time::Timestamp;
use charter_domain::clock::Clock;

/// The monotonic time of each deadline, independent of changes of the clock.
#[derive(Debug, Default)]
struct MonotonicDeadlines(Mutex<BTreeMap<Timestamp, Duration>>);

impl MonotonicDeadlines {
    /// Returns the time until a deadline; zero once it is reached.
    fn left(&self, clock: &dyn Clock, moment: Timestamp) -> Duration {
        let (now, passed) = (clock.now(), clock.passed());
        let left = moment.as_micros().saturating_sub(now.as_micros());
        let left = Duration::from_micros(u64::try_from(left).unwrap_or(0));
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if left.is_zero() {
            // Deadlines that the clock has reached are removed.
            *known = known.split_off(&now);
            return left;
        }
        let comes = *known
            .entry(moment)
            .or_insert_with(|| passed.saturating_add(left));
        comes.saturating_sub(passed).min(left)
    }
}

/// Returns a later time, or the last representable one.
pub(crate) fn after(at: Timestamp, span: Duration) -> Timestamp {
    let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(at.as_micros().saturating_add(micros)).unwrap_or(at)
}

/// Returns an earlier time, or the first representable one.
pub(crate) fn before(at: Timestamp, span: Duration) -> Timestamp {
    let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(at.as_micros().saturating_sub(micros)).unwrap_or(at)
}

/// Returns the time from one point to a later one; zero if it is not later.
pub(crate) fn span(from: Timestamp, to: Timestamp) -> Duration {
    let micros = to.as_micros().saturating_sub(from.as_micros());
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

/// Returns the milliseconds from one point to a later one; zero if it is not later.
pub(crate) fn milliseconds(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(span(from, to).as_millis()).unwrap_or(u64::MAX)
}

/// Deadlines by the engine's clock, each reached after its time at the latest, however the clock is set.
pub(crate) struct Deadlines {
    clock: Arc<dyn Clock>,
    known: MonotonicDeadlines,
}

impl Deadlines {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            known: MonotonicDeadlines::default(),
        }
    }

    /// Returns the time until a deadline; zero once it is reached.
    pub(crate) fn time_until(&self, moment: Timestamp) -> Duration {
        self.known.left(self.clock.as_ref(), moment)
    }

    /// Returns whether a deadline is reached.
    pub(crate) fn is_due(&self, moment: Timestamp) -> bool {
        self.time_until(moment).is_zero()
    }

    /// Returns the present time, or the deadline if it is reached and the clock was set back since.
    pub(crate) fn now_or_deadline(&self, moment: Timestamp) -> Timestamp {
        let come = self.is_due(moment).then_some(moment);
        let now = self.clock.now();
        come.map_or(now, |moment| moment.max(now))
    }
}

#[cfg(test)]
mod tests {
    use charter_testkit::clock::SimulatedClock;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn seconds(count: i64) -> Timestamp {
        Timestamp::from_micros((1_000_000 + count) * 1_000_000).unwrap()
    }

    /// With the clock an hour back, a deadline is reached after the remaining seconds; with the clock forward, at once.
    #[test]
    fn a_moment_comes_though_the_clock_is_set_back() {
        let clock = SimulatedClock::at(seconds(0));
        let moments = MonotonicDeadlines::default();
        let soon = seconds(10);
        assert_eq!(moments.left(&clock, soon), 10 * SECOND);
        clock.set(seconds(-3_600));
        assert_eq!(moments.left(&clock, soon), 10 * SECOND);
        clock.advance(4 * SECOND).unwrap();
        assert_eq!(moments.left(&clock, soon), 6 * SECOND);
        // A deadline set after that is reached after its full time.
        let later = seconds(-3_580);
        assert_eq!(moments.left(&clock, later), 16 * SECOND);
        clock.advance(6 * SECOND).unwrap();
        assert_eq!(moments.left(&clock, soon), Duration::ZERO);
        assert_eq!(moments.left(&clock, later), 10 * SECOND);
        clock.set(seconds(3_600));
        assert_eq!(moments.left(&clock, later), Duration::ZERO);
    }

    #[test]
    fn moments_that_have_come_are_forgotten() {
        let clock = SimulatedClock::at(seconds(0));
        let moments = MonotonicDeadlines::default();
        for count in 1..=100 {
            assert!(!moments.left(&clock, seconds(count)).is_zero());
        }
        clock.advance(60 * SECOND).unwrap();
        assert!(moments.left(&clock, seconds(60)).is_zero());
        assert!(moments.0.lock().unwrap().len() <= 41);
    }
}
