//! The requests that this process is answering, so that none is answered twice at once.
//!
//! Must not know how a request is answered.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use charter_contract::ids::{RequestId, TenantId};

use super::ActiveRequest;

/// The requests in progress.
#[derive(Debug, Default)]
pub(super) struct ActiveRequests(Mutex<BTreeSet<Key>>);

type Key = (TenantId, RequestId);

/// Marks a request as in progress; released when dropped.
#[derive(Debug)]
pub(super) struct ActiveRequestGuard<'a> {
    all: &'a ActiveRequests,
    key: Key,
}

impl ActiveRequests {
    /// Marks a request as in progress; `None` if it is already.
    pub(super) fn take(&self, asked: &ActiveRequest) -> Option<ActiveRequestGuard<'_>> {
        let key = (asked.caller.tenant.clone(), asked.id().clone());
        let free = self.with(|requests| requests.insert(key.clone()));
        // A second caller gets no guard, because dropping it would release the first caller's mark.
        free.then(|| ActiveRequestGuard { all: self, key })
    }

    /// Returns whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.with(|requests| requests.is_empty())
    }

    /// A panic of a lock holder leaves the set intact: every change is one step.
    fn with<T>(&self, change: impl FnOnce(&mut BTreeSet<Key>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for ActiveRequestGuard<'_> {
    fn drop(&mut self) {
        self.all.with(|requests| requests.remove(&self.key));
    }
}

#[cfg(test)]
mod tests {
    use charter_contract::agentic::request::AgentRequest;
    use serde_json::json;

    use super::*;
    use crate::Caller;

    #[test]
    fn a_request_in_hand_stays_so_however_often_others_reach_for_it() {
        let request: AgentRequest = serde_json::from_value(json!({
            "id": "req-01930000-0000-7000-8000-000000000001",
            "timestamp": "2026-04-14T12:00:00Z", "input": "a question",
        }))
        .unwrap();
        let asked = ActiveRequest::new(&Caller::local().unwrap(), request).unwrap();
        let requests = ActiveRequests::default();
        let hold = requests.take(&asked);
        assert!(hold.is_some());
        for _ in 0..2 {
            assert!(requests.take(&asked).is_none());
        }
        drop(hold);
        assert!(requests.take(&asked).is_some());
    }
}
