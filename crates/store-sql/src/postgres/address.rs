//! Where a database is, for the errors of getting there.

use std::error::Error as StdError;

use charter_store::StoreError;
use deadpool_postgres::PoolError;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::tls;

/// The address of a database, as errors may show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DatabaseAddress(String);

impl std::fmt::Display for DatabaseAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl DatabaseAddress {
    pub(super) fn of(config: &Config) -> Self {
        let ports = config.get_ports();
        let hosts = config.get_hosts().iter().enumerate().map(|(at, host)| {
            let port = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
            match host {
                Host::Tcp(name) => format!("{name}:{port}"),
                #[cfg(unix)]
                Host::Unix(path) => format!("{}:{port}", path.display()),
            }
        });
        let hosts = hosts.collect::<Vec<_>>().join(",");
        Self(format!("{hosts}/{}", config.get_dbname().unwrap_or("")))
    }

    /// Returns the error of a failed connection attempt.
    pub(super) fn not_reached(&self, error: tokio_postgres::Error) -> StoreError {
        self.failed("connecting to the database", tls::advised(error))
    }

    /// Returns the error of a failed request for a connection.
    pub(super) fn of_pool(&self, error: PoolError) -> StoreError {
        match error {
            PoolError::Closed => StoreError::Closed,
            PoolError::Backend(error) => self.not_reached(error),
            PoolError::Timeout(_)
            | PoolError::NoRuntimeSpecified
            | PoolError::PostCreateHook(_) => self.failed("connecting to the database", error),
        }
    }

    /// Returns an error with the database's address.
    pub(super) fn failed(
        &self,
        doing: &'static str,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> StoreError {
        StoreError::Engine {
            doing,
            source: Box::new(WithDatabase {
                place: self.clone(),
                source: source.into(),
            }),
        }
    }
}

/// Returns the error of a call that got no connection because others use them.
pub(super) fn no_connection(waiting: usize) -> StoreError {
    StoreError::Overloaded {
        what: "a connection to the database",
        waiting: waiting as u64,
    }
}

/// A cause with its database.
#[derive(Debug)]
struct WithDatabase {
    place: DatabaseAddress,
    source: Box<dyn StdError + Send + Sync>,
}

impl std::fmt::Display for WithDatabase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PostgreSQL at {}", self.place)
    }
}

impl StdError for WithDatabase {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.source)
    }
}
