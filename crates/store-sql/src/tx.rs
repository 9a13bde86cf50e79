//! Statements in a transaction of either engine, so that a noun is written once.
//!
//! A noun has its records' columns, statements and trait in one file, `session.rs` for example:
//!
//! - SQL is written once, with the placeholders `$1`, `$2`, …. Every value has one, and a placeholder may occur
//!   repeatedly.
//! - Both schemas have the same tables, columns and keys. Statements keep to what both engines understand: `CAST(x AS
//!   bigint)` instead of `x::bigint`, `SELECT 1` instead of an empty list, `CASE` or a condition instead of `greatest`
//!   or `max`. [`Dialect`] has the rest.
//! - An operation is an async function over `&mut Tx` and borrowed values. It waits only for the functions of this
//!   module.
//! - A method of one statement calls [`SqlEngine::execute`](crate::store::SqlEngine::execute), `row`, `rows` or
//!   `rows_within`, and needs no operation.
//! - Other methods of a trait clone their arguments, and call [`SqlEngine::run`](crate::store::SqlEngine::run) with the
//!   operation in a box. A closure may also capture values that are `Copy`:
//!
//! ```text
//! let values = (tenant.clone(), session.clone());
//! let limit = column::limit(limit);
//! self.engine
//!     .run(Access::Read, RowScope::Tenant(tenant), values, move |tx, (tenant, session)| {
//!         Box::pin(newest_turns(tx, tenant, session, limit))
//!     })
//!     .await
//! ```
//!
//! A method that only one engine can serve is a trait for `SqliteStore` and `PostgresStore`, in that engine's folder.

mod builder;
pub(crate) mod postgres;
pub(crate) mod sqlite;
mod value;

use charter_store::StoreError;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rusqlite::Connection;

use crate::column::BoundedRows;
use crate::row::Columns;

pub(crate) use builder::StatementBuilder;
pub(crate) use postgres::PostgresTx;
pub(crate) use value::{SqlValue, params};

/// A transaction, or a connection for a single statement.
///
/// SQLite's connection is exclusive because a shared one could not be sent to another thread.
pub(crate) enum Tx<'t> {
    Sqlite(&'t mut Connection),
    Postgres(PostgresTx<'t>),
}

impl Tx<'_> {
    /// Returns the dialect of its statements.
    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
        }
    }
}

/// An engine's SQL, where no form is common to both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    /// Returns the end of a SELECT that locks its rows until the transaction ends. In SQLite a writing transaction
    /// excludes all others.
    pub(crate) fn for_update(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR UPDATE",
        }
    }

    /// As [`Dialect::for_update`], without the rows that other transactions have locked.
    pub(crate) fn for_update_of_free_rows(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR UPDATE SKIP LOCKED",
        }
    }

    /// Returns the condition that the expression before it is in the list of a placeholder, such as `$2`.
    pub(crate) fn one_of(self, placeholder: &str) -> String {
        match self {
            Self::Sqlite => format!("IN (SELECT value FROM json_each({placeholder}))"),
            Self::Postgres => format!("= ANY({placeholder})"),
        }
    }

    /// Returns a table with a row for each pair of two lists of integers, which are the values of placeholders: its
    /// columns are `one`, `other`, and `number`, by which the rows are in the order of the lists.
    pub(crate) fn pairs(self, one: &str, other: &str) -> String {
        match self {
            Self::Sqlite => format!(
                "(SELECT one.value AS one, other.value AS other, one.key AS number
                  FROM json_each({one}) AS one JOIN json_each({other}) AS other ON other.key = one.key)"
            ),
            Self::Postgres => format!(
                "(SELECT one, other, number
                  FROM unnest({one}::bigint[], {other}::bigint[]) WITH ORDINALITY AS pair (one, other, number))"
            ),
        }
    }
}

/// Returns every row, in the statement's order.
pub(crate) async fn rows<T>(
    doing: &'static str,
    tx: &mut Tx<'_>,
    sql: &str,
    values: &[SqlValue<'_>],
    read: impl FnMut(&dyn Columns) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    match tx {
        Tx::Sqlite(connection) => sqlite::rows(doing, connection, sql, values, read),
        Tx::Postgres(tx) => tx.rows(doing, sql, values, read).await,
    }
}

/// Returns the rows of a page of large entries.
pub(crate) async fn rows_within<T>(
    doing: &'static str,
    tx: &mut Tx<'_>,
    sql: &str,
    values: &[SqlValue<'_>],
    read: impl FnMut(&dyn Columns) -> Result<T, StoreError>,
) -> Result<BoundedRows<T>, StoreError> {
    match tx {
        Tx::Sqlite(connection) => sqlite::rows_within(doing, connection, sql, values, read),
        Tx::Postgres(tx) => tx.rows_within(doing, sql, values, read).await,
    }
}

/// Returns the first row, if there is one.
pub(crate) async fn row<T>(
    doing: &'static str,
    tx: &mut Tx<'_>,
    sql: &str,
    values: &[SqlValue<'_>],
    read: impl FnOnce(&dyn Columns) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    match tx {
        Tx::Sqlite(connection) => sqlite::row(doing, connection, sql, values, read),
        Tx::Postgres(tx) => tx.row(doing, sql, values, read).await,
    }
}

/// Changes rows and returns their number.
pub(crate) async fn execute(
    doing: &'static str,
    tx: &mut Tx<'_>,
    sql: &str,
    values: &[SqlValue<'_>],
) -> Result<u64, StoreError> {
    match tx {
        Tx::Sqlite(connection) => sqlite::execute(doing, connection, sql, values),
        Tx::Postgres(tx) => tx.execute(doing, sql, values).await,
    }
}

/// Executes a query once for the values of each key; returns the first row of each. PostgreSQL gets the queries without
/// waiting for answers in between.
pub(crate) async fn row_each<T>(
    doing: &'static str,
    tx: &mut Tx<'_>,
    sql: &str,
    keys: &[Vec<SqlValue<'_>>],
    mut read: impl FnMut(&dyn Columns) -> Result<T, StoreError>,
) -> Result<Vec<Option<T>>, StoreError> {
    match tx {
        Tx::Sqlite(connection) => {
            let mut found = Vec::with_capacity(keys.len());
            for values in keys {
                found.push(sqlite::row(doing, connection, sql, values, &mut read)?);
            }
            Ok(found)
        }
        Tx::Postgres(tx) => tx.row_each(doing, sql, keys, read).await,
    }
}

/// Executes a statement once for the values of each row; returns the number of changed rows.
pub(crate) async fn execute_many(
    doing: &'static str,
    tx: &mut Tx<'_>,
    sql: &str,
    rows: &[Vec<SqlValue<'_>>],
) -> Result<u64, StoreError> {
    if rows.is_empty() {
        return Ok(0);
    }
    match tx {
        Tx::Sqlite(connection) => sqlite::execute_many(doing, connection, sql, rows),
        Tx::Postgres(tx) => tx.execute_many(doing, sql, rows).await,
    }
}

/// Returns the result of work over [`Tx::Sqlite`], which ends without waiting.
///
/// # Errors
/// [`StoreError::Engine`] for work that waits, and the errors of the work.
pub(crate) fn now<T>(work: BoxFuture<'_, Result<T, StoreError>>) -> Result<T, StoreError> {
    work.now_or_never().unwrap_or_else(|| {
        Err(StoreError::Engine {
            doing: "running statements",
            source: "the work waits for something other than its statements".into(),
        })
    })
}

#[cfg(test)]
mod tests;
