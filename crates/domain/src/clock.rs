//! Where the time comes from. Decisions take it as an argument; whoever drives them asks a clock,
//! so that a test can stand still or leap.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use charter_contract::time::{TimeError, Timestamp};

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The present time. May stand still or go back between two calls.
    fn now(&self) -> Timestamp;

    /// Time that has passed since some moment in the past. It does not go back, whatever [`Clock::now`] is set to.
    fn passed(&self) -> Duration;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    started: Timestamp,
    since: Instant,
}

impl SystemClock {
    /// A clock, if the machine's shows a time that RFC 3339 can write.
    ///
    /// # Errors
    /// [`TimeError`] when the machine stands before 1970 or after the year 9999.
    pub fn start() -> Result<Self, TimeError> {
        let started = read()?;
        Ok(Self {
            started,
            since: Instant::now(),
        })
    }
}

impl Clock for SystemClock {
    /// The time of [`SystemClock::start`] if the machine has been set to an impossible time since.
    fn now(&self) -> Timestamp {
        read().unwrap_or(self.started)
    }

    fn passed(&self) -> Duration {
        self.since.elapsed()
    }
}

fn read() -> Result<Timestamp, TimeError> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let micros = since.map_err(|_| TimeError)?.as_micros();
    Timestamp::from_micros(i64::try_from(micros).map_err(|_| TimeError)?)
}
