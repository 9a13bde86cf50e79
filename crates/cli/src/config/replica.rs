//! What this process does among those over the same store, as an operator writes it.

use charter_engine::ProcessRole;
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shortest and longest hold on a run or request, in milliseconds.
pub(super) const LEASE_MS: std::ops::RangeInclusive<u64> = 1_000..=600_000;

/// What this process does among those over the same store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ReplicaConfig {
    /// What it does. Anything but `all` needs `store.url`.
    pub(crate) role: ReplicaRole,
    /// How long others leave a run or request to a process that is not heard of any more, in
    /// milliseconds.
    pub(crate) lease_ms: u64,
    /// Runs that it drives at once.
    pub(crate) runs: usize,
    /// How long steps and requests under way have to end after SIGTERM, in seconds.
    pub(crate) drain_s: u64,
}

impl Default for ReplicaConfig {
    fn default() -> Self {
        Self {
            role: ReplicaRole::All,
            lease_ms: 30_000,
            runs: 1_000,
            drain_s: 20,
        }
    }
}

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReplicaRole {
    /// Everything.
    All,
    /// Answers callers, and leaves runs to workers.
    Api,
    /// Drives runs, and answers probes only.
    Worker,
}

impl From<ReplicaRole> for ProcessRole {
    fn from(role: ReplicaRole) -> Self {
        match role {
            ReplicaRole::All => Self::All,
            ReplicaRole::Api => Self::Api,
            ReplicaRole::Worker => Self::Worker,
        }
    }
}
