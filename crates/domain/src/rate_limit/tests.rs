use proptest::prelude::*;

use super::*;

fn rate(per_minute: u64, burst: u64) -> Rate {
    Rate { per_minute, burst }
}

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros).unwrap()
}

const START: i64 = 1_700_000_000_000_000;
const SECOND: i64 = 1_000_000;

#[test]
fn b003_4_a_burst_passes_at_once_and_then_one_call_at_a_time() {
    let mut bucket = Bucket::new(rate(6, 3));
    for _ in 0..3 {
        assert_eq!(bucket.take(at(START)), Ok(()));
    }
    assert_eq!(
        bucket.take(at(START)),
        Err(RateLimitExceeded { wait_ms: 10_000 })
    );
    assert_eq!(
        bucket.take(at(START + 10 * SECOND - 1)),
        Err(RateLimitExceeded { wait_ms: 1 })
    );
    assert_eq!(bucket.take(at(START + 10 * SECOND)), Ok(()));
    assert_eq!(
        bucket.take(at(START + 10 * SECOND)),
        Err(RateLimitExceeded { wait_ms: 10_000 })
    );
}

#[test]
fn b003_4_without_a_burst_a_minutes_calls_may_come_at_once() {
    let limit: RateLimit = serde_json::from_str(r#"{"requests_per_minute": 7}"#).unwrap();
    assert_eq!(Rate::from(&limit), rate(7, 7));
    let limit: RateLimit =
        serde_json::from_str(r#"{"requests_per_minute": 7, "burst": 2}"#).unwrap();
    assert_eq!(Rate::from(&limit), rate(7, 2));
}

#[test]
fn a_clock_that_goes_back_never_locks_a_caller_out() {
    let mut bucket = Bucket::new(rate(60, 2));
    assert_eq!(bucket.take(at(START)), Ok(()));
    assert_eq!(bucket.take(at(START)), Ok(()));
    let hour = 3_600 * SECOND;
    assert_eq!(
        bucket.take(at(START - hour)),
        Err(RateLimitExceeded { wait_ms: 1_000 })
    );
    assert_eq!(bucket.take(at(START - hour + SECOND)), Ok(()));
}

#[test]
fn a_changed_rate_keeps_the_calls_that_are_gone() {
    let mut bucket = Bucket::new(rate(6, 3));
    assert_eq!(bucket.take(at(START)), Ok(()));
    assert_eq!(bucket.take(at(START)), Ok(()));
    let mut faster = bucket.at_rate(rate(60, 3), at(START));
    assert_eq!(faster.take(at(START)), Ok(()));
    assert_eq!(
        faster.take(at(START)),
        Err(RateLimitExceeded { wait_ms: 1_000 })
    );
    assert_eq!(
        Bucket::new(rate(6, 3))
            .at_rate(rate(60, 1), at(START))
            .take(at(START)),
        Ok(())
    );
}

/// A bucket may be discarded as soon as it is full, and not earlier.
#[test]
fn a_bucket_is_full_when_it_is_new_and_when_it_has_refilled() {
    let mut bucket = Bucket::new(rate(6, 3));
    assert!(bucket.is_full(at(START)));
    bucket.take(at(START)).unwrap();
    assert!(!bucket.is_full(at(START + 10 * SECOND - 1)));
    assert!(bucket.is_full(at(START + 10 * SECOND)));
}

#[test]
fn the_largest_rates_and_times_do_not_overflow() {
    let most = rate((1 << 53) - 1, (1 << 53) - 1);
    for moment in [0, START, 250_000_000_000 * SECOND] {
        let mut bucket = Bucket::new(most);
        assert_eq!(bucket.take(at(moment)), Ok(()));
        assert!(!bucket.is_full(at(moment)));
    }
}

/// A textbook token bucket: a level, which is refilled in exact fractions before each call.
struct Naive {
    rate: Rate,
    /// The number of calls, multiplied by the microseconds of a minute.
    level: i128,
    last: i64,
}

impl Naive {
    fn take(&mut self, now: i64) -> bool {
        let refill = i128::from(now - self.last) * i128::from(self.rate.per_minute);
        let full = i128::from(self.rate.burst) * MINUTE;
        self.level = (self.level + refill).min(full);
        self.last = now;
        let enough = self.level >= MINUTE;
        if enough {
            self.level -= MINUTE;
        }
        enough
    }
}

proptest! {
    /// B003-4: allows the same calls as a bucket that is refilled.
    #[test]
    fn b003_4_the_same_calls_pass_as_with_a_naive_bucket(
        per_minute in 1_u64..500, burst in 1_u64..20,
        gaps in prop::collection::vec(prop_oneof![0_i64..3_000, 0_i64..30_000_000], 1..200),
    ) {
        let rate = rate(per_minute, burst);
        let mut bucket = Bucket::new(rate);
        let mut naive = Naive { rate, level: i128::from(burst) * MINUTE, last: START };
        let mut now = START;
        for gap in gaps {
            now += gap;
            prop_assert_eq!(bucket.take(at(now)).is_ok(), naive.take(now), "at {}", now);
        }
    }

    /// The reported wait is sufficient, and a millisecond less is not.
    #[test]
    fn b003_4_a_refusal_says_how_long_to_wait(
        per_minute in 1_u64..500, burst in 1_u64..5, calls in 1_usize..40,
    ) {
        let mut bucket = Bucket::new(rate(per_minute, burst));
        let mut now = START;
        for _ in 0..calls {
            if let Err(RateLimitExceeded { wait_ms }) = bucket.take(at(now)) {
                let wait = i64::try_from(wait_ms).unwrap() * 1_000;
                prop_assert!(bucket.take(at(now + wait - 1_000)).is_err());
                now += wait;
                prop_assert_eq!(bucket.take(at(now)), Ok(()));
            }
        }
    }

    /// In every minute, at most a burst and a minute's refill are allowed.
    #[test]
    fn b003_4_no_minute_has_more_than_the_burst_and_the_rate(
        per_minute in 1_u64..60, burst in 1_u64..10,
        gaps in prop::collection::vec(0_i64..2_000_000, 1..300),
    ) {
        let mut bucket = Bucket::new(rate(per_minute, burst));
        let mut passed = Vec::new();
        let mut now = START;
        for gap in gaps {
            now += gap;
            if bucket.take(at(now)).is_ok() {
                passed.push(now);
            }
        }
        for first in &passed {
            let within = passed.iter().filter(|at| (*first..first + 60 * SECOND).contains(at)).count();
            prop_assert!(within as u64 <= burst + per_minute);
        }
    }
}

#[test]
fn b003_4_looking_says_what_a_call_would_find_and_takes_nothing() {
    let mut bucket = Bucket::new(rate(6, 3));
    for calls in [3, 2, 1] {
        assert_eq!(bucket.look(at(START)), Ok(BucketLevel { calls, burst: 3 }));
        let before = bucket;
        assert_eq!(bucket.look(at(START)), Ok(BucketLevel { calls, burst: 3 }));
        assert_eq!(bucket, before);
        assert_eq!(bucket.take(at(START)), Ok(()));
    }
    assert_eq!(
        bucket.look(at(START)),
        Err(RateLimitExceeded { wait_ms: 10_000 })
    );
    let later = at(START + 25 * SECOND);
    assert_eq!(bucket.look(later), Ok(BucketLevel { calls: 2, burst: 3 }));
}
