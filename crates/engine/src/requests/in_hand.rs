//! The requests that this process is answering, so that one sent twice is answered once.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use charter_contract::ids::{RequestId, TenantId};

type Key = (TenantId, RequestId);

/// The requests in hand.
#[derive(Debug, Clone, Default)]
pub(crate) struct InHand(Arc<Mutex<HashSet<Key>>>);

/// One request in hand, given back when dropped.
#[derive(Debug)]
pub(crate) struct Holding {
    all: InHand,
    key: Key,
}

impl InHand {
    /// Takes a request; `None` while it is in hand already.
    pub(crate) fn take(&self, tenant: &TenantId, request: &RequestId) -> Option<Holding> {
        let key = (tenant.clone(), request.clone());
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.insert(key.clone()).then(|| Holding {
            all: self.clone(),
            key,
        })
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        let mut held = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_in_one_hand_at_a_time() {
        let held = InHand::default();
        let tenant = |name: &str| TenantId::parse(name).unwrap();
        let request = RequestId::parse("req-00000000-0000-4000-8000-000000000001").unwrap();
        let first = held.take(&tenant("acme"), &request);
        assert!(first.is_some());
        assert!(held.take(&tenant("acme"), &request).is_none());
        assert!(held.take(&tenant("other"), &request).is_some());
        drop(first);
        assert!(held.take(&tenant("acme"), &request).is_some());
    }
}
