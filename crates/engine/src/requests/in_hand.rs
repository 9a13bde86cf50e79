//! Which requests this process is answering right now, so that none is answered twice at once.
//!
//! Must not know how a request is answered.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use charter_contract::ids::{RequestId, TenantId};

use super::Asked;

/// The requests under way.
#[derive(Debug, Default)]
pub(crate) struct InHand(Mutex<BTreeSet<Key>>);

type Key = (TenantId, RequestId);

/// A request that its holder answers; given back when dropped.
#[derive(Debug)]
pub(super) struct Hold<'a> {
    all: &'a InHand,
    key: Key,
}

impl InHand {
    /// Takes a request in hand; `None` while somebody else has it.
    pub(super) fn take(&self, asked: &Asked) -> Option<Hold<'_>> {
        let key = (asked.caller.tenant.clone(), asked.id().clone());
        let free = self.with(|requests| requests.insert(key.clone()));
        free.then_some(Hold { all: self, key })
    }

    /// A panic of a holder leaves the set whole: every change is one step.
    fn with<T>(&self, change: impl FnOnce(&mut BTreeSet<Key>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.all.with(|requests| requests.remove(&self.key));
    }
}
