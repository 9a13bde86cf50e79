//! Whether the installation has keys: from the first one on, every caller needs a credential.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use charter_store::key::KeyPresence;

use super::KeyService;
use crate::EngineError;

/// How long the store's answer that there is no key is cached.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// This process's cached answer. Ended keys are kept, so the answer changes once.
#[derive(Debug, Default)]
pub(super) struct KeyPresenceCache {
    made: AtomicBool,
    looked: Mutex<Option<Instant>>,
}

impl KeyPresenceCache {
    pub(crate) fn is_known(&self) -> bool {
        self.made.load(Ordering::Acquire)
    }

    pub(crate) fn note(&self) {
        self.made.store(true, Ordering::Release);
    }

    /// Returns whether to query the store. Concurrent callers do not wait for the answer.
    fn is_due(&self, now: Instant) -> bool {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = looked.is_none_or(|last| now.saturating_duration_since(last) >= POLL_INTERVAL);
        if is_due {
            *looked = Some(now);
        }
        is_due
    }
}

impl KeyService {
    /// Returns whether a key was ever made. A key of this process counts at once, one of another process within a
    /// second.
    ///
    /// # Errors
    /// If storage fails.
    pub async fn has_keys(&self) -> Result<bool, EngineError> {
        let made = &self.presence;
        if !made.is_known()
            && made.is_due(Instant::now())
            && self.keys_kept().await? != KeyPresence::None
        {
            made.note();
        }
        Ok(made.is_known())
    }

    /// Returns whether all callers are one person, because no caller has, or ever had, a credential.
    ///
    /// # Errors
    /// If storage fails.
    pub(crate) async fn is_one_person(&self) -> Result<bool, EngineError> {
        Ok(!self.settings.credentials && !self.has_keys().await?)
    }

    /// Returns whether a second person must approve by default, as of the last check for keys. Unless configured, this
    /// holds if callers have credentials, because without them all callers are one person.
    pub(crate) fn four_eyes(&self) -> bool {
        let settings = &self.settings;
        let by_credentials = || settings.credentials || self.presence.is_known();
        settings.four_eyes.unwrap_or_else(by_credentials)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The store is queried once a second until a key is known, and then no more.
    #[test]
    fn the_store_is_asked_once_a_second() {
        let made = KeyPresenceCache::default();
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let due = [0, 1, 999, 1_000, 1_500, 2_100].map(|ms| made.is_due(at(ms)));
        assert_eq!(due, [true, false, false, true, false, true]);
        assert!(!made.is_known());
        made.note();
        assert!(made.is_known());
    }
}
