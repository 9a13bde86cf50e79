//! Rate limits for tools: the generic cell rate algorithm, as a function of the time.
//!
//! A bucket holds `burst` calls and refills by `requests_per_minute`; a call removes one. Instead of a level that must
//! be refilled, the state is one point in time: when the bucket would be full again. (ITU-T I.371, virtual scheduling.)
//! Time is exact: it is counted in minutes divided by the rate, so that rounding errors do not accumulate. Knows no
//! clock, no tenant and no tool.

use std::num::NonZeroU64;

use charter_contract::catalogue::tool::RateLimit;
use charter_contract::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// The number of microseconds in a minute.
const MINUTE: i128 = 60_000_000;

/// A rate and a burst, both at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Rate {
    /// The number of calls per minute.
    per_minute: u64,
    /// The number of calls at once.
    burst: u64,
}

impl Rate {
    /// Creates a rate from the calls per minute and the calls at once.
    #[must_use]
    pub fn new(per_minute: NonZeroU64, burst: NonZeroU64) -> Self {
        Self {
            per_minute: per_minute.get(),
            burst: burst.get(),
        }
    }
}

impl From<&RateLimit> for Rate {
    /// Without a `burst`, all calls of a minute may come at once.
    fn from(limit: &RateLimit) -> Self {
        let per_minute = limit.requests_per_minute.get();
        Self {
            per_minute,
            burst: limit.burst.map_or(per_minute, |burst| burst.get()),
        }
    }
}

/// The state of one bucket, which is full at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    rate: Rate,
    /// The time at which it is full again, in microseconds multiplied by the rate.
    full_at: i128,
}

/// A call that is not allowed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("rate limit reached; retry in {wait_ms} ms")]
pub struct RateLimitExceeded {
    /// The time to wait, in milliseconds, rounded up.
    pub wait_ms: u64,
}

/// The level of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketLevel {
    /// The number of calls that are allowed now, at least one.
    pub calls: u64,
    /// The number of calls in a full bucket.
    pub burst: u64,
}

impl Bucket {
    /// Creates a full bucket.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self {
            rate,
            full_at: i128::MIN,
        }
    }

    /// Removes one call.
    ///
    /// # Errors
    /// [`RateLimitExceeded`], and nothing was removed. If the clock went back, the wait is no longer than an empty
    /// bucket needs to fill.
    pub fn take(&mut self, now: Timestamp) -> Result<(), RateLimitExceeded> {
        self.full_at = self.full_from(now);
        self.look(now)?;
        self.full_at += MINUTE;
        Ok(())
    }

    /// Returns the level for a call, without removing one.
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

    /// Returns the time at which it is full: not in the past, and not later than for an empty bucket.
    fn full_from(&self, now: Timestamp) -> i128 {
        let now = self.scaled(now);
        self.full_at
            .clamp(now, now + MINUTE * i128::from(self.rate.burst))
    }

    /// Converts the bucket to another rate. The number of missing calls stays the same.
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

    /// Returns whether it is full, so that a new bucket is equivalent.
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
