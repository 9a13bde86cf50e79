//! Connections and transactions: how they are restricted to a row scope, and which are tried again.

use charter_store::StoreError;
use deadpool_postgres::{Object, Transaction};
use futures_util::FutureExt;
use futures_util::future::try_join;
use tokio_postgres::IsolationLevel;

use super::options::ALL_TENANTS;
use crate::failure::postgres::{self as failure, during};
pub(super) use crate::store::RowScope;

/// How often a transaction is tried that loses to a concurrent one.
const MAX_TRIES: u32 = 5;

/// The setting that row-level security compares with.
const TENANT: &str = "charter.tenant";

impl RowScope<'_> {
    /// Binds a connection to the scope, until it is bound again. Does not wait for the answer: a connection executes
    /// its statements in order, and if this one fails the next one finds no row.
    pub(super) fn bound(self, client: &Object) {
        let tenant = match self {
            Self::Tenant(tenant) => tenant.as_str(),
            Self::Everyone => ALL_TENANTS,
        };
        let sql = format!("SET {TENANT} = '{}'", tenant.replace('\'', "''"));
        // The first poll sends it.
        drop(client.batch_execute(&sql).now_or_never());
    }
}

/// Begins a read-write transaction.
pub(super) async fn begin(client: &mut Object) -> Result<Transaction<'_>, StoreError> {
    let transaction = client.build_transaction();
    let level = IsolationLevel::ReadCommitted;
    let begun = transaction.isolation_level(level).start().await;
    begun.map_err(during("beginning a transaction"))
}

/// Begins a transaction whose statements all read one snapshot.
const BEGIN_SNAPSHOT: &str = "START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";

/// A connection whose statements all read one snapshot.
pub(super) struct SnapshotConnection {
    client: Object,
}

impl SnapshotConnection {
    /// Takes a connection, whose statements then belong to [`SnapshotConnection::read`].
    pub(super) fn of(client: Object) -> Self {
        Self { client }
    }

    /// Returns the connection.
    pub(super) fn client(&self) -> &Object {
        &self.client
    }

    /// Runs `work`, a future over the connection. Its first statements are sent together with the one that begins the
    /// transaction, because the connection executes its statements in order.
    pub(super) async fn read<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let begin = async {
            let begun = self.client.batch_execute(BEGIN_SNAPSHOT).await;
            begun.map_err(during("beginning to read"))
        };
        // In this order: the first poll of each future sends its statement.
        let ((), found) = try_join(begin, work).await?;
        Ok(found)
    }
}

impl Drop for SnapshotConnection {
    /// Ends the transaction, which has nothing to lose, without waiting for the answer.
    fn drop(&mut self) {
        drop(self.client.batch_execute("COMMIT").now_or_never());
    }
}

/// The next step after a transaction.
pub(super) enum TransactionEnd<T> {
    /// The transaction is complete, with this result.
    So(Result<T, StoreError>),
    /// It lost to a concurrent transaction; retry it.
    Again,
}

/// Commits a successful transaction, and rolls back a failed one.
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
            // If this fails the connection is lost, and the server rolls back.
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

/// Runs `$work`, a future over the transaction `$tx`, and commits; retries if it loses to a concurrent transaction. On
/// `Ok` the changes are durable and visible. On an error there are none, unless the connection was lost during the
/// commit. Dropping the future before the commit rolls back.
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

/// Runs `$work`, a future over the connection `$client`, on one snapshot.
macro_rules! in_snapshot {
    ($store:expr, $reach:expr, $client:ident => $work:expr) => {{
        let client = $store.client($reach).await?;
        let snapshot = $crate::postgres::connection::SnapshotConnection::of(client);
        let $client = snapshot.client();
        snapshot.read($work).await
    }};
}

pub(super) use {in_snapshot, in_transaction};
