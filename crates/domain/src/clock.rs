//! The source of time. Decisions take the time as an argument, and their callers read it from a clock, so that tests
//! can stop the clock or set it forward.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use charter_contract::time::{TimeError, Timestamp};

/// A source of time.
pub trait Clock: Send + Sync {
    /// Returns the current time. It may be constant or go back between two calls.
    fn now(&self) -> Timestamp;

    /// Returns the time since a fixed moment in the past. It is monotonic, even if [`Clock::now`] is set back.
    fn passed(&self) -> Duration;
}

/// The system clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    started: Timestamp,
    since: Instant,
}

impl SystemClock {
    /// Starts a clock, if the system time can be written in RFC 3339.
    ///
    /// # Errors
    /// [`TimeError`] when the system time is before 1970 or after the year 9999.
    pub fn start() -> Result<Self, TimeError> {
        let started = read()?;
        Ok(Self {
            started,
            since: Instant::now(),
        })
    }
}

impl Clock for SystemClock {
    /// Returns the time of [`SystemClock::start`] if the system clock has been set to an impossible time since.
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
