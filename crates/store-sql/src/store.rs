//! The store of both engines, and what an engine does for it: run work in a transaction.
//!
//! A noun's trait is implemented once, for `SqlStore<E>` of any [`SqlEngine`]; its statements are over [`Tx`].

use charter_contract::ids::TenantId;
use charter_contract::scope::Scope;
use charter_store::StoreError;
use futures_util::future::BoxFuture;

use crate::column::{self, BoundedRows};
use crate::row::Columns;
use crate::tx::{SqlValue, Tx, execute, params, row, rows, rows_within};

/// Rows that one transaction of a sweep deletes, so that a long sweep does not block other writes.
pub(crate) const SWEEP_BATCH: usize = 1_000;

/// A store over the engine `E`: [`SqliteStore`](crate::sqlite::SqliteStore) or
/// [`PostgresStore`](crate::postgres::PostgresStore).
#[derive(Debug)]
pub struct SqlStore<E> {
    pub(crate) engine: E,
}

/// The rows that work can see and write. PostgreSQL enforces it by row security, as a second barrier behind the
/// conditions of every statement; SQLite does not.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RowScope<'a> {
    /// A tenant's rows; global rows are read-only.
    Tenant(&'a TenantId),
    /// All rows, for work across tenants: claims, sweeps and loading the catalogue.
    Everyone,
}

impl<'a> RowScope<'a> {
    /// Returns the row scope for a scope. Writers of global rows can access all rows.
    pub(crate) fn of(scope: &'a Scope) -> Self {
        match scope {
            Scope::Global => Self::Everyone,
            Scope::Tenant(tenant) => Self::Tenant(tenant),
        }
    }
}

/// The kind of transaction that work needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Only reads. SQLite shows all statements one state; PostgreSQL shows each the state of its start.
    Read,

    /// Several reads of one state.
    Snapshot,
    /// As `Read`, for a listing that may lag a little. PostgreSQL reads it from the standby, if there is one.
    Listing,

    /// Writes with a single statement, which PostgreSQL runs without BEGIN and COMMIT.
    Statement,
    /// As `Statement`, for time-critical work. PostgreSQL has connections for it that other work does not use.
    InTime,
    /// Reads and writes that take effect together. PostgreSQL repeats the work if it loses to a concurrent transaction.
    Write,

    /// As `Write`, to delete content permanently: SQLite overwrites freed pages with zeros.
    Removal,
}

/// A function that reads a row.
type ReadRow<T> = fn(&dyn Columns) -> Result<T, StoreError>;

/// An engine: runs work in transactions.
pub(crate) trait SqlEngine: Send + Sync + 'static {
    /// Runs `work` over a transaction and `values`. On `Ok` its changes are durable and visible; on an error there are
    /// none.
    ///
    /// The work owns its values because SQLite runs it on another thread. PostgreSQL may run it several times. It may
    /// wait only for statements of its transaction.
    fn run<V, T, F>(
        &self,
        access: Access,
        scope: RowScope<'_>,
        values: V,
        work: F,
    ) -> impl Future<Output = Result<T, StoreError>> + Send
    where
        V: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx<'_>, &'t V) -> BoxFuture<'t, Result<T, StoreError>>
            + Send
            + Sync
            + 'static;

    /// Notifies other processes soon of committed messages, if there are any. SQLite has no other processes.
    fn announce(&self, _messages: usize) {}

    /// Numbers the committed messages of the outbox, before they are read. SQLite numbers them when they are written.
    fn number_messages(&self) -> impl Future<Output = Result<(), StoreError>> + Send {
        std::future::ready(Ok(()))
    }

    /// Runs one statement that changes rows; returns their number.
    fn execute(
        &self,
        scope: RowScope<'_>,
        doing: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> impl Future<Output = Result<u64, StoreError>> + Send {
        let values = owned(sql, values);
        self.run(
            Access::Statement,
            scope,
            values,
            move |tx, (sql, values)| Box::pin(execute(doing, tx, sql, values)),
        )
    }

    /// Returns the first row of one statement, if there is one.
    fn row<T: Send + 'static>(
        &self,
        scope: RowScope<'_>,
        doing: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
        read: ReadRow<T>,
    ) -> impl Future<Output = Result<Option<T>, StoreError>> + Send {
        let values = owned(sql, values);
        self.run(Access::Read, scope, values, move |tx, (sql, values)| {
            Box::pin(row(doing, tx, sql, values, read))
        })
    }

    /// Returns every row of one statement, in its order.
    fn rows<T: Send + 'static>(
        &self,
        scope: RowScope<'_>,
        doing: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
        read: ReadRow<T>,
    ) -> impl Future<Output = Result<Vec<T>, StoreError>> + Send {
        let values = owned(sql, values);
        self.run(Access::Read, scope, values, move |tx, (sql, values)| {
            Box::pin(rows(doing, tx, sql, values, read))
        })
    }

    /// Returns the rows of one statement for a page of large entries.
    fn rows_within<T: Send + 'static>(
        &self,
        scope: RowScope<'_>,
        doing: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
        read: ReadRow<T>,
    ) -> impl Future<Output = Result<BoundedRows<T>, StoreError>> + Send {
        let values = owned(sql, values);
        self.run(Access::Read, scope, values, move |tx, (sql, values)| {
            Box::pin(rows_within(doing, tx, sql, values, read))
        })
    }
}

fn owned(sql: &str, values: &[SqlValue<'_>]) -> (String, Vec<SqlValue<'static>>) {
    let values = values.iter().map(SqlValue::to_static);
    (sql.to_owned(), values.collect())
}

/// Runs a DELETE of at most `$2` rows older than `$1`, until none are left; returns the number of deleted rows.
pub(crate) async fn sweep<E: SqlEngine>(
    engine: &E,
    sql: &'static str,
    before: i64,
) -> Result<u64, StoreError> {
    let most = column::limit(SWEEP_BATCH);
    let mut swept = 0;
    loop {
        let deleted = engine
            .run(Access::Write, RowScope::Everyone, (), move |tx, ()| {
                Box::pin(async move {
                    execute("sweeping expired rows", tx, sql, params![before, most]).await
                })
            })
            .await?;
        swept += deleted;
        if deleted < SWEEP_BATCH as u64 {
            return Ok(swept);
        }
    }
}
