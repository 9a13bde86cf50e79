//! How to connect.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use charter_store::StoreError;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// The value of `charter.tenant`, the setting that row-level security compares with, that lets everything through. No
/// tenant has that name.
pub(super) const ALL_TENANTS: &str = "*";

/// Who says that a server is the one it claims to be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum TrustedRoots {
    /// What the platform trusts.
    #[default]
    Platform,
    /// The certificates in this file (PEM), and no others.
    File(PathBuf),
}

/// How to connect to a database.
#[derive(Clone)]
pub struct PostgresOptions {
    /// `postgres://user:password@host:port/database?sslmode=require`, with the parameters of libpq
    /// that tokio-postgres knows. `sslmode` is `disable`, `prefer` or `require`, which is meant where a
    /// URL says nothing and its server is on another machine; a server that speaks TLS has to have a
    /// certificate that `roots` vouch for, in its name.
    pub url: String,
    /// Connections, at least one; calls beyond wait for one.
    pub connections: usize,
    /// How long a statement may run before the server ends it.
    pub statement_timeout: Duration,
    /// How long a statement may wait for another transaction.
    pub lock_timeout: Duration,
    /// How long connecting may take, and waiting for a free connection.
    pub connect_timeout: Duration,
    /// Who vouches for the server.
    pub roots: TrustedRoots,
    /// A standby of it that listings are read from.
    pub standby: Option<StandbyOptions>,
}

/// A standby of the database, and how far it may be behind.
#[derive(Clone)]
pub struct StandbyOptions {
    /// As [`PostgresOptions::url`].
    pub url: String,
    /// What was committed longer ago than this is in every listing.
    pub may_lag: Duration,
}

impl PostgresOptions {
    /// The defaults for a database: 16 connections, 30 s for a statement, 10 s for a lock and for a
    /// connection.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            connections: 16,
            statement_timeout: Duration::from_secs(30),
            lock_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(10),
            roots: TrustedRoots::Platform,
            standby: None,
        }
    }

    /// The same, for the standby.
    pub(super) fn of_standby(&self, standby: &StandbyOptions) -> Self {
        Self {
            url: standby.url.clone(),
            standby: None,
            ..self.clone()
        }
    }

    /// What the URL says. An error never repeats it: it may hold a password.
    pub(super) fn parse(&self) -> Result<Config, StoreError> {
        let refused = |detail: String| StoreError::Refused {
            what: "database URL",
            id: "store.url".to_owned(),
            detail,
        };
        let url = self.url.replace("sslmode=verify-full", "sslmode=require");
        let mut config: Config = url
            .parse()
            .map_err(|error: tokio_postgres::Error| refused(parse_error_text(&error)))?;
        if config.get_hosts().is_empty() {
            return Err(refused("it names no host".to_owned()));
        }
        if config.get_dbname().is_none() {
            return Err(refused("it names no database".to_owned()));
        }
        if !url.contains("sslmode") && config.get_hosts().iter().any(is_elsewhere) {
            config.ssl_mode(SslMode::Require);
        }
        if config.get_application_name().is_none() {
            config.application_name("charter");
        }
        config.connect_timeout(self.connect_timeout);
        Ok(config)
    }

    /// For the connections of the pool.
    pub(super) fn bounded(&self, config: &Config) -> Config {
        let bounds = format!(
            "-c statement_timeout={} -c lock_timeout={} -c idle_in_transaction_session_timeout={}",
            self.statement_timeout.as_millis(),
            self.lock_timeout.as_millis(),
            self.statement_timeout.as_millis(),
        );
        with_settings(config, &bounds)
    }

    /// For migrations, which take as long as they take.
    pub(super) fn unbounded(&self, config: &Config) -> Config {
        let settings =
            format!("-c statement_timeout=0 -c lock_timeout=0 -c charter.tenant={ALL_TENANTS}");
        with_settings(config, &settings)
    }
}

/// Whether what is said to a host goes over a network.
fn is_elsewhere(host: &Host) -> bool {
    match host {
        Host::Unix(_) => false,
        Host::Tcp(name) => {
            let address: Result<IpAddr, _> = name.parse();
            name != "localhost" && !address.is_ok_and(|address| address.is_loopback())
        }
    }
}

fn with_settings(config: &Config, settings: &str) -> Config {
    let mut config = config.clone();
    let given = config.get_options().unwrap_or_default().to_owned();
    // What comes last holds, so what the URL says does.
    config.options(format!("{settings} {given}"));
    config
}

/// What was wrong with a text that was parsed: the cause knows, and names a parameter, not its value.
fn parse_error_text(error: &tokio_postgres::Error) -> String {
    let cause = std::error::Error::source(error);
    cause.map_or_else(|| error.to_string(), ToString::to_string)
}

impl std::fmt::Debug for PostgresOptions {
    /// Without the URL, which may hold a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresOptions")
            .field("connections", &self.connections)
            .field("statement_timeout", &self.statement_timeout)
            .field("lock_timeout", &self.lock_timeout)
            .field("connect_timeout", &self.connect_timeout)
            .field("roots", &self.roots)
            .field("standby", &self.standby.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A password does not go over a network in the clear because somebody forgot a parameter.
    #[test]
    fn over_a_network_tls_is_required_unless_the_url_says_otherwise() {
        for (url, mode) in [
            ("postgres://u@db.example.com/c", SslMode::Require),
            ("postgres://u@10.0.0.7:5433/c", SslMode::Require),
            ("postgres://u@localhost,db.example.com/c", SslMode::Require),
            (
                "postgres://u@db.example.com/c?sslmode=verify-full",
                SslMode::Require,
            ),
            (
                "postgres://u@db.example.com/c?sslmode=disable",
                SslMode::Disable,
            ),
            ("postgres://u@localhost/c", SslMode::Prefer),
            ("postgres://u@127.0.0.1/c", SslMode::Prefer),
            ("postgres://u@[::1]/c", SslMode::Prefer),
            ("postgres://u@%2Frun%2Fpostgresql/c", SslMode::Prefer),
        ] {
            let config = PostgresOptions::new(url).parse().unwrap();
            assert_eq!(config.get_ssl_mode(), mode, "{url}");
        }
    }
}
