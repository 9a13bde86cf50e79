//! Connection options.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use charter_store::StoreError;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// The value of `charter.tenant`, the setting that row-level security compares with, that lets everything through. No
/// tenant has that name.
pub(super) const ALL_TENANTS: &str = "*";

/// The certificate authorities that may vouch for a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum TrustedRoots {
    /// Those of the platform.
    #[default]
    Platform,
    /// The certificates in this file (PEM), and no others.
    File(PathBuf),
}

/// Connection options of a database.
#[derive(Clone)]
pub struct PostgresOptions {
    /// `postgres://user:password@host:port/database?sslmode=require`, with the libpq parameters that tokio-postgres
    /// supports. `sslmode` is `disable`, `prefer` or `require`; the default for a server on another machine is
    /// `require`. A server with TLS needs a certificate for its name from one of `roots`.
    pub url: String,
    /// Number of connections, at least one. Further calls wait for one up to two seconds; beyond 16 waiting calls for
    /// each connection they fail at once.
    pub connections: usize,
    /// Timeout of a statement, enforced by the server.
    pub statement_timeout: Duration,
    /// How long a statement may wait for a lock.
    pub lock_timeout: Duration,
    /// Timeout of connecting.
    pub connect_timeout: Duration,
    /// Trusted certificate authorities.
    pub roots: TrustedRoots,
    /// A standby server for listings.
    pub standby: Option<StandbyOptions>,
}

/// A standby of the database, and its allowed lag.
#[derive(Clone)]
pub struct StandbyOptions {
    /// As [`PostgresOptions::url`].
    pub url: String,
    /// Commits older than this appear in every listing.
    pub may_lag: Duration,
}

impl PostgresOptions {
    /// Returns the defaults: 16 connections, 30 s for a statement, 10 s for a lock and for a connection.
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

    /// Returns the same options for the standby.
    pub(super) fn of_standby(&self, standby: &StandbyOptions) -> Self {
        Self {
            url: standby.url.clone(),
            standby: None,
            ..self.clone()
        }
    }

    /// Parses the URL. An error never repeats it, because it may contain a password.
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

    /// Configures the connections of the pool.
    pub(super) fn bounded(&self, config: &Config) -> Config {
        let bounds = format!(
            "-c statement_timeout={} -c lock_timeout={} -c idle_in_transaction_session_timeout={}",
            self.statement_timeout.as_millis(),
            self.lock_timeout.as_millis(),
            self.statement_timeout.as_millis(),
        );
        with_settings(config, &bounds)
    }

    /// Configures the connections that write batches. Their statements read a few rows by their keys, and are planned
    /// once. They use the index in which they read the fewest entries: an entry costs as much as a page, because a plan
    /// for a small table would otherwise read all entries of the tenant, whose number grows later.
    pub(super) fn appending(&self, config: &Config) -> Config {
        let settings = "-c default_transaction_isolation=read\\ committed -c plan_cache_mode=force_generic_plan \
                        -c enable_seqscan=off -c enable_bitmapscan=off -c enable_hashjoin=off \
                        -c enable_mergejoin=off -c cpu_index_tuple_cost=1 -c jit=off";
        with_settings(&self.bounded(config), settings)
    }

    /// Configures migrations, which have no statement timeout.
    pub(super) fn unbounded(&self, config: &Config) -> Config {
        let settings =
            format!("-c statement_timeout=0 -c lock_timeout=0 -c charter.tenant={ALL_TENANTS}");
        with_settings(config, &settings)
    }
}

/// Whether traffic to a host goes over a network.
fn is_elsewhere(host: &Host) -> bool {
    match host {
        #[cfg(unix)]
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
    // The last setting wins, so the URL takes precedence.
    config.options(format!("{settings} {given}"));
    config
}

/// Describes a parse error: the cause names a parameter, not its value.
fn parse_error_text(error: &tokio_postgres::Error) -> String {
    let cause = std::error::Error::source(error);
    cause.map_or_else(|| error.to_string(), ToString::to_string)
}

impl std::fmt::Debug for PostgresOptions {
    /// Omits the URL, which may contain a password.
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

    /// A forgotten parameter must not send a password over a network in clear text.
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
