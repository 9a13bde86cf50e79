//! The role of this process among the replicas over the same store, in the configuration.

use charter_engine::ProcessRole;
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shortest and longest lease on a run or request, in milliseconds.
pub(super) const LEASE_MS: std::ops::RangeInclusive<u64> = 1_000..=600_000;

/// The role of this process among the replicas over the same store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ReplicaConfig {
    /// Its replica role. A role other than `all` needs `store.url`.
    pub(crate) role: ReplicaRole,
    /// How long the lease on a run or request lasts without a renewal, in milliseconds. Then another replica takes
    /// over.
    pub(crate) lease_ms: u64,
    /// Runs that it drives concurrently.
    pub(crate) runs: usize,
    /// How long running steps and requests have to end after SIGTERM, in seconds.
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

/// The role of a process among the replicas.
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
