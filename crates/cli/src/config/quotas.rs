//! What one tenant may ask, as an operator writes it.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use charter_contract::ids::TenantId;
use charter_engine::{Quota, Quotas, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What tenants may ask, so that each has its share. Nothing is bounded by default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct QuotasConfig {
    /// Of each tenant that is not named below.
    pub(crate) each: QuotaConfig,
    /// Of these tenants, in the place of the above.
    pub(crate) tenants: BTreeMap<TenantId, QuotaConfig>,
}

/// What one tenant may ask.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct QuotaConfig {
    /// Calls of the interface in a minute, over all protocols, in each process.
    pub(crate) calls_per_minute: Option<NonZeroU64>,
    /// Calls that may come at once; a minute's where absent.
    pub(crate) burst: Option<NonZeroU64>,
    /// Runs that may be under way or wait for somebody, in all processes together.
    pub(crate) runs: Option<u64>,
}

impl QuotasConfig {
    /// As the engine knows them.
    pub(crate) fn quotas(&self) -> Quotas {
        let tenants = self.tenants.iter();
        Quotas {
            each: self.each.quota(),
            tenants: tenants
                .map(|(tenant, quota)| (tenant.clone(), quota.quota()))
                .collect(),
        }
    }
}

impl QuotaConfig {
    fn quota(self) -> Quota {
        let rate = |per_minute| Rate::new(per_minute, self.burst.unwrap_or(per_minute));
        Quota {
            calls: self.calls_per_minute.map(rate),
            runs: self.runs,
        }
    }
}
