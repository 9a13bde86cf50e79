//! Connections and transactions: whose rows they reach, and which are tried again.

use charter_contract::ids::TenantId;
use charter_contract::scope::Scope;
use charter_store::StoreError;
use deadpool_postgres::{Object, Transaction};
use futures_util::FutureExt;
use tokio_postgres::IsolationLevel;

use super::failure::{self, during};
use super::options::ALL_TENANTS;

/// How often a transaction is run that loses to another one for no fault of its caller's.
const MAX_TRIES: u32 = 5;

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
