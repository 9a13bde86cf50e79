//! The statements of `crate::tx` in SQLite, each compiled once per connection.

use charter_store::StoreError;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, Error, Row, Statement};
use serde::Serialize;

use crate::column::BoundedRows;
use crate::failure::sqlite::during;
use crate::row::Columns;
use crate::tx::SqlValue;

const COLUMN: &str = "reading a column";

pub(crate) fn rows<T>(
    doing: &'static str,
    connection: &Connection,
    sql: &str,
    values: &[SqlValue<'_>],
    mut read: impl FnMut(&dyn Columns) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = bound(doing, connection, sql, values)?;
    let mut rows = statement.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(during(doing))? {
        found.push(read(row)?);
    }
    Ok(found)
}

pub(crate) fn rows_within<T>(
    doing: &'static str,
    connection: &Connection,
    sql: &str,
    values: &[SqlValue<'_>],
    mut read: impl FnMut(&dyn Columns) -> Result<T, StoreError>,
) -> Result<BoundedRows<T>, StoreError> {
    let mut statement = bound(doing, connection, sql, values)?;
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    let mut found = BoundedRows::default();
    while let Some(row) = rows.next().map_err(during(doing))? {
        if !found.takes(bytes_of(row, columns).map_err(during(doing))?) {
            break;
        }
        found.rows.push(read(row)?);
    }
    Ok(found)
}

pub(crate) fn row<T>(
    doing: &'static str,
    connection: &Connection,
    sql: &str,
    values: &[SqlValue<'_>],
    read: impl FnOnce(&dyn Columns) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let mut statement = bound(doing, connection, sql, values)?;
    let mut rows = statement.raw_query();
    let row = rows.next().map_err(during(doing))?;
    row.map(|row| read(row)).transpose()
}

pub(crate) fn execute(
    doing: &'static str,
    connection: &Connection,
    sql: &str,
    values: &[SqlValue<'_>],
) -> Result<u64, StoreError> {
    let mut statement = bound(doing, connection, sql, values)?;
    let changed = statement.raw_execute().map_err(during(doing))?;
    Ok(changed as u64)
}

pub(crate) fn execute_many(
    doing: &'static str,
    connection: &Connection,
    sql: &str,
    rows: &[Vec<SqlValue<'_>>],
) -> Result<u64, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(during(doing))?;
    let mut changed = 0;
    for values in rows {
        bind(&mut statement, values).map_err(during(doing))?;
        changed += statement.raw_execute().map_err(during(doing))? as u64;
    }
    Ok(changed)
}

/// Returns the total size of a row's texts and blobs in bytes.
fn bytes_of(row: &Row<'_>, columns: usize) -> Result<usize, rusqlite::Error> {
    let mut bytes = 0_usize;
    for column in 0..columns {
        if let ValueRef::Text(value) | ValueRef::Blob(value) = row.get_ref(column)? {
            bytes = bytes.saturating_add(value.len());
        }
    }
    Ok(bytes)
}

/// Returns a statement with its values.
fn bound<'c>(
    doing: &'static str,
    connection: &'c Connection,
    sql: &str,
    values: &[SqlValue<'_>],
) -> Result<CachedStatement<'c>, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(during(doing))?;
    bind(&mut statement, values).map_err(during(doing))?;
    Ok(statement)
}

/// Binds each value to its placeholder. `$1` is a named parameter for SQLite, which numbers those by their first
/// occurrence.
fn bind(statement: &mut Statement<'_>, values: &[SqlValue<'_>]) -> Result<(), Error> {
    let expected = statement.parameter_count();
    if values.len() != expected {
        return Err(Error::InvalidParameterCount(values.len(), expected));
    }
    for index in 1..=expected {
        let name = statement.parameter_name(index).unwrap_or_default();
        let number = name
            .strip_prefix('$')
            .and_then(|digits| digits.parse().ok());
        let position = number.and_then(|number: usize| number.checked_sub(1));
        let Some(value) = position.and_then(|position| values.get(position)) else {
            return Err(Error::InvalidParameterName(name.to_owned()));
        };
        statement.raw_bind_parameter(index, value)?;
    }
    Ok(())
}

impl ToSql for SqlValue<'_> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>, Error> {
        let value = match self {
            Self::Texts(texts) => return list(texts),
            Self::Integers(numbers) => return list(numbers),
            Self::Reals(numbers) => return list(numbers),
            Self::Null => ValueRef::Null,
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
            Self::Flag(flag) => ValueRef::Integer(i64::from(*flag)),
        };
        Ok(ToSqlOutput::Borrowed(value))
    }
}

/// Returns a list as JSON, which `json_each` reads.
fn list<T: Serialize>(values: &[T]) -> Result<ToSqlOutput<'static>, Error> {
    let json = serde_json::to_string(values);
    json.map(ToSqlOutput::from)
        .map_err(|error| Error::ToSqlConversionFailure(Box::new(error)))
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
