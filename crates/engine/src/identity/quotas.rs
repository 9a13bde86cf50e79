//! What one tenant may ask of this installation, so that others have their share.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::TenantId;
use charter_domain::rate_limit::Rate;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::{Caller, Engine, EngineError};

/// What the caller's tenant may ask, and how much of it is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "QuotaShown")]
pub struct QuotaView {
    /// How often it may call, in each process; null where nothing bounds it.
    pub calls: Option<Rate>,
    /// Its runs; null where nothing bounds them.
    pub runs: Option<RunQuotaUse>,
}

/// How many runs of a tenant are under way or wait, and how many may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RunsTaken")]
pub struct RunQuotaUse {
    /// How many may.
    pub most: u64,
    /// How many do, counted up to `most`.
    pub unfinished: u64,
}

impl Engine {
    /// What a tenant may ask, and how much of it is taken.
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
    /// `rate_limited`, with the time to wait, when the tenant called too often; nothing is counted then.
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

    /// Refuses what would give a tenant another run when it has as many as it may. What begins at the same
    /// moment may go over it by as many as begin.
    ///
    /// # Errors
    /// `rate_limited`; when storage fails.
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
