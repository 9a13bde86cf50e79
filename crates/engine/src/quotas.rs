//! Quotas of tenants, so that each tenant gets its share of the installation.

use std::collections::HashMap;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::TenantId;
use charter_domain::rate_limit::Rate;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::{Caller, Engine, EngineError};

/// The quota of one tenant. Unlimited by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quota {
    /// Maximum call rate, over all protocols, in each process.
    pub calls: Option<Rate>,
    /// Maximum unfinished runs, in all processes together.
    pub runs: Option<u64>,
}

/// The quotas of all tenants.
#[derive(Debug, Clone, Default)]
pub struct Quotas {
    /// The quota of each tenant without its own.
    pub each: Quota,
    /// The quotas of these tenants.
    pub tenants: HashMap<TenantId, Quota>,
}

impl Quotas {
    fn for_tenant(&self, tenant: &TenantId) -> &Quota {
        self.tenants.get(tenant).unwrap_or(&self.each)
    }
}

/// The quotas of the caller's tenant, and their use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "QuotaShown")]
pub struct QuotaView {
    /// Maximum call rate, in each process; null if unlimited.
    pub calls: Option<Rate>,
    /// Its runs; null if unlimited.
    pub runs: Option<RunQuotaUse>,
}

/// The number of unfinished runs of a tenant, and the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RunsTaken")]
pub struct RunQuotaUse {
    /// Maximum unfinished runs.
    pub most: u64,
    /// Unfinished runs, counted up to `most`.
    pub unfinished: u64,
}

impl Engine {
    /// Returns the quotas of a tenant, and their use.
    pub(crate) async fn quota_of(&self, tenant: &TenantId) -> Result<QuotaView, EngineError> {
        let quota = self.settings().quotas.for_tenant(tenant);
        let runs = match quota.runs {
            None => None,
            Some(most) => Some(RunQuotaUse {
                most,
                unfinished: self.store().count_unfinished_runs(tenant, most).await?,
            }),
        };
        Ok(QuotaView {
            calls: quota.calls,
            runs,
        })
    }

    /// Counts a call of the caller's tenant.
    ///
    /// # Errors
    /// `rate_limited`, with the time to wait, if the tenant called too often; the call is then not counted.
    pub fn count_call(&self, caller: &Caller) -> Result<(), EngineError> {
        let Some(rate) = self.settings().quotas.for_tenant(&caller.tenant).calls else {
            return Ok(());
        };
        let taken = self.calls().take(caller.tenant.clone(), rate, self.now());
        taken.map_err(|too_soon| {
            let wait = too_soon.wait_ms;
            let message =
                format!("the tenant calls too often; the next call may come in {wait} ms");
            let error = EngineError::new(ErrorCode::RateLimited, message);
            error.with_details(json!({"quota": "calls", "wait_ms": wait}))
        })
    }

    /// Refuses a new run of a tenant that has reached its run quota. Concurrent starts may exceed the quota by their
    /// number.
    ///
    /// # Errors
    /// `rate_limited`; errors of storage.
    pub(crate) async fn must_have_room_for_a_run(
        &self,
        tenant: &TenantId,
    ) -> Result<(), EngineError> {
        let Some(most) = self.settings().quotas.for_tenant(tenant).runs else {
            return Ok(());
        };
        if self.store().count_unfinished_runs(tenant, most).await? < most {
            return Ok(());
        }
        let message = format!(
            "the tenant has {most} runs under way or waiting, which is as many as it may have"
        );
        let error = EngineError::new(ErrorCode::RateLimited, message);
        Err(error.with_details(json!({"quota": "runs", "most": most})))
    }
}
