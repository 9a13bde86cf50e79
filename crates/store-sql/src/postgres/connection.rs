//! Connections and transactions: where the database is, and what is tried again.

use std::error::Error as StdError;

use charter_contract::ids::TenantId;
use charter_contract::scope::Scope;
use charter_store::StoreError;
use deadpool_postgres::{Object, Transaction};
use futures_util::FutureExt;
use tokio_postgres::config::Host;
use tokio_postgres::{Config, IsolationLevel};

use super::failure::{self, during};
use super::tls;

/// How often a transaction is run that loses to another one for no fault of its caller's.
const MAX_TRIES: u32 = 5;

/// Where a database is, as far as errors may say.
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
                Host::Unix(path) => format!("{}:{port}", path.display()),
            }
        });
        let hosts = hosts.collect::<Vec<_>>().join(",");
        Self(format!("{hosts}/{}", config.get_dbname().unwrap_or("")))
    }

    /// A connection that was not made.
    pub(super) fn not_reached(&self, error: tokio_postgres::Error) -> StoreError {
        self.failed("connecting to the database", tls::advised(error))
    }

    /// A failure of getting there.
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

/// A cause with the database that it is about.
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

/// The setting that row-level security compares with.
const TENANT: &str = "charter.tenant";

/// Whose rows a connection sees and writes: the wall behind the conditions of every statement.
#[derive(Debug, Clone, Copy)]
pub(super) enum RowScope<'a> {
    /// Those of a tenant; of what is global it reads.
    Tenant(&'a TenantId),
    /// All: what spans tenants, such as claims, sweeps and loading the catalogue.
    Everyone,
}

impl<'a> RowScope<'a> {
    /// The rows of a scope. Who writes what is global reaches everything.
    pub(super) fn of(scope: &'a Scope) -> Self {
        match scope {
            Scope::Global => Self::Everyone,
            Scope::Tenant(tenant) => Self::Tenant(tenant),
        }
    }

    /// Binds a connection to it, until it is bound anew. The answer is not waited for: a connection's
    /// statements are carried out in their order, and if this one fails the next finds no row.
    pub(super) fn bound(self, client: &Object) {
        let tenant = match self {
            Self::Tenant(tenant) => tenant.as_str(),
            Self::Everyone => ALL_TENANTS,
        };
        let sql = format!("SET {TENANT} = '{}'", tenant.replace('\'', "''"));
        // Sent when it is first polled.
        drop(client.batch_execute(&sql).now_or_never());
    }
}

/// The setting's value that lets everything through; no tenant has that name.
pub(super) const ALL_TENANTS: &str = "*";

/// Begins a transaction that writes.
pub(super) async fn begin(client: &mut Object) -> Result<Transaction<'_>, StoreError> {
    let transaction = client.build_transaction();
    let level = IsolationLevel::ReadCommitted;
    let begun = transaction.isolation_level(level).start().await;
    begun.map_err(during("beginning a transaction"))
}

/// Begins a transaction whose statements all read the same state.
pub(super) async fn snapshot(client: &mut Object) -> Result<Transaction<'_>, StoreError> {
    let transaction = client.build_transaction();
    let level = IsolationLevel::RepeatableRead;
    let begun = transaction.isolation_level(level).read_only(true);
    begun.start().await.map_err(during("beginning to read"))
}

/// What is to happen after a transaction.
pub(super) enum TransactionEnd<T> {
    /// It has ended like this.
    So(Result<T, StoreError>),
    /// It lost to another one and is run again.
    Again,
}

/// Commits what went well, and takes back what did not.
pub(super) async fn end<T>(
    transaction: Transaction<'_>,
    outcome: Result<T, StoreError>,
    tries: u32,
) -> TransactionEnd<T> {
    let outcome = match outcome {
        Ok(value) => {
            let committed = transaction.commit().await;
            committed.map(|()| value).map_err(during("committing"))
        }
        Err(error) => {
            // If this fails the connection is lost, and the server takes everything back.
            drop(transaction.rollback().await);
            Err(error)
        }
    };
    match outcome {
        Err(error) if tries < MAX_TRIES && failure::lost_to_another(&error) => {
            TransactionEnd::Again
        }
        ended => TransactionEnd::So(ended),
    }
}

/// Runs `$work`, a future over the transaction `$tx`, and commits; again if it loses to another one.
/// When this is `Ok`, the changes are durable and visible; when it is an error, there are none, unless the
/// connection was lost in the commit. A caller that goes away before the commit undoes its write.
macro_rules! in_transaction {
    ($store:expr, $reach:expr, $tx:ident => $work:expr) => {{
        let mut tries = 0;
        loop {
            tries += 1;
            let mut client = $store.client($reach).await?;
            let $tx = $crate::postgres::connection::begin(&mut client).await?;
            let outcome = $work.await;
            match $crate::postgres::connection::end($tx, outcome, tries).await {
                $crate::postgres::connection::TransactionEnd::So(outcome) => break outcome,
                $crate::postgres::connection::TransactionEnd::Again => {}
            }
        }
    }};
}

/// Runs `$work`, a future over the transaction `$tx`, on one snapshot.
macro_rules! in_snapshot {
    ($store:expr, $reach:expr, $tx:ident => $work:expr) => {{
        let mut client = $store.client($reach).await?;
        let $tx = $crate::postgres::connection::snapshot(&mut client).await?;
        let outcome = $work.await;
        match $crate::postgres::connection::end($tx, outcome, u32::MAX).await {
            $crate::postgres::connection::TransactionEnd::So(outcome) => outcome,
            $crate::postgres::connection::TransactionEnd::Again => {
                Err(charter_store::StoreError::Closed)
            }
        }
    }};
}

pub(super) use {in_snapshot, in_transaction};
