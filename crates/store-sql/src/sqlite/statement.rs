//! Helpers that run a statement, each compiled once per connection.

use charter_store::StoreError;
use rusqlite::types::{self, ValueRef};
use rusqlite::{Connection, Params, Row, params_from_iter};

use super::failure::during;
use crate::column::BoundedRows;
use crate::record::asked::Value;
use crate::row::Columns;

const COLUMN: &str = "reading a column";

/// Returns every row, in the statement's order.
pub(super) fn rows<T>(
    doing: &'static str,
    connection: &Connection,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&dyn Columns) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(during(doing))?;
    let mut rows = statement.query(params).map_err(during(doing))?;
    let mut read_rows = Vec::new();
    while let Some(row) = rows.next().map_err(during(doing))? {
        read_rows.push(read(row)?);
    }
    Ok(read_rows)
}

/// Returns the rows of a page of large entries.
pub(super) fn rows_within<T>(
    doing: &'static str,
    connection: &Connection,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&dyn Columns) -> Result<T, StoreError>,
) -> Result<BoundedRows<T>, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(during(doing))?;
    let columns = statement.column_count();
    let mut rows = statement.query(params).map_err(during(doing))?;
    let mut listed = BoundedRows::default();
    while let Some(row) = rows.next().map_err(during(doing))? {
        if !listed.takes(bytes_of(row, columns).map_err(during(doing))?) {
            break;
        }
        listed.rows.push(read(row)?);
    }
    Ok(listed)
}

/// Returns the total size of a row's texts and blobs in bytes.
pub(super) fn bytes_of(row: &Row<'_>, columns: usize) -> Result<usize, rusqlite::Error> {
    let mut bytes = 0_usize;
    for column in 0..columns {
        if let ValueRef::Text(value) | ValueRef::Blob(value) = row.get_ref(column)? {
            bytes = bytes.saturating_add(value.len());
        }
    }
    Ok(bytes)
}

/// Returns the first row, if there is one.
pub(super) fn row<T>(
    doing: &'static str,
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&dyn Columns) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(during(doing))?;
    let mut rows = statement.query(params).map_err(during(doing))?;
    let row = rows.next().map_err(during(doing))?;
    row.map(|row| read(row)).transpose()
}

/// Changes rows and returns their number.
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

/// Returns the values of a statement that has only the requested conditions.
pub(super) fn bound(values: Vec<Value>) -> impl Params {
    params_from_iter(values.into_iter().map(|value| match value {
        Value::Text(text) => types::Value::from(text),
        Value::Integer(number) => types::Value::from(number),
    }))
}

/// Inserts one row; returns `None` when its key exists already.
///
/// The statement must contain `ON CONFLICT DO NOTHING`, so that a duplicate is not an error.
pub(super) fn insert(
    doing: &'static str,
    connection: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<Option<i64>, StoreError> {
    let changed = execute(doing, connection, sql, params)?;
    Ok((changed > 0).then(|| connection.last_insert_rowid()))
}

impl Columns for Row<'_> {
    fn text(&self, index: usize) -> Result<Option<&str>, StoreError> {
        let value = self.get_ref(index).map_err(during(COLUMN))?;
        value.as_str_or_null().map_err(|e| during(COLUMN)(e.into()))
    }

    fn integer(&self, index: usize) -> Result<Option<i64>, StoreError> {
        self.get(index).map_err(during(COLUMN))
    }

    fn bytes(&self, index: usize) -> Result<Option<&[u8]>, StoreError> {
        let value = self.get_ref(index).map_err(during(COLUMN))?;
        let bytes = value.as_blob_or_null();
        bytes.map_err(|e| during(COLUMN)(e.into()))
    }

    fn flag(&self, index: usize) -> Result<Option<bool>, StoreError> {
        self.get(index).map_err(during(COLUMN))
    }
}
