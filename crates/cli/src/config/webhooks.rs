//! The systems of record to which missions' proposals are sent, in the configuration, which names where secrets are and
//! never holds them. Startup checks that the settings fit together.

use std::collections::BTreeMap;

use charter_contract::ids::{Label, TenantId};
use charter_effects::RetryPolicy;
use charter_effects::webhook::SystemOfRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::remote::{PlainHttpConfig, SecretConfig};

/// The systems of record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct WebhooksConfig {
    /// The systems that every tenant's missions may write to, by name.
    pub(crate) systems: BTreeMap<Label, SystemConfig>,
    /// Overrides of tenants.
    pub(crate) tenants: BTreeMap<TenantId, TenantWebhooksConfig>,
    /// The most retries of a message after transient failures.
    pub(crate) retries: u32,
}

impl Default for WebhooksConfig {
    fn default() -> Self {
        Self {
            systems: BTreeMap::new(),
            tenants: BTreeMap::new(),
            retries: RetryPolicy::RETRIES,
        }
    }
}

/// One system of record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SystemConfig {
    /// The prefix of the URLs to which messages may be sent: an origin, and a path.
    pub(crate) url: String,
    /// Where the secrets are that sign messages; several during a rotation.
    pub(crate) secrets: Vec<SecretConfig>,
    /// Private addresses, and hosts with ports other than 80 and 443, at which it may be, e.g. `10.0.0.0/8` or
    /// `crm.example.com:8443`.
    #[serde(default)]
    pub(crate) egress: Vec<String>,
    /// The hosts to which plain HTTP is allowed.
    #[serde(default)]
    pub(crate) plain_http: PlainHttpConfig,
    /// Timeout of one attempt, in milliseconds.
    #[serde(default = "timeout_ms")]
    pub(crate) timeout_ms: u64,
}

fn timeout_ms() -> u64 {
    u64::try_from(SystemOfRecord::ATTEMPT_TIMEOUT.as_millis()).unwrap_or(u64::MAX)
}

/// Overrides of a tenant.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TenantWebhooksConfig {
    /// Systems that only its missions may write to; one replaces the shared system of the same name.
    pub(crate) systems: BTreeMap<Label, SystemConfig>,
}
