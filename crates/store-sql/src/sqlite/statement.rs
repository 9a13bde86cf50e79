//! The three ways in which this crate runs a statement, each compiled once per connection.

use charter_store::StoreError;
use rusqlite::types::FromSql;
use rusqlite::{Connection, Params, Row};

use super::failure::during;

/// Every row, in the statement's order.
pub(super) fn rows<T>(
    doing: &'static str,
    connection: &Connection,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(during(doing))?;
    let mut rows = statement.query(params).map_err(during(doing))?;
    let mut read_rows = Vec::new();
    while let Some(row) = rows.next().map_err(during(doing))? {
        read_rows.push(read(row)?);
    }
    Ok(read_rows)
}

/// The first row, if there is one.
pub(super) fn row<T>(
    doing: &'static str,
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(during(doing))?;
    let mut rows = statement.query(params).map_err(during(doing))?;
    rows.next().map_err(during(doing))?.map(read).transpose()
}

/// Changes rows and says how many.
pub(super) fn execute(
    doing: &'static str,
    connection: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<usize, StoreError> {
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.execute(params))
        .map_err(during(doing))
}

/// Inserts one row; `None` when its key is there already.
///
/// The statement must say `ON CONFLICT DO NOTHING`, so that a duplicate ends nothing.
pub(super) fn insert(
    doing: &'static str,
    connection: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<Option<i64>, StoreError> {
    let changed = execute(doing, connection, sql, params)?;
    Ok((changed > 0).then(|| connection.last_insert_rowid()))
}

/// One column of a row.
pub(super) fn field<T: FromSql>(row: &Row<'_>, index: usize) -> Result<T, StoreError> {
    row.get(index).map_err(during("reading a column"))
}
