//! How often a tool may be called: the generic cell rate algorithm, as a function of the time.
//!
//! A bucket holds `burst` calls and refills by `requests_per_minute`; a call takes one out. Instead
//! of a level that has to be refilled, the state is one moment: when the bucket would be full again.
//! (ITU-T I.371, virtual scheduling.) Time is exact: it is counted in minutes divided by the rate,
//! so that no rounding adds up. Knows no clock, no tenant and no tool.

use std::num::NonZeroU64;

use charter_contract::catalogue::tool::RateLimit;
use charter_contract::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// Microseconds of a minute.
const MINUTE: i128 = 60_000_000;

/// A rate and a burst, both at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Rate {
    /// How often a minute.
    per_minute: u64,
    /// How often at once.
    burst: u64,
}

impl Rate {
    /// So many calls a minute, so many at once.
    #[must_use]
    pub fn new(per_minute: NonZeroU64, burst: NonZeroU64) -> Self {
        Self {
            per_minute: per_minute.get(),
            burst: burst.get(),
        }
    }
}

impl From<&RateLimit> for Rate {
    /// Without a `burst`, a minute's calls may come at once.
    fn from(limit: &RateLimit) -> Self {
        let per_minute = limit.requests_per_minute.get();
        Self {
            per_minute,
            burst: limit.burst.map_or(per_minute, |burst| burst.get()),
        }
    }
}

/// The state of one bucket. A new one is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    rate: Rate,
    /// When it is full again, in microseconds times the rate.
    full_at: i128,
}

/// A call that may not happen yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("rate limit reached; retry in {wait_ms} ms")]
pub struct RateLimitExceeded {
    /// How long to wait, in milliseconds, rounded up.
    pub wait_ms: u64,
}

/// What a bucket holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketLevel {
    /// Calls that may happen now; at least one.
    pub calls: u64,
    /// Calls that a full bucket holds.
    pub burst: u64,
}

impl Bucket {
    /// A full bucket.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self {
            rate,
            full_at: i128::MIN,
        }
    }

    /// Takes one call out.
    ///
    /// # Errors
    /// [`RateLimitExceeded`], and nothing was taken. Where the clock went back, a caller waits no longer than
    /// an empty bucket takes to fill.
    pub fn take(&mut self, now: Timestamp) -> Result<(), RateLimitExceeded> {
        self.full_at = self.full_from(now);
        self.look(now)?;
        self.full_at += MINUTE;
        Ok(())
    }

    /// What a call would find, without taking one.
    ///
    /// # Errors
    /// As for [`Bucket::take`].
    pub fn look(&self, now: Timestamp) -> Result<BucketLevel, RateLimitExceeded> {
        let burst = self.rate.burst;
        let room = self.scaled(now) + MINUTE * i128::from(burst) - self.full_from(now);
        if room < MINUTE {
            return Err(RateLimitExceeded {
                wait_ms: self.milliseconds(MINUTE - room),
            });
        }
        let calls = u64::try_from(room / MINUTE).unwrap_or(burst);
        Ok(BucketLevel { calls, burst })
    }

    /// When it is full: not some time ago, and not later than an empty one would be.
    fn full_from(&self, now: Timestamp) -> i128 {
        let now = self.scaled(now);
        self.full_at
            .clamp(now, now + MINUTE * i128::from(self.rate.burst))
    }

    /// The same bucket under another rate: as many calls are gone from it as before.
    #[must_use]
    pub fn at_rate(self, rate: Rate, now: Timestamp) -> Self {
        if rate == self.rate {
            return self;
        }
        let gone = self.full_at.saturating_sub(self.scaled(now)).max(0);
        let mut bucket = Self { rate, full_at: 0 };
        bucket.full_at = bucket.scaled(now).saturating_add(gone);
        bucket
    }

    /// Whether nothing is missing from it, so that a new one is as good.
    #[must_use]
    pub fn is_full(&self, now: Timestamp) -> bool {
        self.full_at <= self.scaled(now)
    }

    fn scaled(&self, at: Timestamp) -> i128 {
        i128::from(at.as_micros()) * i128::from(self.rate.per_minute)
    }

    fn milliseconds(&self, scaled: i128) -> u64 {
        let unit = 1_000 * i128::from(self.rate.per_minute);
        u64::try_from((scaled + unit - 1) / unit).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests;
