//! The rate limits of this process: one bucket for each tenant with recent calls, and for each tool of one.
//!
//! Buckets are kept in memory and are full after a start. Their number is bounded: a full bucket is equivalent to none
//! and is removed first. Knows nothing of runs.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use charter_contract::time::Timestamp;
use charter_domain::rate_limit::{Bucket, BucketLevel, Rate, RateLimitExceeded};

/// Maximum buckets, some 200 bytes each.
const MAX_BUCKETS: usize = 100_000;

/// The buckets of all keys with a limit.
#[derive(Debug)]
pub(crate) struct RateLimits<K> {
    most: usize,
    buckets: Mutex<HashMap<K, Bucket>>,
}

impl<K> Default for RateLimits<K> {
    fn default() -> Self {
        Self::with_room(MAX_BUCKETS)
    }
}

impl<K> RateLimits<K> {
    fn with_room(most: usize) -> Self {
        Self {
            most,
            buckets: Mutex::default(),
        }
    }
}

impl<K: Eq + Hash> RateLimits<K> {
    /// Counts one call.
    ///
    /// # Errors
    /// [`RateLimitExceeded`] with the time to wait; the call is not counted.
    pub(crate) fn take(&self, key: K, rate: Rate, now: Timestamp) -> Result<(), RateLimitExceeded> {
        // A bucket is one value that is replaced whole, so a panic elsewhere leaves it intact.
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if !buckets.contains_key(&key) && buckets.len() >= self.most {
            make_room(&mut buckets, now);
        }
        let bucket = buckets.entry(key).or_insert_with(|| Bucket::new(rate));
        *bucket = bucket.at_rate(rate, now);
        bucket.take(now)
    }

    /// Returns the state that a call would find, without taking one.
    pub(crate) fn look(
        &self,
        key: &K,
        rate: Rate,
        now: Timestamp,
    ) -> Result<BucketLevel, RateLimitExceeded> {
        let buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let known = buckets.get(key);
        let bucket = known.map_or_else(|| Bucket::new(rate), |known| known.at_rate(rate, now));
        bucket.look(now)
    }
}

/// Removes the buckets that are full. If all are in use, removes one in eight of any, so that this does not happen for
/// every call; the removed keys may call a burst too often.
fn make_room<K: Eq + Hash>(buckets: &mut HashMap<K, Bucket>, now: Timestamp) {
    const SHARE: usize = 8;
    let before = buckets.len();
    buckets.retain(|_, bucket| !bucket.is_full(now));
    let enough = before - before / SHARE;
    if buckets.len() <= enough {
        return;
    }
    let mut place = 0_usize;
    buckets.retain(|_, _| {
        place += 1;
        !place.is_multiple_of(SHARE)
    });
    tracing::warn!(
        buckets = before,
        "too many rate limits in use; resetting some"
    );
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;

    type Limits = RateLimits<(&'static str, u32)>;

    fn rate(per_minute: u64, burst: u64) -> Rate {
        let some = |number| NonZeroU64::new(number).unwrap();
        Rate::new(some(per_minute), some(burst))
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(1_700_000_000_000_000 + seconds * 1_000_000).unwrap()
    }

    #[test]
    fn b003_4_every_tenant_and_every_tool_has_a_limit_of_its_own() {
        let limits = Limits::default();
        let slow = rate(6, 1);
        assert_eq!(limits.take(("acme", 1), slow, at(0)), Ok(()));
        let wait = Err(RateLimitExceeded { wait_ms: 10_000 });
        assert_eq!(limits.take(("acme", 1), slow, at(0)), wait);
        assert_eq!(limits.take(("umbrella", 1), slow, at(0)), Ok(()));
        assert_eq!(limits.take(("acme", 2), slow, at(0)), Ok(()));
        assert_eq!(limits.take(("acme", 1), slow, at(10)), Ok(()));
    }

    #[test]
    fn b003_4_a_changed_limit_binds_at_once() {
        let limits = Limits::default();
        assert_eq!(limits.take(("acme", 1), rate(60, 10), at(0)), Ok(()));
        let wait = Err(RateLimitExceeded { wait_ms: 1_000 });
        assert_eq!(limits.take(("acme", 1), rate(60, 1), at(0)), wait);
    }

    #[test]
    fn b003_4_looking_at_a_limit_takes_no_call() {
        let limits = Limits::default();
        let (acme, slow) = (("acme", 1), rate(6, 2));
        let left = |calls| Ok(BucketLevel { calls, burst: 2 });
        for _ in 0..5 {
            assert_eq!(limits.look(&acme, slow, at(0)), left(2));
        }
        assert!(limits.buckets.lock().unwrap().is_empty());
        assert_eq!(limits.take(acme, slow, at(0)), Ok(()));
        assert_eq!(limits.look(&acme, slow, at(0)), left(1));
        assert_eq!(limits.take(acme, slow, at(0)), Ok(()));
        let wait = Err(RateLimitExceeded { wait_ms: 10_000 });
        assert_eq!(limits.look(&acme, slow, at(0)), wait);
        assert_eq!(limits.look(&("umbrella", 1), slow, at(0)), left(2));
    }

    #[test]
    fn the_number_of_buckets_is_bounded_and_full_ones_go_first() {
        let limits = Limits::with_room(16);
        let slow = rate(1, 1);
        for id in 0..15 {
            assert_eq!(limits.take(("acme", id), slow, at(0)), Ok(()));
        }
        assert_eq!(limits.take(("kept", 0), slow, at(50)), Ok(()));
        // The fifteen are full again at this time.
        assert_eq!(limits.take(("next", 0), slow, at(61)), Ok(()));
        assert_eq!(limits.buckets.lock().unwrap().len(), 2);
        assert!(limits.take(("kept", 0), slow, at(62)).is_err());
        for id in 0..1_000 {
            assert_eq!(limits.take(("acme", id), slow, at(62)), Ok(()));
            assert!(limits.buckets.lock().unwrap().len() <= 16);
        }
    }
}
