//! The systems of record that proposals of missions are sent to, as an operator writes them. Secrets are
//! named here and never written. What fits together is checked where they are set up.

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
    /// Those that every tenant's missions may write to, by name.
    pub(crate) systems: BTreeMap<Label, SystemConfig>,
    /// What tenants have of their own.
    pub(crate) tenants: BTreeMap<TenantId, TenantWebhooksConfig>,
    /// How often a message is sent again after failures that may pass, at most.
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
    /// What the addresses begin with that messages may be sent to: an origin, and a path.
    pub(crate) url: String,
    /// Where the secrets are that messages are signed with; several while one is being replaced.
    pub(crate) secrets: Vec<SecretConfig>,
    /// Private addresses, and hosts with other ports than 80 and 443, that it may be at, e.g.
    /// `10.0.0.0/8` or `crm.example.com:8443`.
    #[serde(default)]
    pub(crate) egress: Vec<String>,
    /// Where it may be spoken to without TLS.
    #[serde(default)]
    pub(crate) plain_http: PlainHttpConfig,
    /// Time limit of one attempt, in milliseconds.
    #[serde(default = "timeout_ms")]
    pub(crate) timeout_ms: u64,
}

fn timeout_ms() -> u64 {
    u64::try_from(SystemOfRecord::ATTEMPT_TIMEOUT.as_millis()).unwrap_or(u64::MAX)
}

/// What a tenant has of its own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TenantWebhooksConfig {
    /// Systems that its missions alone may write to; one of a name above takes its place.
    pub(crate) systems: BTreeMap<Label, SystemConfig>,
}
