//! Resources that callers of a process share: slots, or bytes of memory.
//!
//! A tenant holds at most half of the amount that other tenants leave. A credential holds at most half of the amount
//! that other credentials leave to its tenant. So one caller does not block the others. The local user, without a
//! credential, may hold all.
//!
//! A request for bytes may exceed the half: a holder of nothing gets it as soon as there is room for it.

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

/// Suggested wait before a caller's next attempt, in milliseconds.
const WAIT_MS: u64 = 1_000;

/// A shared resource; cheap to clone.
#[derive(Clone)]
pub struct Shares(Arc<Pool>);

struct Pool {
    /// Its name, in the plural.
    what: &'static str,
    /// The name of its limit.
    limit: &'static str,
    total: usize,
    /// Maximum amount that may be waited for at once.
    most_waiting: usize,
    held: Mutex<ShareLedger>,
    given_back: Notify,
    /// Called at every refusal.
    refused: Box<dyn Fn() + Send + Sync>,
}

/// The amounts that are held and waited for, by holder.
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

/// The holder of a share: a caller, or its tenant for work without a waiting caller.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Holder {
    tenant: TenantId,
    credential: Option<CredentialId>,
}

/// A part of the resource, released when dropped.
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
    /// Creates `total` of `what`, a plural for messages, with the name of its limit. `refused` is called at every
    /// refusal.
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

    /// Bounds the waiting amount by the total, for waiting work that needs memory as well.
    #[must_use]
    pub fn with_bounded_waiting(mut self) -> Self {
        if let Some(pool) = Arc::get_mut(&mut self.0) {
            pool.most_waiting = pool.total;
        }
        self
    }

    /// Acquires one slot for a caller.
    ///
    /// # Errors
    /// `overloaded` if the caller, its tenant, or all together have reached their limit.
    pub fn take(&self, caller: &Caller) -> Result<Share, EngineError> {
        let holder = Holder::from_caller(caller);
        self.try_take(&holder, 1)
            .map_err(|own| self.refusal(&holder, own))
    }

    /// Waits for this many bytes for a caller.
    ///
    /// # Errors
    /// `overloaded` if they do not become available in time.
    pub async fn wait_for(
        &self,
        caller: &Caller,
        bytes: usize,
        patience: Duration,
    ) -> Result<Share, EngineError> {
        self.wait(Holder::from_caller(caller), bytes, patience)
            .await
    }

    /// Waits for this many bytes for a tenant's work.
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
            // From here on, no release is missed.
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
        // A request for more than the total gets the total.
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
            "too many {what}: this {who} has its share, {own} of {limit} = {total}; wait for one of them to end"
        );
        let details = json!({"places": what, "held": own, "wait_ms": WAIT_MS});
        EngineError::new(ErrorCode::Overloaded, message).with_details(details)
    }
}

/// Counts a waiting amount, until dropped.
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
    /// Takes a part of `total` for a holder; the error has the amount that it holds.
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

/// Returns the permitted part of the rest: half, and at least one.
fn share_of(left: usize) -> usize {
    (left / 2).max(1)
}

impl Drop for Share {
    fn drop(&mut self) {
        self.pool.held().give_back(&self.holder, self.amount);
        self.pool.given_back.notify_waiters();
        if self.amount > LARGE_OUTPUT {
            // The memory that it was held for is being freed.
            give_back_soon();
        }
    }
}

#[cfg(test)]
mod tests;
