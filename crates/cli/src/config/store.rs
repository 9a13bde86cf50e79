//! Where everything is stored, as an operator writes it.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::paths::FilePath;

/// Where everything is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct StoreConfig {
    /// A PostgreSQL database that several replicas share:
    /// `postgres://user:password@host:5432/database?sslmode=require`. Without it, a file in the data
    /// directory.
    pub(crate) url: Option<String>,
    /// Connections to it, for each process.
    pub(crate) connections: usize,
    /// How long a statement may run there, in milliseconds.
    pub(crate) statement_timeout_ms: u64,
    /// A streaming standby of it, with the same user and database: listings of runs, missions and memories are
    /// read from it, and may be `standby_lag_ms` behind.
    pub(crate) standby_url: Option<String>,
    /// How far the standby may be behind, in milliseconds; beyond it the database is read.
    pub(crate) standby_lag_ms: u64,
    /// The certificates (PEM) that vouch for it; those of the platform when absent.
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
