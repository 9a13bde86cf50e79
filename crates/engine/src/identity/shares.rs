//! What callers of a process share: places, or bytes of memory. A tenant holds at most half of what other tenants
//! leave, and a credential at most half of what other credentials leave to its tenant, so that one caller does not keep
//! the others out. The local user, who needs no credential, may hold all.
//!
//! A request for bytes may be for more than the half: a holder of nothing gets it as soon as there is room for it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use charter_contract::bounds::LARGE_OUTPUT;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::TenantId;
use charter_effects::allocator::give_back_soon;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::{Caller, CredentialId, EngineError};

/// How long a caller had better wait before it asks for a share again, in milliseconds.
const WAIT_MS: u64 = 1_000;

/// Something that is shared; cheap to clone.
#[derive(Clone)]
pub struct Shares(Arc<Pool>);

struct Pool {
    /// What it is, in the plural.
    what: &'static str,
    /// The name of its limit.
    limit: &'static str,
    total: usize,
    /// How much may be waited for at the same time.
    most_waiting: usize,
    held: Mutex<ShareLedger>,
    given_back: Notify,
    /// Told of every refusal.
    refused: Box<dyn Fn() + Send + Sync>,
}

/// How much is held and waited for, and by whom.
#[derive(Debug, Default)]
struct ShareLedger {
    all: usize,
    waiting: usize,
    tenants: HashMap<TenantId, OfTenant>,
}

#[derive(Debug, Default)]
struct OfTenant {
    all: usize,
    holders: HashMap<Option<CredentialId>, usize>,
}

/// Who holds a share: a caller, or its tenant where no caller waits for what is done.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Holder {
    tenant: TenantId,
    credential: Option<CredentialId>,
}

/// A part of what is shared, until it is dropped.
pub struct Share {
    pool: Arc<Pool>,
    holder: Holder,
    amount: usize,
}

impl fmt::Debug for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shares({})", self.0.limit)
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Share({} of {})", self.amount, self.pool.limit)
    }
}

impl Shares {
    /// `total` of `what`, which messages name in the plural, and its limit. `refused` is told of every refusal.
    pub fn new(
        what: &'static str,
        limit: &'static str,
        total: usize,
        refused: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Pool {
            what,
            limit,
            total,
            most_waiting: usize::MAX,
            held: Mutex::default(),
            given_back: Notify::new(),
            refused: Box::new(refused),
        }))
    }

    /// The same, where what waits takes memory as well: at most as much again may wait.
    #[must_use]
    pub fn with_bounded_waiting(mut self) -> Self {
        if let Some(pool) = Arc::get_mut(&mut self.0) {
            pool.most_waiting = pool.total;
        }
        self
    }

    /// One place for a caller.
    ///
    /// # Errors
    /// `overloaded` when the caller, its tenant, or all together hold as much as they may.
    pub fn take(&self, caller: &Caller) -> Result<Share, EngineError> {
        let holder = Holder::from_caller(caller);
        self.try_take(&holder, 1)
            .map_err(|own| self.refusal(&holder, own))
    }

    /// As many bytes for a caller, once there is room for them.
    ///
    /// # Errors
    /// `overloaded` when there is none for so long.
    pub async fn wait_for(
        &self,
        caller: &Caller,
        bytes: usize,
        patience: Duration,
    ) -> Result<Share, EngineError> {
        self.wait(Holder::from_caller(caller), bytes, patience)
            .await
    }

    /// As many bytes for what is done for a tenant, once there is room for them.
    ///
    /// # Errors
    /// As for [`Shares::wait_for`].
    pub(crate) async fn wait_for_tenant(
        &self,
        tenant: &TenantId,
        bytes: usize,
        patience: Duration,
    ) -> Result<Share, EngineError> {
        let holder = Holder {
            tenant: tenant.clone(),
            credential: None,
        };
        self.wait(holder, bytes, patience).await
    }

    async fn wait(
        &self,
        holder: Holder,
        amount: usize,
        patience: Duration,
    ) -> Result<Share, EngineError> {
        let until = Instant::now() + patience;
        let mut waiting = None;
        loop {
            let mut given_back = std::pin::pin!(self.0.given_back.notified());
            // From here on nothing that is given back escapes.
            given_back.as_mut().enable();
            let own = match self.try_take(&holder, amount) {
                Ok(share) => return Ok(share),
                Err(own) => own,
            };
            if waiting.is_none() {
                let begun = self.begin_to_wait(amount);
                waiting = Some(begun.ok_or_else(|| self.refusal(&holder, own))?);
            }
            if timeout_at(until, given_back).await.is_err() {
                return Err(self.refusal(&holder, own));
            }
        }
    }

    fn try_take(&self, holder: &Holder, amount: usize) -> Result<Share, usize> {
        // What is more than all of it takes all of it.
        let amount = amount.min(self.0.total);
        self.0.held().take(self.0.total, holder, amount)?;
        Ok(Share {
            pool: Arc::clone(&self.0),
            holder: holder.clone(),
            amount,
        })
    }

    fn begin_to_wait(&self, amount: usize) -> Option<Waiting<'_>> {
        let mut held = self.0.held();
        let waiting = held.waiting.saturating_add(amount);
        let is_first = held.waiting == 0;
        if waiting > self.0.most_waiting && !is_first {
            return None;
        }
        held.waiting = waiting;
        Some(Waiting {
            pool: &self.0,
            amount,
        })
    }

    fn refusal(&self, holder: &Holder, own: usize) -> EngineError {
        (self.0.refused)();
        let Pool {
            what, limit, total, ..
        } = &*self.0;
        let who = match holder.credential {
            Some(_) => "credential",
            None => "tenant",
        };
        let message = format!(
            "too many {what}: this {who} has {own} of {limit} = {total}, as many as it may have at present; wait for \
             one of them to end"
        );
        let details = json!({"places": what, "held": own, "wait_ms": WAIT_MS});
        EngineError::new(ErrorCode::Overloaded, message).with_details(details)
    }
}

/// Counts what is waited for, until it is dropped.
struct Waiting<'p> {
    pool: &'p Pool,
    amount: usize,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut held = self.pool.held();
        held.waiting = held.waiting.saturating_sub(self.amount);
    }
}

impl Holder {
    fn from_caller(caller: &Caller) -> Self {
        Self {
            tenant: caller.tenant.clone(),
            credential: Some(caller.credential.clone()),
        }
    }
}

impl Pool {
    fn held(&self) -> MutexGuard<'_, ShareLedger> {
        // No holder can panic between two changes that belong together.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ShareLedger {
    /// Takes a part of `total` for a holder, or says how much it holds.
    fn take(&mut self, total: usize, holder: &Holder, amount: usize) -> Result<(), usize> {
        let Holder { tenant, credential } = holder;
        let of_tenant = self.tenants.get(tenant);
        let tenants = of_tenant.map_or(0, |held| held.all);
        let own = of_tenant.and_then(|held| held.holders.get(credential));
        let own = own.copied().unwrap_or_default();
        let left = total.saturating_sub(self.all - tenants);
        let (most_of_tenant, most) = match credential {
            Some(CredentialId::Local) => (left, left),
            None => (share_of(left), share_of(left)),
            Some(
                CredentialId::Key(_) | CredentialId::Configured(_) | CredentialId::Token { .. },
            ) => {
                let of_tenant = share_of(left);
                (of_tenant, share_of(of_tenant.saturating_sub(tenants - own)))
            }
        };
        let exceeds = |held: usize, most: usize| held > 0 && held + amount > most;
        if self.all + amount > total || exceeds(tenants, most_of_tenant) || exceeds(own, most) {
            return Err(own);
        }
        self.all += amount;
        let of_tenant = self.tenants.entry(tenant.clone()).or_default();
        of_tenant.all += amount;
        *of_tenant.holders.entry(credential.clone()).or_default() += amount;
        Ok(())
    }

    fn give_back(&mut self, holder: &Holder, amount: usize) {
        self.all = self.all.saturating_sub(amount);
        let Some(of_tenant) = self.tenants.get_mut(&holder.tenant) else {
            return;
        };
        of_tenant.all = of_tenant.all.saturating_sub(amount);
        if let Some(own) = of_tenant.holders.get_mut(&holder.credential) {
            *own = own.saturating_sub(amount);
            if *own == 0 {
                of_tenant.holders.remove(&holder.credential);
            }
        }
        if of_tenant.all == 0 {
            self.tenants.remove(&holder.tenant);
        }
    }
}

/// How much may be held of what is left: half, and one at least.
fn share_of(left: usize) -> usize {
    (left / 2).max(1)
}

impl Drop for Share {
    fn drop(&mut self) {
        self.pool.held().give_back(&self.holder, self.amount);
        self.pool.given_back.notify_waiters();
        if self.amount > LARGE_OUTPUT {
            // What it was held for is being freed.
            give_back_soon();
        }
    }
}

#[cfg(test)]
mod tests;
