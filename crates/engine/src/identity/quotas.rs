//! Quotas of tenants, so that one does not take the share of others.

use std::sync::Arc;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::TenantId;
use charter_domain::clock::Clock;
use charter_domain::rate_limit::Rate;
use charter_store::SharedStore;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::rate_limits::RateLimits;
use crate::EngineError;
use crate::ground::settings::Quotas;

/// The quotas of the caller's tenant, and their use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "QuotaUsage")]
pub struct QuotaView {
    /// How often it may call, in each process; null where nothing bounds it.
    pub calls: Option<Rate>,
    /// Its runs; null where nothing bounds them.
    pub runs: Option<RunQuotaUse>,
}

/// How many runs of a tenant are under way or wait, and how many may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RunQuotaUsage")]
pub struct RunQuotaUse {
    /// How many may.
    pub limit: u64,
    /// How many do, counted up to `limit`.
    pub unfinished: u64,
}

/// Holds tenants to their quotas. Calls are counted in this process, unfinished runs in storage.
pub struct TenantQuotas {
    quotas: Quotas,
    calls: RateLimits<TenantId>,
    store: SharedStore,
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for TenantQuotas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TenantQuotas")
            .field("quotas", &self.quotas)
            .finish_non_exhaustive()
    }
}

impl TenantQuotas {
    pub(crate) fn new(quotas: Quotas, store: SharedStore, clock: Arc<dyn Clock>) -> Self {
        Self {
            quotas,
            calls: RateLimits::default(),
            store,
            clock,
        }
    }

    /// The quotas of a tenant, and their use.
    ///
    /// # Errors
    /// When storage fails.
    pub(crate) async fn usage(&self, tenant: &TenantId) -> Result<QuotaView, EngineError> {
        let quota = self.quotas.for_tenant(tenant);
        let runs = match quota.runs {
            None => None,
            Some(most) => Some(RunQuotaUse {
                limit: most,
                unfinished: self.store.count_unfinished_runs(tenant, most).await?,
            }),
        };
        Ok(QuotaView {
            calls: quota.calls,
            runs,
        })
    }

    /// Counts a call of a tenant.
    ///
    /// # Errors
    /// `rate_limited`, with the time to wait, when the tenant called too often; nothing is counted then.
    pub fn count_call(&self, tenant: &TenantId) -> Result<(), EngineError> {
        let Some(rate) = self.quotas.for_tenant(tenant).calls else {
            return Ok(());
        };
        let taken = self.calls.take(tenant.clone(), rate, self.clock.now());
        taken.map_err(|too_soon| {
            let wait = too_soon.wait_ms;
            let message = format!("call quota reached; retry in {wait} ms");
            let error = EngineError::new(ErrorCode::RateLimited, message);
            error.with_details(json!({"quota": "calls", "wait_ms": wait}))
        })
    }

    /// Refuses another run of a tenant that has reached its quota of unfinished runs. Runs that begin at the same
    /// moment may together exceed the quota.
    ///
    /// # Errors
    /// `rate_limited`; when storage fails.
    pub(crate) async fn check_room_for_run(&self, tenant: &TenantId) -> Result<(), EngineError> {
        let Some(most) = self.quotas.for_tenant(tenant).runs else {
            return Ok(());
        };
        if self.store.count_unfinished_runs(tenant, most).await? < most {
            return Ok(());
        }
        let message = format!("run quota reached: {most} unfinished runs (quotas.runs)");
        let error = EngineError::new(ErrorCode::RateLimited, message);
        Err(error.with_details(json!({"quota": "runs", "limit": most})))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::num::NonZeroU64;
    use std::time::Duration;

    use charter_contract::time::Timestamp;
    use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
    use charter_testkit::clock::SimulatedClock;

    use super::*;
    use crate::ground::settings::Quota;

    /// A tenant with a quota of its own is held to that one, and gets calls back as time passes.
    #[tokio::test]
    async fn each_tenant_is_held_to_its_own_quota_of_calls() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path(), &SqliteOptions::default()).unwrap();
        let clock = SimulatedClock::at(Timestamp::parse("2026-04-14T12:00:00Z").unwrap());
        let some = |number| NonZeroU64::new(number).unwrap();
        let limited = TenantId::parse("limited").unwrap();
        let other = TenantId::parse("other").unwrap();
        let quota = Quota {
            calls: Some(Rate::new(some(60), some(1))),
            runs: Some(0),
        };
        let quotas = Quotas {
            each: Quota::default(),
            tenants: HashMap::from([(limited.clone(), quota)]),
        };
        let quotas = TenantQuotas::new(quotas, Arc::new(store), Arc::new(clock.clone()));
        quotas.count_call(&limited).unwrap();
        let refused = quotas.count_call(&limited).unwrap_err();
        assert_eq!(refused.code, ErrorCode::RateLimited);
        for _ in 0..3 {
            quotas.count_call(&other).unwrap();
        }
        clock.advance(Duration::from_secs(1)).unwrap();
        quotas.count_call(&limited).unwrap();
        let full = quotas.check_room_for_run(&limited).await.unwrap_err();
        assert_eq!(full.code, ErrorCode::RateLimited);
        quotas.check_room_for_run(&other).await.unwrap();
        let usage = quotas.usage(&limited).await.unwrap();
        let runs = RunQuotaUse {
            limit: 0,
            unfinished: 0,
        };
        assert_eq!((usage.calls, usage.runs), (quota.calls, Some(runs)));
    }
}
