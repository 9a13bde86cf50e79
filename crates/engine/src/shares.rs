//! Places that all callers share. A tenant holds at most half of the places that other tenants leave, and a credential
//! at most half of those that other credentials leave to its tenant, so that one caller does not keep the others out.
//! The local user, who needs no credential, may hold all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::TenantId;
use charter_engine::{Caller, CredentialId, EngineError};
use prometheus_client::metrics::counter::Counter;
use serde_json::json;

/// How long a caller had better wait before it asks for a place again, in milliseconds.
const WAIT_MS: u64 = 1_000;

/// What places are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Requests that are being answered.
    Requests,
    /// Open streams of events, and executors that wait for a call.
    Streams,
    /// Sessions of the Model Context Protocol.
    Sessions,
    /// Tool calls of the Model Context Protocol.
    Calls,
}

impl Use {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Streams => "streams",
            Self::Sessions => "sessions",
            Self::Calls => "calls",
        }
    }

    /// The name of the limit.
    fn limit(self) -> &'static str {
        match self {
            Self::Requests | Self::Streams => "limits.concurrency",
            Self::Sessions => "MCP_SESSIONS",
            Self::Calls => "MCP_CALLS",
        }
    }
}

/// Places of one kind; cheap to clone.
#[derive(Clone)]
pub(crate) struct Shares(Arc<Pool>);

struct Pool {
    places: Use,
    total: usize,
    held: Mutex<Held>,
    refused: Counter,
}

/// How many places are held, and by whom.
#[derive(Debug, Default)]
struct Held {
    all: usize,
    tenants: HashMap<TenantId, OfTenant>,
}

#[derive(Debug, Default)]
struct OfTenant {
    all: usize,
    credentials: HashMap<CredentialId, usize>,
}

/// A place, until it is dropped.
pub(crate) struct Share {
    pool: Arc<Pool>,
    tenant: TenantId,
    credential: CredentialId,
}

impl Shares {
    /// `total` places; `refused` counts the refusals.
    pub(crate) fn new(places: Use, total: usize, refused: Counter) -> Self {
        Self(Arc::new(Pool {
            places,
            total,
            held: Mutex::default(),
            refused,
        }))
    }

    /// A place for a caller.
    ///
    /// # Errors
    /// `overloaded` when the caller, its tenant, or all together hold as many as they may.
    pub(crate) fn take(&self, caller: &Caller) -> Result<Share, EngineError> {
        let taken = self
            .0
            .held()
            .take(self.0.total, &caller.tenant, &caller.credential);
        match taken {
            Ok(()) => Ok(Share {
                pool: Arc::clone(&self.0),
                tenant: caller.tenant.clone(),
                credential: caller.credential.clone(),
            }),
            Err(own) => {
                self.0.refused.inc();
                Err(self.0.overloaded(own))
            }
        }
    }
}

impl Pool {
    fn held(&self) -> MutexGuard<'_, Held> {
        // No holder can panic between two changes that belong together.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn overloaded(&self, own: usize) -> EngineError {
        let (places, limit, total) = (self.places.as_str(), self.places.limit(), self.total);
        let message = format!(
            "too many {places}: this credential has {own} of {limit} = {total}, as many as it may have at present; \
             wait for one of them to end"
        );
        let details = json!({"places": places, "held": own, "wait_ms": WAIT_MS});
        EngineError::new(ErrorCode::Overloaded, message).with_details(details)
    }
}

impl Held {
    /// Takes a place of `total` for a credential, or says how many it holds.
    fn take(
        &mut self,
        total: usize,
        tenant: &TenantId,
        credential: &CredentialId,
    ) -> Result<(), usize> {
        let of_tenant = self.tenants.get(tenant);
        let tenants = of_tenant.map_or(0, |held| held.all);
        let own = of_tenant.and_then(|held| held.credentials.get(credential));
        let own = own.copied().unwrap_or_default();
        let left = total.saturating_sub(self.all - tenants);
        let (most_of_tenant, most) = match credential {
            CredentialId::Local => (left, left),
            CredentialId::Key(_) | CredentialId::Configured(_) | CredentialId::Token { .. } => {
                let of_tenant = share_of(left);
                (of_tenant, share_of(of_tenant.saturating_sub(tenants - own)))
            }
        };
        if self.all >= total || tenants >= most_of_tenant || own >= most {
            return Err(own);
        }
        self.all += 1;
        let of_tenant = self.tenants.entry(tenant.clone()).or_default();
        of_tenant.all += 1;
        *of_tenant.credentials.entry(credential.clone()).or_default() += 1;
        Ok(())
    }

    fn give_back(&mut self, tenant: &TenantId, credential: &CredentialId) {
        self.all = self.all.saturating_sub(1);
        let Some(of_tenant) = self.tenants.get_mut(tenant) else {
            return;
        };
        of_tenant.all = of_tenant.all.saturating_sub(1);
        if let Some(own) = of_tenant.credentials.get_mut(credential) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                of_tenant.credentials.remove(credential);
            }
        }
        if of_tenant.all == 0 {
            self.tenants.remove(tenant);
        }
    }
}

/// How many may be held of those that are left: half, and one at least.
fn share_of(left: usize) -> usize {
    (left / 2).max(1)
}

impl Drop for Share {
    fn drop(&mut self) {
        self.pool.held().give_back(&self.tenant, &self.credential);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(tenant: &str, credential: CredentialId) -> Caller {
        let mut caller = Caller::local().unwrap();
        caller.tenant = TenantId::parse(tenant).unwrap();
        caller.with_credential(credential)
    }

    fn key(tenant: &str, number: u8) -> Caller {
        caller(tenant, CredentialId::Configured([number; 32]))
    }

    fn places(total: usize) -> Shares {
        Shares::new(Use::Requests, total, Counter::default())
    }

    /// As many places as a caller gets.
    fn all_of(shares: &Shares, caller: &Caller) -> Vec<Share> {
        std::iter::from_fn(|| shares.take(caller).ok()).collect()
    }

    #[test]
    fn a_credential_holds_half_of_what_is_left_to_its_tenant() {
        let shares = places(256);
        let held: Vec<Vec<Share>> = (0..4).map(|n| all_of(&shares, &key("acme", n))).collect();
        let counts: Vec<usize> = held.iter().map(Vec::len).collect();
        assert_eq!(counts, [64, 32, 16, 8]);
    }

    #[test]
    fn a_tenant_of_many_credentials_holds_half_of_what_is_left() {
        let shares = places(256);
        let held = |tenant: &str| -> Vec<Share> {
            (0..100)
                .flat_map(|n| all_of(&shares, &key(tenant, n)))
                .collect()
        };
        let acme = held("acme");
        assert_eq!(acme.len(), 128);
        assert_eq!(held("umbra").len(), 64);
        drop(acme);
        assert_eq!(held("umbra").len(), 128);
    }

    #[test]
    fn a_late_tenant_finds_a_place_and_no_more_are_given_than_there_are() {
        let shares = places(16);
        let tenants = ["a", "b", "c", "d", "e", "f"];
        let held: Vec<Vec<Share>> = tenants
            .iter()
            .map(|tenant| {
                (0..9)
                    .flat_map(|n| all_of(&shares, &key(tenant, n)))
                    .collect()
            })
            .collect();
        let counts: Vec<usize> = held.iter().map(Vec::len).collect();
        assert_eq!(counts, [8, 4, 2, 1, 1, 0]);
    }

    #[test]
    fn the_local_user_holds_all_that_is_left() {
        let shares = places(8);
        let other = all_of(&shares, &key("acme", 1));
        assert_eq!(other.len(), 2);
        let local = all_of(&shares, &caller("local", CredentialId::Local));
        assert_eq!(local.len(), 6);
    }

    #[test]
    fn a_place_is_given_back_and_a_refusal_names_the_limit() {
        let shares = places(4);
        let ann = key("acme", 1);
        let first = shares.take(&ann).ok();
        let refused = shares.take(&ann).err().unwrap();
        assert_eq!(refused.code, ErrorCode::Overloaded);
        assert_eq!(
            refused.to_string(),
            "too many requests: this credential has 1 of limits.concurrency = 4, as many as it may have at present; \
             wait for one of them to end"
        );
        assert_eq!(shares.0.refused.get(), 1);
        drop(first);
        assert!(shares.take(&ann).is_ok());
    }
}
