//! Quotas of tenants, in the configuration.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use charter_contract::ids::TenantId;
use charter_engine::{Quota, Quotas, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Quotas of tenants, so that each gets its share. Nothing is limited by default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct QuotasConfig {
    /// The quota of each tenant that is not named below.
    pub(crate) each: QuotaConfig,
    /// Quotas of these tenants, in place of the above.
    pub(crate) tenants: BTreeMap<TenantId, QuotaConfig>,
}

/// The quota of one tenant.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct QuotaConfig {
    /// API calls per minute over all protocols, in each process.
    pub(crate) calls_per_minute: Option<NonZeroU64>,
    /// Calls that may arrive at once; `calls_per_minute` if absent.
    pub(crate) burst: Option<NonZeroU64>,
    /// Unfinished runs, including those that wait for a person, in all processes together.
    pub(crate) runs: Option<u64>,
}

impl QuotasConfig {
    /// The quotas as the engine takes them.
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
