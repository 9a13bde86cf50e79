//! Uuids that are equal in every run of a test.

use std::sync::atomic::{AtomicU64, Ordering};

use uuid::{Builder, Uuid};

/// A generator of version 4 uuids that depend only on its seed (SplitMix64).
#[derive(Debug)]
pub struct SeededUuids {
    state: AtomicU64,
}

impl SeededUuids {
    /// Creates a generator; equal seeds produce equal uuids.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            state: AtomicU64::new(seed),
        }
    }

    /// Returns the next uuid.
    pub fn next(&self) -> Uuid {
        let random = u128::from(self.word()) << 64 | u128::from(self.word());
        Builder::from_random_bytes(random.to_be_bytes()).into_uuid()
    }

    fn word(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut word = self
            .state
            .fetch_add(STEP, Ordering::Relaxed)
            .wrapping_add(STEP);
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_seed_has_its_own_uuids() {
        let take = |seed| {
            let source = SeededUuids::new(seed);
            [source.next(), source.next()]
        };
        assert_eq!(take(7), take(7));
        assert_ne!(take(7), take(8));
        assert_ne!(take(7)[0], take(7)[1]);
    }
}
