//! Where everything is stored, in the configuration.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::paths::FilePath;

/// Where everything is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct StoreConfig {
    /// A PostgreSQL database that several replicas share:
    /// `postgres://user:password@host:5432/database?sslmode=require`. If absent, a file in the data directory.
    pub(crate) url: Option<String>,
    /// Connections to the database from each process.
    pub(crate) connections: usize,
    /// Timeout of a statement, in milliseconds.
    pub(crate) statement_timeout_ms: u64,
    /// A streaming standby of the database, with the same user and database name. Listings of runs, missions and
    /// memories are read from it, and may be `standby_lag_ms` behind.
    pub(crate) standby_url: Option<String>,
    /// The largest lag of the standby, in milliseconds; beyond it, listings are read from the database.
    pub(crate) standby_lag_ms: u64,
    /// The trusted root certificates (PEM); the platform's if absent.
    #[schemars(with = "Option<FilePath>")]
    pub(crate) certificates: Option<PathBuf>,
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            url: None,
            connections: 16,
            statement_timeout_ms: 30_000,
            standby_url: None,
            standby_lag_ms: 2_000,
            certificates: None,
        }
    }
}
