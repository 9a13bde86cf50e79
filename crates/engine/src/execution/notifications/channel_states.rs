//! The channels of this process: which of them a message is being sent to, and which rest because they did not answer.
//! Must not know messages.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use charter_contract::time::Timestamp;
use charter_effects::channel::ChannelKey;

use crate::ground::moments;

/// The first rest of a channel that did not answer, and the longest one.
const RESTS: (Duration, Duration) = (Duration::from_secs(15), Duration::from_secs(900));

/// The channels that are busy or rest. There are at most as many as the configuration has.
#[derive(Default)]
pub(super) struct ChannelStates(Mutex<BTreeMap<ChannelKey, ChannelState>>);

#[derive(Default)]
struct ChannelState {
    is_busy: bool,
    outage: Option<Outage>,
}

/// The time since a channel answered last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outage {
    /// The first attempt without an answer.
    pub(super) since: Timestamp,
    /// Until when the channel gets nothing.
    pub(super) until: Timestamp,
    failures: u64,
}

impl ChannelStates {
    // Every change of a state is one assignment, so a panic elsewhere leaves it intact.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ChannelKey, ChannelState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the channels that a message is being sent to.
    pub(super) fn busy(&self) -> Vec<ChannelKey> {
        let states = self.lock();
        let busy = states.iter().filter(|(_, state)| state.is_busy);
        busy.map(|(key, _)| key.clone()).collect()
    }

    /// Marks a channel as busy, until the slot is dropped.
    pub(super) fn occupy(&self, key: ChannelKey) -> ChannelSlot<'_> {
        self.lock().entry(key.clone()).or_default().is_busy = true;
        ChannelSlot { states: self, key }
    }

    /// Returns the outage of a channel that rests.
    pub(super) fn rest(&self, key: &ChannelKey, now: Timestamp) -> Option<Outage> {
        let outage = self.lock().get(key).and_then(|state| state.outage);
        outage.filter(|outage| outage.until > now)
    }

    /// Ends the outage of a channel.
    pub(super) fn answered(&self, key: &ChannelKey) {
        if let Some(state) = self.lock().get_mut(key) {
            state.outage = None;
        }
    }

    /// Lets a channel rest that did not answer: each time for longer, and at least as long as it demands, but no longer
    /// than the longest rest.
    pub(super) fn unanswered(
        &self,
        key: &ChannelKey,
        now: Timestamp,
        demanded: Option<Duration>,
    ) -> Outage {
        let mut states = self.lock();
        let state = states.entry(key.clone()).or_default();
        let failures = state.outage.map_or(0, |outage| outage.failures);
        let rest = doubled(RESTS, failures).max(demanded.unwrap_or_default());
        let outage = Outage {
            since: state.outage.map_or(now, |outage| outage.since),
            until: moments::after(now, rest.min(RESTS.1)),
            failures: failures.saturating_add(1),
        };
        state.outage = Some(outage);
        outage
    }
}

/// A channel that a message is being sent to.
pub(super) struct ChannelSlot<'s> {
    states: &'s ChannelStates,
    key: ChannelKey,
}

impl ChannelSlot<'_> {
    /// Returns the channel.
    pub(super) fn key(&self) -> &ChannelKey {
        &self.key
    }
}

impl Drop for ChannelSlot<'_> {
    fn drop(&mut self) {
        let mut states = self.states.lock();
        if let Some(state) = states.get_mut(&self.key) {
            state.is_busy = false;
            if state.outage.is_none() {
                states.remove(&self.key);
            }
        }
    }
}

/// Returns the first duration, doubled so many times, and at most the longest one.
pub(super) fn doubled((first, longest): (Duration, Duration), times: u64) -> Duration {
    let times = u32::try_from(times.min(16)).unwrap_or(16);
    first.saturating_mul(1 << times).min(longest)
}

#[cfg(test)]
mod tests {
    use charter_contract::ids::Label;

    use super::*;

    fn key() -> ChannelKey {
        ChannelKey {
            tenant: None,
            channel: Label::parse("ops").unwrap(),
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000).unwrap()
    }

    #[test]
    fn a_channel_is_busy_until_its_slot_is_dropped() {
        let states = ChannelStates::default();
        let slot = states.occupy(key());
        assert_eq!(states.busy(), [key()]);
        drop(slot);
        assert!(states.busy().is_empty());
    }

    #[test]
    fn the_rest_of_a_channel_grows_until_it_answers() {
        let states = ChannelStates::default();
        let _slot = states.occupy(key());
        for (now, until) in [(0, 15), (20, 50), (100, 160), (9_000, 9_120)] {
            let outage = states.unanswered(&key(), at(now), None);
            assert_eq!((outage.since, outage.until), (at(0), at(until)));
        }
        for now in 10_000..10_100 {
            states.unanswered(&key(), at(now), None);
        }
        let longest = states.unanswered(&key(), at(20_000), Some(Duration::from_secs(9_999)));
        assert_eq!(longest.until, at(20_900));
        assert_eq!(states.rest(&key(), at(20_899)), Some(longest));
        assert_eq!(states.rest(&key(), at(20_900)), None);
        states.answered(&key());
        let next = states.unanswered(&key(), at(30_000), Some(Duration::from_secs(40)));
        assert_eq!((next.since, next.until), (at(30_000), at(30_040)));
    }
}
